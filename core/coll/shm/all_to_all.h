/* Shared-memory collectives in which every member reads every line: barrier,
 * allreduce, reduce_scatter, allgather, alltoall.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_SHM_ALL_TO_ALL_H
#define WF_COLL_SHM_ALL_TO_ALL_H

#include "base.h"
#include "coll/coll.h"

struct wf_coll_args;
struct wf_shmcoll;

/* Runs a collective in which some member may not read all lines as a schedule
 * if all members want one; it fails if some do not. */
WF_COLD int wf_shmcoll_agree_on_schedule(wf_coll_builder *,
                                         const struct wf_coll_args *,
                                         uint64_t bytes);

int wf_shmcoll_barrier(struct wf_shmcoll *);

#endif
