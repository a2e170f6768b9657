/* Shared-memory collectives of many members with one result for all: barrier,
 * allreduce.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_SHM_BY_LEADER_H
#define WF_COLL_SHM_BY_LEADER_H

#include "coll/shm/contribution.h"

/* Returns true if rank 0 reads the lines for all. */
static inline bool wf_shmcoll_has_leader(const struct wf_shmcoll *t)
{
    return wf_unlikely(t->size > WF_SHMCOLL_READ_BY_ALL_MOST);
}

/* Runs a call to which this member contributes `own`: of rank 0 `take` reads
 * all contributions, and leaves the result in its receive buffer. The builder
 * is that of the schedule that runs if a member wants one. */
int wf_shmcoll_run_by_leader(wf_coll_builder *, const struct wf_coll_args *,
                             struct wf_coll_block own, wf_shmcoll_reader *take);

int wf_shmcoll_barrier_by_leader(struct wf_shmcoll *);

#endif
