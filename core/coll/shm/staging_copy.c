/* Copying large pieces into the staging ring: by memcpy, or by non-temporal
 * stores.
 *
 * DESIGN  As for the ring of plugins/shm (way.c): where two processors are far
 * from each other, taking a line back from the one that has read it costs many
 * times as much as a non-temporal store; where they are near, the reader of
 * such stores takes twice as long. So now and then one piece is copied each
 * way, and the second way is used until the next trial if it was that much
 * faster.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/shm/staging_copy.h"

#include <string.h>

#include "coll/shm/staging.h"
#include "os/copy.h"

enum {
    TIMED_BYTES = 8 << 10, /* least bytes of a piece that is timed */
    TRIAL_PERIOD = 64,     /* such pieces from one trial to the next */
    TIMES_FASTER = 3       /* times faster: more than its reader loses */
};

void wf_staging_copy_in(struct wf_shmcoll *t, void *to, const void *from,
                        uint64_t n)
{
    struct wf_instance *wf = t->comm->wf;
    uint32_t turn = t->copy_count % TRIAL_PERIOD;
    uint64_t start, pace;

    if (n < TIMED_BYTES) {
        memcpy(to, from, n);
        return;
    }
    t->copy_count++;
    start = turn < 2 ? wf_now(wf) : 0;
    if (turn == 1 || (turn > 1 && t->nontemporal))
        wf_copy_nontemporal(to, from, n);
    else
        memcpy(to, from, n);
    if (turn > 1)
        return;
    pace = ((wf_now(wf) - start) << 20) / n;
    t->nontemporal = turn == 1 && t->ns_per_mib > TIMES_FASTER * pace;
    t->ns_per_mib = pace;
}
