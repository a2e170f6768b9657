/* Distributed graphs as objects, and the end of both creators.
 *
 * To reorder the ranks, every process gets all edges; a process that becomes
 * another rank takes over the edges of that vertex.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "topo/dist_graph.h"

#include <stdlib.h>

#include "coll/barrier.h"
#include "coll/coll.h"
#include "core_api.h"
#include "datatype/predefined.h"
#include "object/error.h"
#include "topo/create.h"
#include "topo/dist.h"
#include "topo/reorder.h"

/* Larger graphs are not reordered: so many integers would be in each
 * process. */
enum { REORDER_MAX = 1 << 24 };

/* ---- the object ---------------------------------------------------------- */

/* The arrays lie in t->data one behind the other, each list with its
 * weights. */
struct wf_topo *wf_dist_create_topo(int indegree, int outdegree, bool weighted)
{
    size_t in = (size_t)indegree, out = (size_t)outdegree;
    struct wf_topo *t = wf_topo_create(MPI_DIST_GRAPH, 2 * (in + out));

    if (!t)
        return NULL;
    t->indegree = indegree;
    t->outdegree = outdegree;
    t->weighted = weighted;
    t->sources = t->data;
    t->source_weights = t->sources + in;
    t->destinations = t->source_weights + in;
    t->dest_weights = t->destinations + out;
    return t;
}

static size_t data_size_of(const struct wf_topo *t)
{
    return 2 * ((size_t)t->indegree + (size_t)t->outdegree);
}

/* ---- reorder ------------------------------------------------------------- */

/* The whole graph, which every process has while the ranks are reordered. */
struct whole {
    int n;
    int *degrees;             /* in and out, for each vertex */
    int64_t *counts, *displs; /* place of each vertex's arrays in data */
    int *data;
    int64_t size;
};

static void free_whole(struct whole *w)
{
    free(w->degrees);
    free(w->counts);
    free(w->displs);
    free(w->data);
}

static int record_no_memory(void)
{
    return wf_error(MPI_ERR_NO_MEM, "no memory for a distributed graph");
}

static void lay_out_data(struct whole *w)
{
    for (int v = 0; v < w->n; v++) {
        w->displs[v] = w->size;
        w->counts[v] = 2 * ((int64_t)w->degrees[2 * v] + w->degrees[2 * v + 1]);
        w->size += w->counts[v];
    }
}

int wf_dist_agree(struct wf_comm *comm, int rc)
{
    struct wf_error_record cause = *wf_error_last();
    uint8_t failed = rc != MPI_SUCCESS;
    int r;

    if (rc == MPI_ERR_NO_MEM) /* now, as another process may end the job */
        wf_log(comm->wf, WF_LOG_WARN, "%s", cause.text);
    r = wf_barrier_agree_on_flags(comm, &failed);
    if (rc) {
        *wf_error_last() = cause;
        return rc;
    }
    if (r == MPI_SUCCESS && failed)
        r = wf_error(MPI_ERR_NOT_SAME, "another process of the communicator "
                                       "failed in this call");
    return r;
}

/* Gather the whole graph in each process. Collective; w->data stays NULL when
 * the graph is too large. All members get an error, as from wf_dist_agree. */
static int gather_all_edges(struct wf_comm *comm, const struct wf_topo *t,
                            struct whole *w)
{
    struct wf_type *type = wf_type_of(MPI_INT);
    int mine[2] = {t->indegree, t->outdegree}, rc = MPI_SUCCESS;
    size_t n = (size_t)comm->size;

