/* Reductions by recursive halving (Rabenseifner 2004; Thakur, Rabenseifner,
 * Gropp 2005): in each step a rank gives half of the elements that it is
 * responsible for to a partner, and reduces the other half.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_HALVING_H
#define WF_COLL_HALVING_H

#include "base.h"

struct wf_coll_args;
struct wf_sched;

/* The allreduce is for all; the scatter reduces src, which has `total` elements
 * in consecutive blocks of a's receive counts; the own block goes to out. */
void wf_coll_allreduce_halving(struct wf_sched *, const struct wf_coll_args *);
void wf_coll_scatter_halving(struct wf_sched *, const struct wf_coll_args *,
                             const void *src, uint64_t total, void *out);

#endif
