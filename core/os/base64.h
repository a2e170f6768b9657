/* Base64, for key-value spaces that carry words only.
 *
 * It uses the standard alphabet without padding, because "=" separates fields
 * on the PMI wire.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_BASE64_H
#define WF_BASE64_H

#include <stddef.h>

/* The number of characters that n bytes become, without the final NUL. */
static inline size_t wf_base64_len(size_t n)
{
    return n / 3 * 4 + (n % 3 ? n % 3 + 1 : 0);
}

/* Encode n bytes: writes wf_base64_len(n) characters and a NUL. */
void wf_base64_encode(char *out, const void *data, size_t n);

/* Decode n characters ("=" at the end is allowed) into at most n / 4 * 3 + 2
 * bytes. Returns how many, or -1 when the text is not base64. */
long wf_base64_decode(void *out, const char *text, size_t n);

#endif
