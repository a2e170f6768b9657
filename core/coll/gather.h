/* Gather and gatherv: a binomial tree of packed blocks when they are small, or
 * else every rank straight to the root.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_GATHER_H
#define WF_COLL_GATHER_H

#include "base.h"

struct wf_coll_args;
struct wf_sched;

/* Chooses the algorithm for blocks of so many bytes and builds it. */
void wf_coll_gather(struct wf_sched *, const struct wf_coll_args *,
                    uint64_t block);

#endif
