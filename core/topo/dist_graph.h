/* Distributed graphs as objects, and the end of both creators.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TOPO_DIST_GRAPH_H
#define WF_TOPO_DIST_GRAPH_H

#include "base.h"

struct wf_comm;
struct wf_topo;

/* Create a distributed graph with lists of these lengths, which the caller
 * fills in; NULL: out of memory, recorded. */
struct wf_topo *wf_dist_create_topo(int indegree, int outdegree, bool weighted);

/* Let every member learn whether all can go on. Collective; called between
 * steps in which members can fail by themselves, with the result rc of this
 * member. An error ends the call in all of them. */
int wf_dist_agree(struct wf_comm *, int rc);

/* The collective end of both creators. It takes over topo, which is NULL if
 * this process failed with rc. */
int wf_dist_finish(struct wf_comm *, struct wf_topo *topo, int reorder, int rc,
                   MPI_Comm *newcomm);

#endif