    *w = (struct whole){.n = comm->size};
    w->degrees = malloc(2 * n * sizeof *w->degrees);
    w->counts = malloc(n * sizeof *w->counts);
    w->displs = malloc(n * sizeof *w->displs);
    if (!w->degrees || !w->counts || !w->displs)
        rc = record_no_memory();
    rc = wf_dist_agree(comm, rc);
    if (!rc)
        rc = wf_mpi_allgather(comm->wf, mine, 2, type, w->degrees, 2, type,
                              comm);
    if (rc)
        return rc;
    lay_out_data(w);
    if (w->size > REORDER_MAX)
        return MPI_SUCCESS;
    w->data = malloc((size_t)w->size * sizeof *w->data + 1);
    rc = wf_dist_agree(comm, w->data ? MPI_SUCCESS : record_no_memory());
    if (rc)
        return rc;
    return wf_mpi_allgatherv(
        comm->wf, t->data, (MPI_Count)data_size_of(t), type, w->data,
        (struct wf_ints){w->counts, sizeof *w->counts},
        (struct wf_ints){w->displs, sizeof *w->displs}, type, comm);
}

/* Convert the edges to destinations to one graph; the arrays of e lie in *room,
 * which is malloc'ed. */
static int edges_of(const struct whole *w, struct wf_edges *e, int **room)
{
    size_t all = (size_t)w->size / 2; /* more than enough */
    int *first = malloc(((size_t)w->n + 1 + 2 * all) * sizeof *first);
    int *adjacent, *weight, at = 0;

    *room = first;
    if (!first)
        return record_no_memory();
    adjacent = first + w->n + 1;
    weight = adjacent + all;
    for (int v = 0; v < w->n; v++) {
        int in = w->degrees[2 * v], out = w->degrees[2 * v + 1];
        const int *to = w->data + w->displs[v] + 2 * in;
        first[v] = at;
        for (int i = 0; i < out; i++, at++) {
            adjacent[at] = to[i];
            weight[at] = to[out + i];
        }
    }
    first[w->n] = at;
    *e = (struct wf_edges){w->n, first, adjacent, weight};
    return MPI_SUCCESS;
}

/* Replace *topo by the topology of the vertex that this process becomes. */
static int become_vertex(const struct whole *w, int vertex,
                         struct wf_topo **topo)
{
    struct wf_topo *t = wf_dist_create_topo(
        w->degrees[2 * vertex], w->degrees[2 * vertex + 1], (*topo)->weighted);

    if (!t)
        return MPI_ERR_NO_MEM;
    memcpy(t->data, w->data + w->displs[vertex],
           (size_t)w->counts[vertex] * sizeof *t->data);
    wf_topo_put(*topo);
    *topo = t;
    return MPI_SUCCESS;
}

static int reorder_whole(const struct wf_comm *comm, const struct whole *w,
                         struct wf_topo **topo, int **order)
{
    struct wf_edges e;
    int *room, rc = edges_of(w, &e, &room);

    if (!rc)
        rc = wf_reorder_graph(comm, &e, order);
    free(room);
    if (!rc && *order)
        rc = become_vertex(w, wf_reorder_rank(comm, w->n, *order), topo);
    return rc;
}

/* Find a better order of the ranks. Collective, also for a process that has
 * failed before: it contributes no edges. Returns an error that all processes
 * have; *rc becomes one of this process alone. */
static int find_order(struct wf_comm *comm, struct wf_topo **topo, int **order,
                      int *rc)
{
    struct wf_topo none = {.kind = MPI_DIST_GRAPH};
    struct whole w;
    int wrong = gather_all_edges(comm, *topo ? *topo : &none, &w);

    if (!wrong && w.data && *topo)
        *rc = reorder_whole(comm, &w, topo, order);
    free_whole(&w);
    return wrong;
}

int wf_dist_finish(struct wf_comm *comm, struct wf_topo *topo, int reorder,
                   int rc, MPI_Comm *newcomm)
{
    struct wf_group *group = NULL;
    int *order = NULL, wrong;

    if (reorder && wf_reorder_useful(comm, comm->size)) {
        wrong = find_order(comm, &topo, &order, &rc);
        if (wrong) {
            wf_topo_put(topo);
            return rc ? rc : wrong;
        }
    }
    if (!rc && !(group = wf_topo_create_group(comm, comm->size, order)))
        rc = MPI_ERR_NO_MEM;
    free(order);
    if (rc) {
        wf_topo_put(topo);
        topo = NULL;
    }
    return wf_topo_create_comm(comm, group, topo, rc, newcomm);
}
