/* Reduce: the choice, a binomial tree, or block-wise with a gather for long
 * vectors. All evaluate in rank order, so that they serve every operation.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_REDUCE_H
#define WF_COLL_REDUCE_H

#include "base.h"

struct wf_coll_args;
struct wf_comm;
struct wf_sched;

/* Chooses the algorithm and builds it. */
void wf_coll_reduce(struct wf_sched *, const struct wf_coll_args *);

/* Reduces sbuf (rbuf if MPI_IN_PLACE) of all ranks to rbuf of the root, in rank
 * order. */
void wf_coll_reduce_tree(struct wf_sched *, const struct wf_comm *g,
                         const struct wf_coll_args *);

#endif
