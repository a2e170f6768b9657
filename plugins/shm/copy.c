/* The loops that copy large payloads, and the size of the ring they go through.
 *
 * DESIGN  A ring that stays in the second-level cache of the sender makes the
 * receiver fetch every line from that cache, and the sender fetch it back for
 * the next pass; both wait for the other core. The lines of a ring twice that
 * size have left for the shared cache when the receiver comes to them. Measured
 * on a Zen 3 (512 KB second level): 20-23 GB/s through 256 KB, 30 GB/s through
 * 1 MB. On nodes with many processes the rings are smaller: SHM_BULK_SHARE for
 * all peers together. Where ranks share CPUs the ends of a pair seldom run at
 * the same time: one fills the ring, then the other empties it, and the lines
 * of a larger ring cost more than they gain.
 *
 * The loops use vectors of 16 bytes, which every 64-bit machine has, so there
 * is nothing to choose at run time. Wider registers are no faster, since the
 * caches are the limit. way.c decides between memcpy and non-temporal stores.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "shm.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined __x86_64__
#include <emmintrin.h>
#endif

typedef uint64_t vec16 __attribute__((vector_size(16), aligned(1), may_alias));

void wf_shm_copy(void *to, const void *from, size_t n)
{
    unsigned char *t = to;
    const unsigned char *f = from;
    if (n >= SHM_LOOP_MIN)
        for (; n >= 64; n -= 64, t += 64, f += 64) {
            __builtin_prefetch(f + SHM_LOOP_AHEAD);
            __builtin_prefetch(t + SHM_LOOP_AHEAD, 1);
            vec16 a = *(const vec16 *)f, b = *(const vec16 *)(f + 16),
                  c = *(const vec16 *)(f + 32), d = *(const vec16 *)(f + 48);
            *(vec16 *)t = a;
            *(vec16 *)(t + 16) = b;
            *(vec16 *)(t + 32) = c;
            *(vec16 *)(t + 48) = d;
        }
    memcpy(t, f, n);
}

/* Copies without hints to prefetch. The empty statement keeps compilers from
 * calling memcpy. */
void wf_shm_copy_plain(void *to, const void *from, size_t n)
{
    unsigned char *t = to;
    const unsigned char *f = from;
    if (n >= SHM_LOOP_MIN)
        for (; n >= 64; n -= 64, t += 64, f += 64) {
            vec16 a = *(const vec16 *)f, b = *(const vec16 *)(f + 16),
                  c = *(const vec16 *)(f + 32), d = *(const vec16 *)(f + 48);
            *(vec16 *)t = a;
            *(vec16 *)(t + 16) = b;
            *(vec16 *)(t + 32) = c;
            *(vec16 *)(t + 48) = d;
            __asm__ volatile("");
        }
    memcpy(t, f, n);
}

#if defined __x86_64__
/* Copies with non-temporal stores: lines that another processor holds are not
 * requested. The fence orders the stores before the slot that announces
 * them. */
void wf_shm_copy_nontemporal(void *to, const void *from, size_t n)
{
    size_t before = n < SHM_LOOP_MIN ? n : -(uintptr_t)to % 64;
    char *t = (char *)to + before;
    const char *f = (const char *)from + before;
    memcpy(to, from, before);
    for (n -= before; n >= 64; n -= 64, t += 64, f += 64)
        for (int i = 0; i < 64; i += 16)
            _mm_stream_si128((__m128i *)(void *)(t + i),
                             _mm_loadu_si128((const void *)(f + i)));
    _mm_sfence();
    memcpy(t, f, n);
}
#else
void wf_shm_copy_nontemporal(void *to, const void *from, size_t n)
{
    wf_shm_copy(to, from, n);
}
#endif

/* Reads the bytes of the second-level cache, as Linux describes the first
 * CPU. */
static uint64_t read_l2_size(void)
{
    char text[32] = "";
    char *unit;
    int fd = open("/sys/devices/system/cpu/cpu0/cache/index2/size",
                  O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (got <= 0)
        return SHM_L2_UNKNOWN;
    uint64_t n = strtoull(text, &unit, 10);
    n <<= *unit == 'M' ? 20 : *unit == 'K' ? 10 : 0;
    return n ? n : SHM_L2_UNKNOWN;
}

/* The bytes of a ring for large payloads where the configuration names none. */
uint64_t wf_shm_ring_bytes(uint32_t local_count, bool oversubscribed)
{
    uint64_t n = oversubscribed ? SHM_BULK_OVERSUBSCRIBED : 2 * read_l2_size();
    uint64_t share = SHM_BULK_SHARE / (local_count ? local_count : 1);
    if (n > SHM_BULK_MAX)
        n = SHM_BULK_MAX;
    if (n > share)
        n = share;
    return n < SHM_BULK_MIN ? SHM_BULK_MIN : n;
}
