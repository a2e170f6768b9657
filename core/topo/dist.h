/* Distributed graphs: every process knows its own edges.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_DIST_H
#define WF_DIST_H

#include "topo/topo.h"

/* With empty lists of these lengths, to be filled in; NULL: out of memory,
 * recorded. */
struct wf_topo *wf_dist_topo(int indegree, int outdegree, bool weighted);
/* Collective, between steps in which members can fail by themselves: every member
 * learns whether all can go on. rc is this one's; an error is for all of them the
 * end of the call. */
int wf_dist_agree(struct wf_comm *, int rc);
/* The collective end of both creators. topo passes over; NULL: rc says why. */
int wf_dist_finish(struct wf_comm *, struct wf_topo *topo, int reorder, int rc,
                   MPI_Comm *newcomm);

#endif
