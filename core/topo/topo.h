/* Process topologies: what a communicator knows about who neighbours whom.
 *
 * A topology belongs to one process: it holds the description that all members
 * share (the grid, the graph) and the neighbours of this process, in the order
 * in which neighbourhood collectives lay out their blocks (MPI-5.0 s8.6).
 * Nothing in it changes once it stands, so that duplicates of a communicator
 * share it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TOPO_H
#define WF_TOPO_H

#include "comm/comm.h"
#include "topo/grid.h"

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
    int data[]; /* behind all the arrays */
};

/* With room for n integers; one reference. NULL: out of memory, recorded. */
struct wf_topo *wf_topo_create(int kind, size_t n);
void wf_topo_get(struct wf_topo *); /* NULL is allowed, in both */
void wf_topo_put(struct wf_topo *);

/* The topology of comm if it is of this kind; NULL: it is not, recorded as
 * MPI_ERR_TOPOLOGY. */
struct wf_topo *wf_topo_of(const struct wf_comm *comm, int kind);

/* MPI_SUCCESS for an intracommunicator: others have no topology. */
int wf_topo_check_parent(const struct wf_comm *);

/* The first `size` members of parent; order[i], if order is not NULL, is the
 * member that becomes rank i. NULL: out of memory, recorded. */
struct wf_group *wf_topo_group(struct wf_comm *parent, int size,
                               const int *order);

/* The collective end of every creation: group and topo, which pass over, become
 * a communicator. topo NULL: this process gets none, or failed with rc. */
int wf_topo_comm(struct wf_comm *parent, struct wf_group *group,
                 struct wf_topo *topo, int rc, MPI_Comm *newcomm);

#endif
