/* Allreduce: recursive doubling, or for long vectors by blocks, each of which
 * one rank reduces and sends to all, segment by segment; and others in files of
 * their own. Every element is computed either once or by the same expression
 * everywhere, so that all ranks get the same bits.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_ALLREDUCE_H
#define WF_COLL_ALLREDUCE_H

#include "base.h"

struct wf_coll_args;
struct wf_sched;

/* Chooses the algorithm and builds it. */
void wf_coll_allreduce(struct wf_sched *, const struct wf_coll_args *);

#endif
