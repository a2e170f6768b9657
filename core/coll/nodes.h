/* Collectives in two levels: inside every node, and between one rank of each,
 * its leader. Data goes between nodes once per node.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_NODES_H
#define WF_COLL_NODES_H

#include "base.h"

struct wf_coll_args;
struct wf_comm;
struct wf_sched;

/* Each builds a collective in two levels. */
void wf_coll_barrier_nodes(struct wf_sched *, struct wf_comm *);
void wf_coll_bcast_nodes(struct wf_sched *, const struct wf_coll_args *);
void wf_coll_reduce_nodes(struct wf_sched *, const struct wf_coll_args *);
void wf_coll_allreduce_nodes(struct wf_sched *, const struct wf_coll_args *);
void wf_coll_allgather_nodes(struct wf_sched *, const struct wf_coll_args *);

#endif
