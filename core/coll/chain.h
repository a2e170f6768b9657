/* Reductions from rank to rank, segment by segment: while one segment is
 * reduced here, the next one is on its way. Each byte is moved once per rank,
 * but the last rank waits for as many hops as there are ranks.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_CHAIN_H
#define WF_COLL_CHAIN_H

#include "base.h"

struct wf_coll_args;
struct wf_sched;

/* For the scan the own operand is in sum, which becomes the sum of all
 * ranks up to this one; the sum of the lower ranks goes to lower. */
void wf_coll_reduce_chain(struct wf_sched *, const struct wf_coll_args *);
void wf_coll_scan_chain(struct wf_sched *, const struct wf_coll_args *,
                        void *lower, void *sum);

#endif
