/* Reductions by a ring: blocks of the vector travel from rank to rank and
 * collect a contribution at each. After p - 1 steps rank r has block r; every
 * link carries the same amount, p - 1 blocks.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_RING_H
#define WF_COLL_RING_H

#include "base.h"

struct wf_coll_args;
struct wf_comm;
struct wf_sched;

/* Reduces src by a ring; the own block goes to out, or if out is NULL into its
 * place in a's rbuf, whose other blocks then serve as scratch memory. */
void wf_coll_reduce_ring(struct wf_sched *, const struct wf_comm *g,
                         const struct wf_coll_args *a, const void *src,
                         void *out);

#endif
