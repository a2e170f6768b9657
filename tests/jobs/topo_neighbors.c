/* Every neighbourhood collective in every form, on random grids, graphs and
 * distributed graphs of 1, 2, ... processes, puts every block where the
 * standard says and touches nothing else.
 *
 * The reference is the table of everybody's destinations. Where several blocks
 * go from one process to another, those of a graph match in order; on a grid
 * the block sent in negative direction arrives from the positive side.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

enum { DEGREE = 12, ROOM = 60000 };
enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };

/* The same sequence in every process. */
static _Thread_local unsigned dice_state;

static int throw_dice(int sides)
{
    dice_state = dice_state * 1664525u + 1013904223u;
    return (int)((dice_state >> 8) % (unsigned)sides);
}

/* ---- random topologies --------------------------------------------------- */

static MPI_Comm random_grid(MPI_Comm c)
{
    int ndims = 1 + throw_dice(3), dims[3] = {0}, periods[3], cells;
    MPI_Comm grid;

    cells = size_of(c) - throw_dice(size_of(c));
    for (int d = 0; d < ndims; d++)
        periods[d] = throw_dice(3) > 0;
    MPI_Dims_create(cells, ndims, dims);
    MPI_Cart_create(c, ndims, dims, periods, throw_dice(2), &grid);
    return grid;
}

/* As many edges from i to j as from j to i. */
static MPI_Comm random_graph(MPI_Comm c)
{
    int n = size_of(c), times[16][16], index[16], edges[16 * DEGREE], at = 0;
    MPI_Comm graph;

    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            times[i][j] = times[j][i] = throw_dice(3) ? 0 : 1 + throw_dice(2);
    for (int i = 0; i < n; i++) {
        for (int j = 0, d = 0; j < n; j++)
            for (int k = 0; k < times[i][j] && d < DEGREE; k++, d++)
                edges[at++] = j;
        index[i] = at;
    }
    MPI_Graph_create(c, n, index, edges, throw_dice(2), &graph);
    return graph;
}

struct edge {
    int from, to;
};

static int random_edges(int n, struct edge *e)
{
    int edges = throw_dice(3 * n + 1);

    for (int i = 0; i < edges; i++)
        e[i] = (struct edge){throw_dice(n), throw_dice(n)};
    return edges;
}

/* Everybody names its own edges, in the order of the list. */
static MPI_Comm random_adjacent(MPI_Comm c)
{
    int n = size_of(c), me = rank_in(c), in = 0, out = 0;
    int sources[64], destinations[64];
    struct edge e[64];
    int edges = random_edges(n, e);
    MPI_Comm graph;

    for (int i = 0; i < edges; i++) {
        if (e[i].to == me)
            sources[in++] = e[i].from;
        if (e[i].from == me)
            destinations[out++] = e[i].to;
    }
    MPI_Dist_graph_create_adjacent(c, in, sources, MPI_UNWEIGHTED, out,
                                   destinations, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                   throw_dice(2), &graph);
    return graph;
}

/* Everybody names some edges of anybody. */
static MPI_Comm random_named(MPI_Comm c)
{
    int n = size_of(c), mine = 0;
    int sources[64], degrees[64], destinations[64];
    struct edge e[64];
    int edges = random_edges(n, e);
    MPI_Comm graph;

    for (int i = 0; i < edges; i++)
        if (throw_dice(n) == rank_in(c)) {
            sources[mine] = e[i].from;
            degrees[mine] = 1;
            destinations[mine++] = e[i].to;
        }
    MPI_Dist_graph_create(c, mine, sources, degrees, destinations,
                          MPI_UNWEIGHTED, MPI_INFO_NULL, throw_dice(2), &graph);
    return graph;
}

/* ---- what is known about a topology -------------------------------------- */

struct known {
    MPI_Comm comm;
    int rank, size, cart, in, out;
    int source[DEGREE * 4], destination[DEGREE * 4];
    int slot[DEGREE * 4]; /* where my i-th source keeps the block for me */
};

static void cart_neighbors(struct known *w)
{
    int ndims;

    MPI_Cartdim_get(w->comm, &ndims);
    w->in = w->out = 2 * ndims;
    for (int d = 0; d < ndims; d++)
        MPI_Cart_shift(w->comm, d, 1, &w->source[2 * d],
                       &w->source[2 * d + 1]);
    memcpy(w->destination, w->source, sizeof w->source);
}

static void ask_peer(struct known *w)
{
    int kind, weighted;

    MPI_Topo_test(w->comm, &kind);
    w->cart = kind == MPI_CART;
    if (kind == MPI_CART) {
        cart_neighbors(w);
    } else if (kind == MPI_GRAPH) {
        MPI_Graph_neighbors_count(w->comm, w->rank, &w->in);
        MPI_Graph_neighbors(w->comm, w->rank, w->in, w->source);
        w->out = w->in;
        memcpy(w->destination, w->source, sizeof w->source);
    } else {
        MPI_Dist_graph_neighbors_count(w->comm, &w->in, &w->out, &weighted);
        MPI_Dist_graph_neighbors(w->comm, w->in, w->source, MPI_UNWEIGHTED,
                                 w->out, w->destination, MPI_UNWEIGHTED);
    }
}

