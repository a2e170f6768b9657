/* Which process should become which rank, so that neighbours share a node.
 *
 * What is known is which node each process runs on, as the launcher says. All
 * processes of a job compute the same answer from it without a message, which
 * MPI_Cart_map and MPI_Graph_map need: they are local.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_REORDER_H
#define WF_REORDER_H

#include "comm/comm.h"
#include "topo/grid.h"

/* Edges from vertex v: adjacent[first[v]] up to first[v + 1]. MPI_PROC_NULL is
 * no edge. */
struct wf_edges {
    int n;
    const int *first, *adjacent;
    const int *weight; /* NULL: all 1 */
};

/* Both give in *order, malloc'ed, the member of the communicator that should
 * become rank i; NULL when the members should stay as they are, because no
 * order was found that cuts fewer edges between nodes. An MPI error class. */
int wf_reorder_grid(const struct wf_comm *, const struct wf_grid *,
                    int **order);
int wf_reorder_graph(const struct wf_comm *, const struct wf_edges *,
                     int **order);
/* The rank of this process in an order of n members, or MPI_UNDEFINED. */
int wf_reorder_rank(const struct wf_comm *, int n, const int *order);
/* Whether the members are on nodes between which an order could choose. */
bool wf_reorder_useful(const struct wf_comm *, int n);

#endif
