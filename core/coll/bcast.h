/* Broadcast: the choice, a binomial tree, a pipelined chain for large messages,
 * and sends from the root to every rank.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_BCAST_H
#define WF_COLL_BCAST_H

#include "base.h"

struct wf_coll_args;
struct wf_comm;
struct wf_sched;
struct wf_type;

/* Chooses the algorithm and builds it; arguments are checked. So do the
 * functions for the other collectives: reduce.h, allreduce.h, gather.h … */
void wf_coll_bcast(struct wf_sched *, const struct wf_coll_args *);

/* Adds the vertices of a binomial tree, which depend only on the newest fence
 * and one another; so do the other functions that add a part of a schedule. */
void wf_coll_bcast_tree(struct wf_sched *, const struct wf_comm *g, void *buf,
                        uint64_t count, struct wf_type *, int root);

/* Returns the bytes of a broadcast: the program's memory if it is contiguous,
 * or else a packed copy, which is filled at the root. NULL: out of memory,
 * which the schedule remembers. wf_coll_unpack_bcast copies received bytes back
 * to the program's memory. */
char *wf_coll_pack_bcast(struct wf_sched *, const struct wf_coll_args *,
                         uint64_t bytes);
void wf_coll_unpack_bcast(struct wf_sched *, const struct wf_coll_args *,
                          const char *packed, uint64_t bytes);

#endif
