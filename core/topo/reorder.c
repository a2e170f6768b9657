/* Reordering of ranks: see reorder.h.
 *
 *   grid    where every node holds the same number c of processes, each node
 *           gets a brick of c cells, of the shape that cuts fewest edges
 *   graph   one node after the other is filled, always with the vertex that
 *           has most edges to the vertices already on the node
 *
 * A result is used only when it is better than the order of the old ranks.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "topo/reorder.h"

#include <stdlib.h>

#include "boot/boot.h"
#include "object/error.h"
#include "process/rank.h"

/* Graphs with more vertices are not reordered: filling takes quadratic time. */
enum { GREEDY_MAX = 16384 };

/* Members 0..n-1 and their nodes, which are numbered as they appear. */
struct layout {
    int n, nodes;
    int *node_of;  /* node of each member */
    int *capacity; /* number of members on each node */
};

/* ---- the layout ---------------------------------------------------------- */

static const uint32_t *find_launcher_nodes(const struct wf_comm *comm)
{
    return comm->wf->rank->boot->node_count > 1 ? comm->wf->rank->boot->node_of
                                                : NULL;
}

/* Number the nodes of the members from 0, in the order in which they appear. */
static void number_nodes(struct layout *l, const struct wf_comm *comm,
                         int *seen)
{
    const uint32_t *node = find_launcher_nodes(comm);

    memset(seen, 0xff, comm->wf->rank->boot->node_count * sizeof *seen);
    for (int i = 0; i < l->n; i++) {
        int *k = &seen[node[wf_group_proc(comm->local, i)]];
        if (*k < 0)
            *k = l->nodes++;
        l->node_of[i] = *k;
        l->capacity[*k]++;
    }
}

static void free_layout(struct layout *l)
{
    free(l->node_of);
    free(l->capacity);
}

static int record_no_memory(void)
{
    return wf_error(MPI_ERR_NO_MEM, "no memory to reorder the processes");
}

static int find_layout(struct layout *l, const struct wf_comm *comm, int n)
{
    int *seen = malloc(comm->wf->rank->boot->node_count * sizeof *seen + 1);

    *l = (struct layout){.n = n};
    l->node_of = malloc((size_t)n * sizeof *l->node_of + 1);
    l->capacity = calloc((size_t)n + 1, sizeof *l->capacity);
    if (!seen || !l->node_of || !l->capacity) {
        free(seen);
        free_layout(l);
        return record_no_memory();
    }
    number_nodes(l, comm, seen);
    free(seen);
    return MPI_SUCCESS;
}

/* Also false when a member was not started with this job: its node is not in
 * the launcher's table. */
bool wf_reorder_useful(const struct wf_comm *comm, int n)
{
    const uint32_t *node = find_launcher_nodes(comm);
    bool several = false;

    for (int i = 0; node && i < n; i++) {
        uint32_t proc = wf_group_proc(comm->local, i);
        if (proc >= comm->wf->rank->boot->size)
            return false;
        several |= node[proc] != node[wf_group_proc(comm->local, 0)];
    }
    return several;
}

int wf_reorder_rank(const struct wf_comm *comm, int n, const int *order)
{
    if (!order)
        return comm->rank < n ? comm->rank : MPI_UNDEFINED;
    for (int i = 0; i < n; i++)
        if (order[i] == comm->rank)
            return i;
    return MPI_UNDEFINED;
}

/* ---- judging a placement ------------------------------------------------- */

/* Returns the weight of the edges between nodes, when vertex v is on node
 * place[v]. */
static int64_t weigh_cut(const struct wf_edges *g, const int *place)
{
    int64_t sum = 0;

    for (int v = 0; v < g->n; v++)
        for (int e = g->first[v]; e < g->first[v + 1]; e++)
            if (g->adjacent[e] >= 0 && place[g->adjacent[e]] != place[v])
                sum += g->weight ? g->weight[e] : 1;
    return sum;
}

/* Returns the order that follows from a placement: the first vertex placed on a
 * node gets the node's first member, and so on. */
