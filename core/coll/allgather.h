/* Allgather and allgatherv.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_ALLGATHER_H
#define WF_COLL_ALLGATHER_H

#include "base.h"

struct wf_coll_args;
struct wf_comm;
struct wf_sched;

/* Chooses the algorithm and builds it. For blocks that differ `a` has counts
 * and displacements. */
void wf_coll_allgather(struct wf_sched *, const struct wf_coll_args *);

/* Sends every rank's block of rbuf to all; the own block is in its place. */
void wf_coll_allgather_ring(struct wf_sched *, const struct wf_comm *g,
                            const struct wf_coll_args *);

#endif
