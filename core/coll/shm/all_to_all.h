/* Shared-memory collectives in which every member reads every line: barrier,
 * allreduce, reduce_scatter, allgather, alltoall.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_SHM_ALL_TO_ALL_H
#define WF_COLL_SHM_ALL_TO_ALL_H

#include "base.h"
#include "coll/coll.h"

struct wf_shmcoll;

int wf_shmcoll_barrier(struct wf_shmcoll *);

#endif