static int *order_of(const struct layout *l, const int *place)
{
    int *order = malloc((size_t)l->n * sizeof *order + 1);
    int *by_node = malloc((size_t)l->n * sizeof *by_node + 1);
    int *next = malloc(((size_t)l->nodes + 1) * sizeof *next);

    if (order && by_node && next) {
        for (int k = 0, at = 0; k < l->nodes; at += l->capacity[k++])
            next[k] = at;
        for (int i = 0; i < l->n; i++)
            by_node[next[l->node_of[i]]++] = i;
        for (int k = 0; k < l->nodes; k++)
            next[k] -= l->capacity[k];
        for (int v = 0; v < l->n; v++)
            order[v] = by_node[next[place[v]]++];
    } else {
        free(order);
        order = NULL;
    }
    free(by_node);
    free(next);
    return order;
}

static int store_order_if_better(const struct layout *l,
                                 const struct wf_edges *g, const int *place,
                                 int **order)
{
    *order = NULL;
    if (weigh_cut(g, place) >= weigh_cut(g, l->node_of))
        return MPI_SUCCESS;
    *order = order_of(l, place);
    return *order ? MPI_SUCCESS : record_no_memory();
}

/* ---- graphs: fill node after node ---------------------------------------- */

struct filling {
    const struct wf_edges *g;
    int *place;    /* node of each vertex, -1: none yet */
    int64_t *gain; /* of each vertex: weight of its edges to the filled node */
    int *open;     /* of each vertex: its edges to vertices without a node */
};

/* Returns the vertex with the largest gain; among those the one that would
 * leave fewest edges open. */
static int choose_vertex(const struct filling *f)
{
    int best = -1;

    for (int v = 0; v < f->g->n; v++)
        if (f->place[v] < 0 &&
            (best < 0 || f->gain[v] > f->gain[best] ||
             (f->gain[v] == f->gain[best] && f->open[v] < f->open[best])))
            best = v;
    return best;
}

static void put_vertex(struct filling *f, int v, int node)
{
    const struct wf_edges *g = f->g;

    f->place[v] = node;
    for (int e = g->first[v]; e < g->first[v + 1]; e++) {
        int w = g->adjacent[e];
        if (w < 0)
            continue;
        f->gain[w] += g->weight ? g->weight[e] : 1;
        f->open[w]--;
    }
}

static void fill_nodes(struct filling *f, const struct layout *l)
{
    const struct wf_edges *g = f->g;

    for (int v = 0; v < g->n; v++) {
        f->place[v] = -1;
        f->open[v] = 0;
        for (int e = g->first[v]; e < g->first[v + 1]; e++)
            f->open[v] += g->adjacent[e] >= 0;
    }
    for (int k = 0; k < l->nodes; k++) {
        memset(f->gain, 0, (size_t)g->n * sizeof *f->gain);
        for (int i = 0; i < l->capacity[k]; i++)
            put_vertex(f, choose_vertex(f), k);
    }
}

static int order_greedily(const struct layout *l, const struct wf_edges *g,
                          int **order)
{
    size_t n = (size_t)g->n;
    struct filling f = {.g = g};
    int rc = MPI_SUCCESS;

    *order = NULL;
    if (g->n > GREEDY_MAX)
        return MPI_SUCCESS;
    f.place = malloc(n * sizeof *f.place);
    f.gain = malloc(n * sizeof *f.gain);
    f.open = malloc(n * sizeof *f.open);
    if (f.place && f.gain && f.open) {
        fill_nodes(&f, l);
        rc = store_order_if_better(l, g, f.place, order);
    } else {
        rc = record_no_memory();
    }
    free(f.place);
    free(f.gain);
    free(f.open);
    return rc;
}

int wf_reorder_graph(const struct wf_comm *comm, const struct wf_edges *g,
                     int **order)
{
    struct layout l;
    int rc;

    *order = NULL;
    if (!wf_reorder_useful(comm, g->n))
        return MPI_SUCCESS;
    if ((rc = find_layout(&l, comm, g->n)))
        return rc;
    rc = order_greedily(&l, g, order);
    free_layout(&l);
    return rc;
}

/* ---- grids: a brick for each node ---------------------------------------- */

struct bricks {
    const struct wf_grid *grid;
    int cells;    /* of the grid */
    int64_t cost; /* number of edges that the best shape cuts */
    int *best, *shape;
};

/* Returns the number of edges along dimension d that bricks of this length
 * cut. */
