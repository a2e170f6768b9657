/* Inquiry functions for distributed graphs (MPI-5.0 s8.5.5).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core_api.h"
#include "topo/query.h"
#include "topo/topo.h"

int wf_mpi_dist_graph_neighbors_count(struct wf_instance *wf,
                                      struct wf_comm *comm, int *indegree,
                                      int *outdegree, int *weighted)
{
    struct wf_topo *t = wf_topo_of(comm, MPI_DIST_GRAPH);

    if (!t)
        return MPI_ERR_TOPOLOGY;
    *indegree = t->indegree;
    *outdegree = t->outdegree;
    *weighted = t->weighted;
    return MPI_SUCCESS;
}

/* Copy the entries for which there is room; `to` may be no array. */
static void copy_first(int *to, int max, const int *from, int n)
{
    if (!to || to == MPI_UNWEIGHTED || to == MPI_WEIGHTS_EMPTY)
        return;
    n = n < max ? n : max;
    for (int i = 0; i < n; i++)
        to[i] = from[i];
}

int wf_mpi_dist_graph_neighbors(struct wf_instance *wf, struct wf_comm *comm,
                                int maxindegree, int sources[],
                                int sourceweights[], int maxoutdegree,
                                int destinations[], int destweights[])
{
    struct wf_topo *t = wf_topo_of(comm, MPI_DIST_GRAPH);

    if (!t)
        return MPI_ERR_TOPOLOGY;
    copy_first(sources, maxindegree, t->sources, t->indegree);
    copy_first(destinations, maxoutdegree, t->destinations, t->outdegree);
    if (!t->weighted)
        return MPI_SUCCESS;
    copy_first(sourceweights, maxindegree, t->source_weights, t->indegree);
    copy_first(destweights, maxoutdegree, t->dest_weights, t->outdegree);
    return MPI_SUCCESS;
}
