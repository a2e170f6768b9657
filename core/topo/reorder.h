/* Reordering of ranks in topologies, so that neighbours share a node.
 *
 * The launcher tells on which node each process runs. From that, all processes
 * of a job compute the same order without a message, as MPI_Cart_map and
 * MPI_Graph_map need, which are local.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_REORDER_H
#define WF_REORDER_H

#include "group/comm.h"
#include "group/grid.h"

/* A graph of n vertices. The edges from vertex v lead to adjacent[first[v]] up
 * to, but not including, adjacent[first[v + 1]]; MPI_PROC_NULL is no edge. */
struct wf_edges {
    int n;
    const int *first, *adjacent;
    const int *weight; /* NULL: all 1 */
};

/* Both store in *order a malloc'ed array: the member of the communicator that
 * should become rank i. They store NULL when the members should stay as they
 * are, because no order was found that cuts fewer edges between nodes. Both
 * return an MPI error class. */
int wf_reorder_grid(const struct wf_comm *, const struct wf_grid *,
                    int **order);
int wf_reorder_graph(const struct wf_comm *, const struct wf_edges *,
                     int **order);
/* Returns the rank of this process in an order of n members, or
 * MPI_UNDEFINED. */
int wf_reorder_rank(const struct wf_comm *, int n, const int *order);
/* Whether the members are on several nodes, so that the order matters. */
bool wf_reorder_useful(const struct wf_comm *, int n);

#endif
