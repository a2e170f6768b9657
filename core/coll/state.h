/* The state of the collectives of an instance: what they keep for reuse, and
 * the quota of shared memory. It is made when it is first needed.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_STATE_H
#define WF_COLL_STATE_H

#include <stdlib.h>

#include "process/instance.h"

struct wf_sched;
struct wf_temp;

struct wf_coll_state {
    struct wf_sched *scheds; /* for reuse: coll/schedule.h */
    struct wf_temp *temps;   /* scratch memory of schedules, for reuse */
    size_t temp_bytes;
    unsigned shm_units; /* of shared memory that the communicators map */
};

/* Returns the state, which is made if there is none; NULL: out of memory. */
static inline struct wf_coll_state *wf_coll_state(struct wf_instance *wf)
{
    if (!wf->coll)
        wf->coll = calloc(1, sizeof *wf->coll);
    return wf->coll;
}

#endif
