/* Hashes, for names that must differ; not for secrets.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_HASH_H
#define WF_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Returns a word whose bits depend on all bits of x: multiplies by the golden
 * ratio twice and brings high bits down. */
static inline uint64_t wf_hash_mix(uint64_t x)
{
    x *= UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ x >> 29;
}

/* The FNV-1a hash of 64 bits: that of nothing, and h continued by n bytes. */
#define WF_HASH_EMPTY UINT64_C(0xcbf29ce484222325)
static inline uint64_t wf_hash_bytes(uint64_t h, const void *data, size_t n)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}
/* Returns that of a text. */
static inline uint64_t wf_hash_text(const char *text)
{
    return wf_hash_bytes(WF_HASH_EMPTY, text, strlen(text));
}

#endif
