/* Process topologies: which processes of a communicator are neighbours.
 *
 * A topology belongs to one process: it holds the description that all members
 * share (the grid, the graph) and the neighbours of this process, in the order
 * in which neighbourhood collectives lay out their blocks (MPI-5.0 s8.6).
 * Nothing in it changes once it is complete, so that duplicates of a
 * communicator share it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TOPOLOGY_H
#define WF_TOPOLOGY_H

#include "group/grid.h"

struct wf_topo {
    uint32_t refs;
    int kind; /* MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH */
    int indegree, outdegree;
    int *sources, *destinations; /* MPI_PROC_NULL beyond the border of a grid */
    union {
        struct {
            struct wf_grid grid;
            int *coords; /* of this process */
        };
        struct {
            int nnodes;
            int *index, *edges; /* as MPI_Graph_create takes them */
        };
        struct {
            bool weighted;
            int *source_weights, *dest_weights; /* 1 unless weighted */
        };
    };
    int data[]; /* memory of the arrays above */
};

/* Create a topology with memory for n integers and one reference. NULL: out of
 * memory, recorded. */
struct wf_topo *wf_topo_create(int kind, size_t n);
void wf_topo_get(struct wf_topo *); /* NULL is allowed, in both */
void wf_topo_put(struct wf_topo *);

#endif
