/* Scatter and scatterv: a binomial tree of packed blocks when they are small,
 * or else the root straight to every rank.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_SCATTER_H
#define WF_COLL_SCATTER_H

#include "base.h"

struct wf_coll_args;
struct wf_comm;
struct wf_sched;

/* Sends the blocks of the root's sbuf to rbuf of all. */
void wf_coll_scatter_linear(struct wf_sched *, const struct wf_comm *g,
                            const struct wf_coll_args *);

#endif
