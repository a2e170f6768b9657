/* Shared-memory collectives of many members in which rank 0 reads the lines of
 * all: barrier, allreduce, scan.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_SHM_BY_LEADER_H
#define WF_COLL_SHM_BY_LEADER_H

#include "coll/shm/contribution.h"

/* Returns true if rank 0 reads the lines for all. */
static inline bool wf_shmcoll_has_leader(const struct wf_shmcoll *t)
{
    return wf_unlikely(t->has_leader);
}

/* The two sides of such a call. */
struct wf_shmcoll_led {
    /* Reads all contributions, in rank 0; leaves its result in the receive
     * buffer, and those of the others where they take them. */
    wf_shmcoll_reader *answer;
    wf_shmcoll_reader *take; /* takes the result, in another member */
};

/* Runs a call to which this member contributes `own`. The builder is that of
 * the schedule that runs if a member wants one. */
int wf_shmcoll_run_by_leader(wf_coll_builder *, const struct wf_coll_args *,
                             struct wf_coll_block own,
                             const struct wf_shmcoll_led *);

int wf_shmcoll_allreduce_by_leader(wf_coll_builder *,
                                   const struct wf_coll_args *,
                                   struct wf_coll_block own);
int wf_shmcoll_barrier_by_leader(struct wf_shmcoll *);

#endif
