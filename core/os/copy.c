/* Copies by non-temporal stores: see copy.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "os/copy.h"

#include <stdint.h>
#include <string.h>
#if defined __x86_64__
#include <emmintrin.h>
#endif

enum { LINE = 64 };

#if defined __x86_64__
/* The fence orders these stores before one that announces the bytes. */
void wf_copy_nontemporal(void *to, const void *from, size_t n)
{
    size_t before = -(uintptr_t)to % LINE;
    char *t = (char *)to + before;
    const char *f = (const char *)from + before;

    if (n < before + LINE) {
        memcpy(to, from, n);
        return;
    }
    memcpy(to, from, before);
    for (n -= before; n >= LINE; n -= LINE, t += LINE, f += LINE)
        for (int i = 0; i < LINE; i += 16)
            _mm_stream_si128((__m128i *)(void *)(t + i),
                             _mm_loadu_si128((const void *)(f + i)));
    _mm_sfence();
    memcpy(t, f, n);
}
#else
void wf_copy_nontemporal(void *to, const void *from, size_t n)
{
    memcpy(to, from, n);
}
#endif
