/* The two creators of distributed graphs (MPI-5.0 s8.5.4).
 *
 *   adjacent   each process names its own edges: nothing needs to be sent
 *   general    anybody may name any edge: it travels to both of its ends. A
 *              process lists what it gets by the rank that sent it, in the
 *              order that one was given: edges between the same two vertices
 *              stand in the same order at both, which is how messages match.
 *
 * A process that met an error says so before the next step in which others would
 * wait for it, and the call fails in all processes. Only a message that cannot be
 * sent ends it in one alone.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "core_api.h"
#include "topo/dist.h"

/* ---- arguments ----------------------------------------------------------- */

static int check_ranks(const struct wf_comm *comm, const char *what,
                       const int ranks[], int64_t n)
{
    if (n > 0 && !ranks)
        return wf_error(MPI_ERR_ARG, "%s is NULL", what);
    for (int64_t i = 0; i < n; i++)
        if (ranks[i] < 0 || ranks[i] >= comm->size)
            return wf_error(MPI_ERR_RANK, "%s[%lld] is %d but the communicator "
                            "has ranks 0..%d", what, (long long)i, ranks[i],
                            comm->size - 1);
    return MPI_SUCCESS;
}

static bool given(const int weights[])
{
    return weights != MPI_UNWEIGHTED && weights != MPI_WEIGHTS_EMPTY;
}

static int check_weights(const char *what, const int weights[], int64_t n)
{
    if (n > 0 && (!weights || weights == MPI_WEIGHTS_EMPTY))
        return wf_error(MPI_ERR_ARG, "%s is %s but there are %lld edges", what,
                        weights ? "MPI_WEIGHTS_EMPTY" : "NULL", (long long)n);
    for (int64_t i = 0; given(weights) && i < n; i++)
        if (weights[i] < 0)
            return wf_error(MPI_ERR_ARG, "%s[%lld] is %d but must be 0 or "
                            "more", what, (long long)i, weights[i]);
    return MPI_SUCCESS;
}

static int weight_at(const int weights[], int64_t i)
{
    return given(weights) ? weights[i] : 1;
}

/* ---- MPI_Dist_graph_create_adjacent -------------------------------------- */

struct list {
    const char *name, *weights_name;
    int n;
    const int *ranks, *weights;
};

static int check_list(const struct wf_comm *comm, const struct list *l)
{
    int rc = check_ranks(comm, l->name, l->ranks, l->n);

    return rc ? rc : check_weights(l->weights_name, l->weights, l->n);
}

static void copy_list(const struct list *l, int *ranks, int *weights)
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
    struct list in = {"sources", "sourceweights", indegree, sources,
                      sourceweights};
    struct list out = {"destinations", "destweights", outdegree, destinations,
                       destweights};
    struct wf_topo *topo = NULL;
    int rc = wf_topo_check_parent(comm_old);

    *comm_dist_graph = MPI_COMM_NULL;
    if (rc)
        return rc;
    if (!(rc = check_list(comm_old, &in)) &&
        !(rc = check_list(comm_old, &out))) {
        topo = wf_dist_topo(indegree, outdegree,
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

/* The edges of a call. */
struct named {
    int n;
    const int *sources, *degrees, *destinations, *weights;
};

/* An edge as one of its ends gets it. */
struct edge {
    int other, weight, incoming;
};
enum { EDGE_INTS = sizeof(struct edge) / sizeof(int) };

/* Edges on their way: how many to each rank, and where they lie. Counts and
 * places are in integers. */
struct mail {
    int64_t *counts, *displs, size;
    struct edge *edges;
};

static int check_named(const struct wf_comm *comm, const struct named *e)
{
    int64_t total = 0;
    int rc = check_ranks(comm, "sources", e->sources, e->n);

    for (int i = 0; !rc && i < e->n; i++) {
        if (e->degrees[i] < 0)
            return wf_error(MPI_ERR_ARG, "degrees[%d] is %d but must be 0 or "
                            "more", i, e->degrees[i]);
        total += e->degrees[i];
    }
    if (!rc)
        rc = check_ranks(comm, "destinations", e->destinations, total);
    return rc ? rc : check_weights("weights", e->weights, total);
}

/* Hand both forms of every edge to `take`. */
static void for_each(const struct named *e, struct mail *m,
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

static void count(struct mail *m, int to, struct edge e)
{
    m->counts[to] += EDGE_INTS;
}

static void put(struct mail *m, int to, struct edge e)
{
    m->edges[m->displs[to] / EDGE_INTS] = e;
    m->displs[to] += EDGE_INTS;
}

/* Displacements from counts, and room for all. */
static bool arrange(struct mail *m, int n)
{
    m->size = 0;
    for (int i = 0; i < n; i++) {
        m->displs[i] = m->size;
        m->size += m->counts[i];
    }
    m->edges = malloc((size_t)m->size * sizeof(int) + 1);
    return m->edges != NULL;
}

static bool write_mail(const struct named *e, struct mail *m, int n)
{
    for_each(e, m, count);
    if (!arrange(m, n))
        return false;
    for_each(e, m, put);
    for (int i = 0; i < n; i++)
        m->displs[i] -= m->counts[i];
    return true;
}

static struct wf_ints wide(const int64_t *v)
{
    return (struct wf_ints){v, sizeof *v};
}

static int no_memory(void)
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
    rc = arrange(in, comm->size) ? MPI_SUCCESS : no_memory();
    rc = wf_dist_agree(comm, rc);
    if (rc)
        return rc;
    return wf_mpi_alltoallv(comm->wf, out->edges, wide(out->counts),
                            wide(out->displs), type, in->edges,
                            wide(in->counts), wide(in->displs), type, comm);
}

static struct wf_topo *read_mail(const struct mail *m, bool weighted)
{
    int64_t n = m->size / EDGE_INTS, incoming = 0, in = 0, out = 0;
    struct wf_topo *t;

    for (int64_t i = 0; i < n; i++)
        incoming += m->edges[i].incoming;
    t = wf_dist_topo((int)incoming, (int)(n - incoming), weighted);
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

/* Collective, also with the error of an argument. *topo: NULL when memory is
 * lacking at the end, recorded. */
static int collect_edges(struct wf_comm *comm, const struct named *e, int wrong,
                         struct wf_topo **topo)
{
    size_t n = (size_t)comm->size;
    int64_t *room = calloc(4 * n, sizeof *room);
    struct mail out = {room, room + n, 0, NULL};
    struct mail in = {room + 2 * n, room + 3 * n, 0, NULL};
    int rc = wrong;

    if (!rc && (!room || !write_mail(e, &out, comm->size)))
        rc = no_memory();
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
    struct named e = {n, sources, degrees, destinations, weights};
    struct wf_topo *topo = NULL;
    int rc = wf_topo_check_parent(comm_old);

    *comm_dist_graph = MPI_COMM_NULL;
    if (rc)
        return rc;
    rc = collect_edges(comm_old, &e, check_named(comm_old, &e), &topo);
    if (rc)
        return rc;
    return wf_dist_finish(comm_old, topo, reorder,
                          topo ? MPI_SUCCESS : MPI_ERR_NO_MEM, comm_dist_graph);
}
