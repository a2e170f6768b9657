/* Broadcast as scatter and allgather (van de Geijn; Barnett et al. 1994): the
 * root sends one block to each rank by a binomial tree, then the blocks travel
 * around a ring. Every rank sends and receives about two times the vector,
 * however many ranks there are.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_BCAST_SCATTER_H
#define WF_COLL_BCAST_SCATTER_H

#include "base.h"

struct wf_coll_args;
struct wf_sched;

void wf_coll_bcast_scatter(struct wf_sched *, const struct wf_coll_args *);

#endif