static int64_t count_cuts_along(const struct bricks *b, int d, int length)
{
    int dim = b->grid->dims[d], pieces = dim / length;
    int cuts = b->grid->periods[d] && pieces > 1 ? pieces : pieces - 1;

    return (int64_t)b->cells / dim * cuts;
}

/* Try all lengths of a brick in dimension d and those after it. volume: the
 * product that these lengths must have. cost: edges cut in the dimensions
 * before. */
static void try_shapes(struct bricks *b, int d, int volume, int64_t cost)
{
    if (cost >= b->cost)
        return;
    if (d == b->grid->ndims) {
        if (volume == 1) {
            b->cost = cost;
            memcpy(b->best, b->shape, (size_t)d * sizeof *b->best);
        }
        return;
    }
    for (int n = 1; n <= volume && n <= b->grid->dims[d]; n++)
        if (volume % n == 0 && b->grid->dims[d] % n == 0) {
            b->shape[d] = n;
            try_shapes(b, d + 1, volume / n, cost + count_cuts_along(b, d, n));
        }
}

/* Returns the number of the brick that holds a cell; bricks are numbered like
 * cells. */
static int brick_of(const struct bricks *b, const int *coords)
{
    int k = 0;

    for (int d = 0; d < b->grid->ndims; d++)
        k = k * (b->grid->dims[d] / b->best[d]) + coords[d] / b->best[d];
    return k;
}

static bool are_nodes_equal(const struct layout *l)
{
    for (int k = 1; k < l->nodes; k++)
        if (l->capacity[k] != l->capacity[0])
            return false;
    return true;
}

/* Place each cell of the grid on the node of its brick. *found: there is a
 * shape of bricks that fills the grid. */
static int place_bricks(const struct layout *l, const struct wf_grid *g,
                        int *place, bool *found)
{
    size_t n = (size_t)g->ndims;
    struct bricks b = {.grid = g, .cells = l->n, .cost = INT64_MAX};
    int *room = malloc(3 * n * sizeof *room + 1);

    if (!room)
        return record_no_memory();
    b.best = room;
    b.shape = room + n;
    if (are_nodes_equal(l))
        try_shapes(&b, 0, l->capacity[0], 0);
    *found = b.cost < INT64_MAX;
    for (int v = 0; *found && v < l->n; v++) {
        wf_grid_coords(g, v, room + 2 * n);
        place[v] = brick_of(&b, room + 2 * n);
    }
    free(room);
    return MPI_SUCCESS;
}

/* Make the edges of a grid, in one block of memory, which is returned; NULL:
 * out of memory. */
static int *edges_of_grid(const struct wf_grid *g, struct wf_edges *e)
{
    size_t n = (size_t)e->n, degree = 2 * (size_t)g->ndims;
    int *room = malloc((n + 1 + n * degree + degree) * sizeof *room);
    int *at, *coords;

    if (!room)
        return NULL;
    e->first = room;
    e->adjacent = at = room + n + 1;
    coords = at + n * degree;
    for (int v = 0; v < e->n; v++) {
        room[v] = v * (int)degree;
        wf_grid_coords(g, v, coords);
        for (int i = 0; i < (int)degree; i++)
            *at++ = wf_grid_neighbor(g, coords, i / 2, i % 2 ? 1 : -1);
    }
    room[n] = e->n * (int)degree;
    return room;
}

static int reorder_cells(const struct layout *l, const struct wf_grid *g,
                         int **order)
{
    struct wf_edges e = {.n = l->n};
    int *place = malloc((size_t)l->n * sizeof *place);
    int *room = edges_of_grid(g, &e);
    bool found = false;
    int rc =
        place && room ? place_bricks(l, g, place, &found) : record_no_memory();

    if (!rc)
        rc = found ? store_order_if_better(l, &e, place, order)
                   : order_greedily(l, &e, order);
    free(place);
    free(room);
    return rc;
}

int wf_reorder_grid(const struct wf_comm *comm, const struct wf_grid *g,
                    int **order)
{
    struct layout l;
    int n = 1, rc;

    *order = NULL;
    for (int d = 0; d < g->ndims; d++)
        n *= g->dims[d];
    if (!wf_reorder_useful(comm, n))
        return MPI_SUCCESS;
    if ((rc = find_layout(&l, comm, n)))
        return rc;
    rc = reorder_cells(&l, g, order);
    free_layout(&l);
    return rc;
}