/* The slot of the sender's n-th block for this process. */
static int nth_slot(const int *row, int out, int me, int n)
{
    for (int k = 0; k < out; k++)
        if (row[k] == me && n-- == 0)
            return k;
    return -1;
}

static void learn_state(struct known *w)
{
    int row[1 + DEGREE * 4], *table;

    w->rank = rank_in(w->comm);
    w->size = size_of(w->comm);
    ask_peer(w);
    row[0] = w->out;
    memcpy(row + 1, w->destination, sizeof w->destination);
    table = malloc(sizeof row * (size_t)w->size);
    MPI_Allgather(row, 1 + DEGREE * 4, MPI_INT, table, 1 + DEGREE * 4, MPI_INT,
                  w->comm);
    for (int i = 0; i < w->in; i++) {
        const int *theirs = table + w->source[i] * (1 + DEGREE * 4);
        int before = 0;
        for (int k = 0; k < i; k++)
            before += w->source[k] == w->source[i];
        w->slot[i] = w->cart ? i ^ 1
                   : nth_slot(theirs + 1, theirs[0], w->rank, before);
        CHECK(w->slot[i] >= 0);
    }
    free(table);
}

/* ---- blocks -------------------------------------------------------------- */

static int value_of(int rank, int slot, int i)
{
    return rank * 1000000 + slot * 50000 + i;
}

/* Even, sometimes 0, sometimes too large for an eager message. */
static int length_of(int rank, int slot)
{
    static const int lengths[] = {2, 0, 6, 40, 3000, 2, 18, 0};
    return lengths[(rank * 5 + slot * 3 + (int)dice_state % 8 + 8) % 8];
}

struct layout {
    int counts[DEGREE * 4], displs[DEGREE * 4];
    MPI_Aint bytes[DEGREE * 4];
    MPI_Count wide_counts[DEGREE * 4];
    MPI_Aint wide_displs[DEGREE * 4];
    MPI_Datatype types[DEGREE * 4];
};

static _Thread_local MPI_Datatype two; /* ints */

/* Blocks with an int between them. Every other one of a typed layout is of
 * pairs. */
static void lay_out(struct layout *l, int n, int typed)
{
    int at = 1;

    for (int i = 0; i < n; i++) {
        int pairs = typed && i % 2;
        l->displs[i] = at;
        l->wide_displs[i] = at;
        l->bytes[i] = (MPI_Aint)sizeof(int) * at;
        at += l->counts[i] + 1;
        l->types[i] = pairs ? two : MPI_INT;
        l->counts[i] /= pairs ? 2 : 1;
        l->wide_counts[i] = l->counts[i];
    }
}

static _Thread_local int sbuf[ROOM], rbuf[ROOM], want[ROOM];
static _Thread_local struct layout sl, rl;

static void fill_buffer(int *buf, int at, int rank, int slot, int n)
{
    for (int i = 0; i < n; i++)
        buf[at + i] = value_of(rank, slot, i);
}

/* uniform: n ints in every block; else by length_of(). same: one block to
 * all. */
static void prepare_case(const struct known *w, int uniform, int same,
                         int typed)
{
    memset(rbuf, 0xff, sizeof rbuf);
    memset(want, 0xff, sizeof want);
    for (int k = 0; k < w->out; k++)
        sl.counts[k] = length_of(w->rank, same ? 0 : k);
    for (int i = 0; i < w->in; i++)
        rl.counts[i] = w->source[i] == MPI_PROC_NULL ? 4
                     : length_of(w->source[i], same ? 0 : w->slot[i]);
    lay_out(&sl, w->out, typed);
    lay_out(&rl, w->in, typed);
    for (int k = 0; k < (same ? 1 : w->out); k++)
        fill_buffer(sbuf,
                    uniform ? k * uniform
                    : same  ? 0
                            : sl.displs[k],
                    w->rank, k, uniform ? uniform : length_of(w->rank, k));
    for (int i = 0; i < w->in; i++)
        if (w->source[i] != MPI_PROC_NULL)
            fill_buffer(want, uniform ? i * uniform : rl.displs[i],
                        w->source[i], same ? 0 : w->slot[i],
                        uniform
                            ? uniform
                            : length_of(w->source[i], same ? 0 : w->slot[i]));
}

/* Run the request of a form to its end, a persistent one twice. */
static void complete_request(enum form form, MPI_Request *r)
{
    if (form == PERSISTENT) {
        MPI_Start(r);
        MPI_Wait(r, MPI_STATUS_IGNORE);
        memset(rbuf, 0xff, sizeof rbuf);
        MPI_Start(r);
    }
    if (form != BLOCKING)
        MPI_Wait(r, MPI_STATUS_IGNORE);
    if (form == PERSISTENT)
        MPI_Request_free(r);
    CHECK(memcmp(rbuf, want, sizeof rbuf) == 0);
}

