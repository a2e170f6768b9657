/* Graph topologies: every process knows the whole graph (MPI-5.0 s8.5.3,
 * s8.5.5, s8.5.8).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "core_api.h"
#include "object/error.h"
#include "topo/create.h"
#include "topo/query.h"
#include "topo/reorder.h"
#include "topo/topo.h"

/* ---- creation ------------------------------------------------------------ */

static int check_edges(int nnodes, const int index[], const int edges[])
{
    int last = 0;

    for (int i = 0; i < nnodes; last = index[i++])
        if (index[i] < last)
            return wf_error(MPI_ERR_ARG,
                            "indx[%d] is %d but must not be below %d", i,
                            index[i], last);
    if (last > 0 && !edges)
        return wf_error(MPI_ERR_ARG, "edges is NULL");
    for (int i = 0; i < last; i++)
        if (edges[i] < 0 || edges[i] >= nnodes)
            return wf_error(MPI_ERR_RANK,
                            "edges[%d] is %d but the graph has the nodes 0..%d",
                            i, edges[i], nnodes - 1);
    return MPI_SUCCESS;
}

static int check_graph(const struct wf_comm *comm, int nnodes,
                       const int index[], const int edges[])
{
    int rc = wf_topo_check_parent(comm);

    if (rc)
        return rc;
    if (nnodes < 0 || nnodes > comm->size)
        return wf_error(MPI_ERR_ARG,
                        "nnodes is %d but the communicator has %d processes",
                        nnodes, comm->size);
    return check_edges(nnodes, index, edges);
}

/* Find an order of the ranks that is better than the present one. *order
 * becomes NULL if there is none, and after a failure, too. */
static int find_order(const struct wf_comm *comm, int nnodes, const int index[],
                      const int edges[], int **order)
{
    int *first = malloc(((size_t)nnodes + 1) * sizeof *first), rc;
    struct wf_edges e = {.n = nnodes, .first = first, .adjacent = edges};

    *order = NULL;
    if (!first)
        return wf_error(MPI_ERR_NO_MEM, "no memory to reorder the processes");
    first[0] = 0;
    memcpy(first + 1, index, (size_t)nnodes * sizeof *first);
    rc = wf_reorder_graph(comm, &e, order);
    free(first);
    return rc;
}

/* Returns the index in t->edges of the first edge of this rank. */
static int first_edge_of(const struct wf_topo *t, int rank)
{
    return rank > 0 ? t->index[rank - 1] : 0;
}

static struct wf_topo *create_graph_topo(int nnodes, const int index[],
                                         const int edges[], int rank)
{
    size_t n = (size_t)nnodes, nedges = (size_t)index[nnodes - 1];
    struct wf_topo *t = wf_topo_create(MPI_GRAPH, n + nedges);

    if (!t)
        return NULL;
    t->nnodes = nnodes;
    t->index = t->data;
    t->edges = t->data + n;
    memcpy(t->index, index, n * sizeof *index);
    if (nedges)
        memcpy(t->edges, edges, nedges * sizeof *edges);
    t->sources = t->destinations = t->edges + first_edge_of(t, rank);
    t->indegree = t->outdegree = t->index[rank] - first_edge_of(t, rank);
    return t;
}

int wf_mpi_graph_create(struct wf_instance *wf, struct wf_comm *comm_old,
                        int nnodes, const int indx[], const int edges[],
                        int reorder, MPI_Comm *comm_graph)
{
    struct wf_group *group = NULL;
    struct wf_topo *topo = NULL;
    int *order = NULL, rc = check_graph(comm_old, nnodes, indx, edges);

    *comm_graph = MPI_COMM_NULL;
    if (rc || nnodes == 0)
        return rc;
    if (reorder)
        rc = find_order(comm_old, nnodes, indx, edges, &order);
    if (!rc && !(group = wf_topo_create_group(comm_old, nnodes, order)))
        rc = MPI_ERR_NO_MEM;
    free(order);
    if (group && group->rank != MPI_UNDEFINED &&
        !(topo = create_graph_topo(nnodes, indx, edges, group->rank)))
        rc = MPI_ERR_NO_MEM;
    return wf_topo_create_comm(comm_old, group, topo, rc, comm_graph);
}

int wf_mpi_graph_map(struct wf_instance *wf, struct wf_comm *comm, int nnodes,
                     const int indx[], const int edges[], int *newrank)
{
    int *order, rc = check_graph(comm, nnodes, indx, edges);

    if (rc || (rc = find_order(comm, nnodes, indx, edges, &order)))
        return rc;
    *newrank = wf_reorder_rank(comm, nnodes, order);
    free(order);
    return MPI_SUCCESS;
}

/* ---- inquiry ------------------------------------------------------------- */

static int check_room(const char *what, int max, int needed)
{
    if (max >= needed)
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_ARG, "%s is %d but must be %d or more", what, max,
                    needed);
}

int wf_mpi_graphdims_get(struct wf_instance *wf, struct wf_comm *comm,
                         int *nnodes, int *nedges)
{
    struct wf_topo *t = wf_topo_of(comm, MPI_GRAPH);

    if (!t)
        return MPI_ERR_TOPOLOGY;
    *nnodes = t->nnodes;
    *nedges = t->index[t->nnodes - 1];
    return MPI_SUCCESS;
}

int wf_mpi_graph_get(struct wf_instance *wf, struct wf_comm *comm, int maxindex,
                     int maxedges, int indx[], int edges[])
{
    struct wf_topo *t = wf_topo_of(comm, MPI_GRAPH);
    int nedges, rc;

    if (!t)
        return MPI_ERR_TOPOLOGY;
    nedges = t->index[t->nnodes - 1];
    if ((rc = check_room("maxindex", maxindex, t->nnodes)) ||
        (rc = check_room("maxedges", maxedges, nedges)))
        return rc;
    memcpy(indx, t->index, (size_t)t->nnodes * sizeof *indx);
    if (nedges)
        memcpy(edges, t->edges, (size_t)nedges * sizeof *edges);
    return MPI_SUCCESS;
}

int wf_mpi_graph_neighbors_count(struct wf_instance *wf, struct wf_comm *comm,
                                 int rank, int *nneighbors)
{
    struct wf_topo *t = wf_topo_of(comm, MPI_GRAPH);

    if (!t)
        return MPI_ERR_TOPOLOGY;
    *nneighbors = t->index[rank] - first_edge_of(t, rank);
    return MPI_SUCCESS;
}

int wf_mpi_graph_neighbors(struct wf_instance *wf, struct wf_comm *comm,
                           int rank, int maxneighbors, int neighbors[])
{
    struct wf_topo *t = wf_topo_of(comm, MPI_GRAPH);
    int first, n, rc;

    if (!t)
        return MPI_ERR_TOPOLOGY;
    first = first_edge_of(t, rank);
    n = t->index[rank] - first;
    if ((rc = check_room("maxneighbors", maxneighbors, n)))
        return rc;
    if (n)
        memcpy(neighbors, t->edges + first, (size_t)n * sizeof *neighbors);
    return MPI_SUCCESS;
}
