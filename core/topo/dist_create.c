/* The two creators of distributed graphs (MPI-5.0 s8.5.4).
 *
 *   adjacent   each process names its own edges: nothing needs to be sent
 *   general    each process may name any edge, which travels to both of its
 *              ends. A process sorts the edges that it gets by the rank of
 *              their sender, and those of one sender stay in the order in which
 *              they were passed to it. So edges between the same two vertices
 *              stand in the same order at both, which is how messages match.
 *
 * A process that has met an error says so before the next step in which others
 * would wait for it, and the call fails in all processes. Only when a message
 * cannot be sent the call may fail in one process alone.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "core_api.h"
#include "datatype/predefined.h"
#include "object/error.h"
#include "topo/create.h"
#include "topo/dist.h"
#include "topo/dist_graph.h"

/* ---- arguments ----------------------------------------------------------- */

static int check_ranks(const struct wf_comm *comm, const char *what,
                       const int ranks[], int64_t n)
{
    if (n > 0 && !ranks)
        return wf_error(MPI_ERR_ARG, "%s is NULL", what);
    for (int64_t i = 0; i < n; i++)
        if (ranks[i] < 0 || ranks[i] >= comm->size)
            return wf_error(MPI_ERR_RANK,
                            "%s[%lld] is %d but the communicator "
                            "has ranks 0..%d",
                            what, (long long)i, ranks[i], comm->size - 1);
    return MPI_SUCCESS;
}

static bool are_weights_given(const int weights[])
{
    return weights != MPI_UNWEIGHTED && weights != MPI_WEIGHTS_EMPTY;
}

static int check_weights(const char *what, const int weights[], int64_t n)
{
    if (n > 0 && (!weights || weights == MPI_WEIGHTS_EMPTY))
        return wf_error(MPI_ERR_ARG, "%s is %s but there are %lld edges", what,
                        weights ? "MPI_WEIGHTS_EMPTY" : "NULL", (long long)n);
    for (int64_t i = 0; are_weights_given(weights) && i < n; i++)
        if (weights[i] < 0)
            return wf_error(MPI_ERR_ARG,
                            "%s[%lld] is %d but must be 0 or more",
                            what, (long long)i, weights[i]);
    return MPI_SUCCESS;
}

static int weight_at(const int weights[], int64_t i)
{
    return are_weights_given(weights) ? weights[i] : 1;
}

/* ---- MPI_Dist_graph_create_adjacent -------------------------------------- */

struct neighbor_list {
    const char *name, *weights_name;
    int n;
    const int *ranks, *weights;
};

static int check_list(const struct wf_comm *comm, const struct neighbor_list *l)
{
    int rc = check_ranks(comm, l->name, l->ranks, l->n);

    return rc ? rc : check_weights(l->weights_name, l->weights, l->n);
}

static void copy_list(const struct neighbor_list *l, int *ranks, int *weights)
{
    for (int i = 0; i < l->n; i++) {
        ranks[i] = l->ranks[i];
        weights[i] = weight_at(l->weights, i);
    }
}

int wf_mpi_dist_graph_create_adjacent(
    struct wf_instance *wf, struct wf_comm *comm_old, int indegree,
    const int sources[], const int sourceweights[], int outdegree,
    const int destinations[], const int destweights[], struct wf_info *info,
    int reorder, MPI_Comm *comm_dist_graph)
{
    struct neighbor_list in = {"sources", "sourceweights", indegree, sources,
                               sourceweights};
    struct neighbor_list out = {"destinations", "destweights", outdegree,
                                destinations, destweights};
    struct wf_topo *topo = NULL;
    int rc = wf_topo_check_parent(comm_old);

    *comm_dist_graph = MPI_COMM_NULL;
    if (rc)
        return rc;
    if (!(rc = check_list(comm_old, &in)) &&
        !(rc = check_list(comm_old, &out))) {
        topo = wf_dist_create_topo(indegree, outdegree,
                                   sourceweights != MPI_UNWEIGHTED);
        rc = topo ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    }
    if (topo) {
        copy_list(&in, topo->sources, topo->source_weights);
        copy_list(&out, topo->destinations, topo->dest_weights);
    }
    return wf_dist_finish(comm_old, topo, reorder, rc, comm_dist_graph);
}

/* ---- MPI_Dist_graph_create ----------------------------------------------- */

/* The arguments of a call that name edges. */
struct edge_list {
    int n;
    const int *sources, *degrees, *destinations, *weights;
};

/* An edge in the form in which one of its ends gets it. */
struct edge {
    int other, weight, incoming;
};
enum { EDGE_INTS = sizeof(struct edge) / sizeof(int) };

/* The edges that are sent to, or come from, each rank. Counts, displacements
 * and size are in integers. */
struct mail {
    int64_t *counts, *displs, size;
    struct edge *edges;
};

static int check_edges(const struct wf_comm *comm, const struct edge_list *e)
{
    int64_t total = 0;
    int rc = check_ranks(comm, "sources", e->sources, e->n);

    for (int i = 0; !rc && i < e->n; i++) {
        if (e->degrees[i] < 0)
            return wf_error(MPI_ERR_ARG,
                            "degrees[%d] is %d but must be 0 or more",
                            i, e->degrees[i]);
        total += e->degrees[i];
    }
    if (!rc)
        rc = check_ranks(comm, "destinations", e->destinations, total);
    return rc ? rc : check_weights("weights", e->weights, total);
}

