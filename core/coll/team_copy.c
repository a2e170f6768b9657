/* Copying large pieces into the stage: by memcpy, or by stores around the
 * caches.
 *
 * DESIGN  As for the ring of plugins/shm (way.c): where two processors are far
 * from each other, taking a line back from the one that has read it costs many
 * times as much as storing around the caches; where they are near, the reader
 * of such stores takes twice as long. So now and then one piece goes each way,
 * and the second is used until the next time if it was that much faster.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>
#if defined __x86_64__
#include <emmintrin.h>
#endif

#include "coll/team_stage.h"

enum {
    TIMED = 8 << 10, /* bytes of a piece that is worth it */
    ROUND = 64,      /* such pieces from one trial to the next */
    FASTER = 3       /* times: what its reader loses is less than that */
};

#if defined __x86_64__
/* The fence is for whoever says next that the bytes are there. */
static void around(void *to, const void *from, uint64_t n)
{
    uint64_t before = -(uintptr_t)to % 64;
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
#define around memcpy
#endif

void wf_team_copy_in(struct wf_team *t, void *to, const void *from, uint64_t n)
{
    struct wf_instance *wf = t->comm->wf;
    uint32_t turn = t->copies % ROUND;
    uint64_t start, pace;

    if (n < TIMED) {
        memcpy(to, from, n);
        return;
    }
    t->copies++;
    start = turn < 2 ? wf_now(wf) : 0;
    if (turn == 1 || (turn > 1 && t->around))
        around(to, from, n);
    else
        memcpy(to, from, n);
    if (turn > 1)
        return;
    pace = ((wf_now(wf) - start) << 20) / n;
    t->around = turn == 1 && t->pace > FASTER * pace;
    t->pace = pace;
}