/* CALL(allgather, arguments): the operation in the given form. */
#define CALL(form, name, ...)                                                  \
    do {                                                                       \
        MPI_Request request = MPI_REQUEST_NULL;                                \
        if ((form) == BLOCKING)                                                \
            CHECK(MPI_Neighbor_##name(__VA_ARGS__) == MPI_SUCCESS);            \
        else if ((form) == NONBLOCKING)                                        \
            CHECK(MPI_Ineighbor_##name(__VA_ARGS__, &request) == MPI_SUCCESS); \
        complete_request(form, &request);                                      \
    } while (0)
#define CALL_INIT(name, ...)                                                   \
    do {                                                                       \
        MPI_Request request = MPI_REQUEST_NULL;                                \
        CHECK(MPI_Neighbor_##name(__VA_ARGS__, MPI_INFO_NULL, &request) ==     \
              MPI_SUCCESS);                                                    \
        complete_request(PERSISTENT, &request);                                \
    } while (0)

static void check_gathers(const struct known *w)
{
    int n = 2 + 2 * throw_dice(3), mine;

    for (enum form f = BLOCKING; f < PERSISTENT; f++) {
        prepare_case(w, n, 1, 0);
        CALL(f, allgather, sbuf, n, MPI_INT, rbuf, n / 2, two, w->comm);
        prepare_case(w, 0, 1, 0);
        mine = length_of(w->rank, 0);
        CALL(f, allgatherv, sbuf, mine / 2, two, rbuf, rl.counts, rl.displs,
             MPI_INT, w->comm);
    }
    prepare_case(w, n, 1, 0);
    CALL_INIT(allgather_init, sbuf, n, MPI_INT, rbuf, n, MPI_INT, w->comm);
    prepare_case(w, 0, 1, 0);
    mine = length_of(w->rank, 0);
    CALL_INIT(allgatherv_init_c, sbuf, mine, MPI_INT, rbuf, rl.wide_counts,
              rl.wide_displs, MPI_INT, w->comm);
}

static void check_exchanges(const struct known *w)
{
    int n = 2 + 2 * throw_dice(3);

    for (enum form f = BLOCKING; f < PERSISTENT; f++) {
        prepare_case(w, n, 0, 0);
        CALL(f, alltoall, sbuf, n, MPI_INT, rbuf, n / 2, two, w->comm);
        prepare_case(w, 0, 0, 0);
        CALL(f, alltoallv, sbuf, sl.counts, sl.displs, MPI_INT, rbuf,
             rl.counts, rl.displs, MPI_INT, w->comm);
        CALL(f, alltoallv_c, sbuf, sl.wide_counts, sl.wide_displs, MPI_INT,
             rbuf, rl.wide_counts, rl.wide_displs, MPI_INT, w->comm);
    }
    prepare_case(w, n, 0, 0);
    CALL_INIT(alltoall_init, sbuf, n, MPI_INT, rbuf, n, MPI_INT, w->comm);
    prepare_case(w, 0, 0, 0);
    CALL_INIT(alltoallv_init, sbuf, sl.counts, sl.displs, MPI_INT, rbuf,
              rl.counts, rl.displs, MPI_INT, w->comm);
}

static void typed_exchanges(const struct known *w)
{
    for (enum form f = BLOCKING; f < PERSISTENT; f++) {
        prepare_case(w, 0, 0, 1);
        CALL(f, alltoallw, sbuf, sl.counts, sl.bytes, sl.types, rbuf,
             rl.counts, rl.bytes, rl.types, w->comm);
    }
    prepare_case(w, 0, 0, 1);
    CALL_INIT(alltoallw_init_c, sbuf, sl.wide_counts, sl.bytes, sl.types, rbuf,
              rl.wide_counts, rl.bytes, rl.types, w->comm);
}

static void check_everything(MPI_Comm made)
{
    struct known w = {.comm = made};
    unsigned before = dice_state;

    if (made == MPI_COMM_NULL)
        return;
    learn_state(&w);
    check_gathers(&w);
    check_exchanges(&w);
    typed_exchanges(&w);
    MPI_Comm_free(&made);
    dice_state = before; /* also of those who are not in it */
}

int main(int argc, char **argv)
{
    MPI_Comm some;

    job_begin(&argc, &argv);
    MPI_Type_contiguous(2, MPI_INT, &two);
    MPI_Type_commit(&two);
    for (int n = 1; n <= size_of(MPI_COMM_WORLD) && n <= 16; n++) {
        MPI_Comm_split(MPI_COMM_WORLD,
                       rank_in(MPI_COMM_WORLD) < n ? 0 : MPI_UNDEFINED, 0,
                       &some);
        for (int seed = 0; some != MPI_COMM_NULL && seed < 5; seed++) {
            dice_state = (unsigned)(100 * n + seed);
            check_everything(random_grid(some));
            check_everything(random_graph(some));
            check_everything(random_adjacent(some));
            check_everything(random_named(some));
        }
        if (some != MPI_COMM_NULL)
            MPI_Comm_free(&some);
    }
    MPI_Type_free(&two);
    return job_end();
}