/* Call `take` for both ends of every edge. */
static void for_each_edge(const struct edge_list *e, struct mail *m,
                          void (*take)(struct mail *, int to, struct edge))
{
    int64_t k = 0;

    for (int i = 0; i < e->n; i++)
        for (int j = 0; j < e->degrees[i]; j++, k++) {
            int from = e->sources[i], to = e->destinations[k];
            int weight = weight_at(e->weights, k);
            take(m, from, (struct edge){to, weight, 0});
            take(m, to, (struct edge){from, weight, 1});
        }
}

static void count_edge(struct mail *m, int to, struct edge e)
{
    m->counts[to] += EDGE_INTS;
}

static void write_edge(struct mail *m, int to, struct edge e)
{
    m->edges[m->displs[to] / EDGE_INTS] = e;
    m->displs[to] += EDGE_INTS;
}

/* Compute the displacements from the counts, and allocate the edges. */
static bool arrange_mail(struct mail *m, int n)
{
    m->size = 0;
    for (int i = 0; i < n; i++) {
        m->displs[i] = m->size;
        m->size += m->counts[i];
    }
    m->edges = malloc((size_t)m->size * sizeof(int) + 1);
    return m->edges != NULL;
}

static bool write_mail(const struct edge_list *e, struct mail *m, int n)
{
    for_each_edge(e, m, count_edge);
    if (!arrange_mail(m, n))
        return false;
    for_each_edge(e, m, write_edge);
    for (int i = 0; i < n; i++)
        m->displs[i] -= m->counts[i];
    return true;
}

static struct wf_ints as_wide_ints(const int64_t *v)
{
    return (struct wf_ints){v, sizeof *v};
}

static int record_no_memory(void)
{
    return wf_error(MPI_ERR_NO_MEM,
                    "no memory for the edges of a distributed graph");
}

static int exchange_edges(struct wf_comm *comm, struct mail *out,
                          struct mail *in)
{
    struct wf_type *type = wf_type_of(MPI_INT), *count_type;
    int rc;

    count_type = wf_type_of(MPI_INT64_T);
    rc = wf_mpi_alltoall(comm->wf, out->counts, 1, count_type, in->counts, 1,
                         count_type, comm);
    if (rc)
        return rc;
    rc = arrange_mail(in, comm->size) ? MPI_SUCCESS : record_no_memory();
    rc = wf_dist_agree(comm, rc);
    if (rc)
        return rc;
    return wf_mpi_alltoallv(comm->wf, out->edges, as_wide_ints(out->counts),
                            as_wide_ints(out->displs), type, in->edges,
                            as_wide_ints(in->counts), as_wide_ints(in->displs),
                            type, comm);
}

static struct wf_topo *read_mail(const struct mail *m, bool weighted)
{
    int64_t n = m->size / EDGE_INTS, incoming = 0, in = 0, out = 0;
    struct wf_topo *t;

    for (int64_t i = 0; i < n; i++)
        incoming += m->edges[i].incoming;
    t = wf_dist_create_topo((int)incoming, (int)(n - incoming), weighted);
    for (int64_t i = 0; t && i < n; i++) {
        const struct edge *e = &m->edges[i];
        if (e->incoming) {
            t->sources[in] = e->other;
            t->source_weights[in++] = e->weight;
        } else {
            t->destinations[out] = e->other;
            t->dest_weights[out++] = e->weight;
        }
    }
    return t;
}

/* Send every edge to its two ends, and make a topology of those that this
 * process gets. Collective, also for a process that has a wrong argument. *topo
 * is NULL if memory is lacking at the end, recorded. */
static int collect_edges(struct wf_comm *comm, const struct edge_list *e,
                         int wrong, struct wf_topo **topo)
{
    size_t n = (size_t)comm->size;
    int64_t *room = calloc(4 * n, sizeof *room);
    struct mail out = {room, room + n, 0, NULL};
    struct mail in = {room + 2 * n, room + 3 * n, 0, NULL};
    int rc = wrong;

    if (!rc && (!room || !write_mail(e, &out, comm->size)))
        rc = record_no_memory();
    rc = wf_dist_agree(comm, rc);
    if (!rc)
        rc = exchange_edges(comm, &out, &in);
    *topo = rc ? NULL : read_mail(&in, e->weights != MPI_UNWEIGHTED);
    free(out.edges);
    free(in.edges);
    free(room);
    return rc;
}

int wf_mpi_dist_graph_create(struct wf_instance *wf, struct wf_comm *comm_old,
                             int n, const int sources[], const int degrees[],
                             const int destinations[], const int weights[],
                             struct wf_info *info, int reorder,
                             MPI_Comm *comm_dist_graph)
{
    struct edge_list e = {n, sources, degrees, destinations, weights};
    struct wf_topo *topo = NULL;
    int rc = wf_topo_check_parent(comm_old);

    *comm_dist_graph = MPI_COMM_NULL;
    if (rc)
        return rc;
    rc = collect_edges(comm_old, &e, check_edges(comm_old, &e), &topo);
    if (rc)
        return rc;
    return wf_dist_finish(comm_old, topo, reorder,
                          topo ? MPI_SUCCESS : MPI_ERR_NO_MEM, comm_dist_graph);
}
