/* The phases of sweep_job that are collective operations.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sweep_job.h"

enum { SMALL = 3, LARGE = 60000 };

/* Every collective of n ints per rank, on two ranks. */
struct data {
    int n;
    int *out, *in;
};

static struct data begin_case(int n)
{
    struct data d = {n, (int *)sweep_memory(2 * n * 4),
                     (int *)sweep_memory(2 * n * 4)};
    for (int i = 0; i < 2 * n; i++)
        d.out[i] = i + sweep_rank;
    return d;
}

static void end_case(struct data *d)
{
    free(d->out);
    free(d->in);
}

static void check_moves(struct data *d)
{
    int n = d->n, me = sweep_rank;
    MPI_Comm w = MPI_COMM_WORLD;
    if (me == 1)
        memcpy(d->in, d->out, (size_t)n * 4);
    ONCE(MPI_Bcast(d->in, n, MPI_INT, 1, w));
    RIGHT(d->in[n - 1] == n);
    ONCE(MPI_Gather(d->out, n, MPI_INT, d->in, n, MPI_INT, 0, w));
    RIGHT(me || d->in[2 * n - 1] == n);
    ONCE(MPI_Scatter(d->out, n, MPI_INT, d->in, n, MPI_INT, 1, w));
    RIGHT(d->in[0] == me * n + 1);
    ONCE(MPI_Allgather(d->out, n, MPI_INT, d->in, n, MPI_INT, w));
    RIGHT(d->in[n - 1] == n - 1 && d->in[2 * n - 1] == n);
    ONCE(MPI_Alltoall(d->out, n, MPI_INT, d->in, n, MPI_INT, w));
    RIGHT(d->in[n] == me * n + 1);
}

static void check_folds(struct data *d)
{
    int n = d->n, me = sweep_rank;
    MPI_Comm w = MPI_COMM_WORLD;
    ONCE(MPI_Barrier(w));
    ONCE(MPI_Reduce(d->out, d->in, n, MPI_INT, MPI_SUM, 0, w));
    RIGHT(me || d->in[n - 1] == 2 * n - 1);
    ONCE(MPI_Allreduce(d->out, d->in, n, MPI_INT, MPI_MAX, w));
    RIGHT(d->in[n - 1] == n);
    ONCE(MPI_Reduce_scatter_block(d->out, d->in, n, MPI_INT, MPI_SUM, w));
    RIGHT(d->in[0] == 2 * me * n + 1);
    ONCE(MPI_Scan(d->out, d->in, n, MPI_INT, MPI_SUM, w));
    RIGHT(d->in[0] == me);
}

static void check_blocking(int n)
{
    struct data d = begin_case(n);
    check_moves(&d);
    check_folds(&d);
    end_case(&d);
}

static void check_small(void)
{
    check_blocking(SMALL);
}

static void check_large(void)
{
    check_blocking(LARGE);
}

static void check_nonblocking(int n)
{
    struct data a = begin_case(n), b = begin_case(n), c = begin_case(n),
                e = begin_case(n);
    MPI_Request r[5];
    MPI_Comm w = MPI_COMM_WORLD;
    ONCE(MPI_Ibarrier(w, &r[0]));
    ONCE(MPI_Iallreduce(a.out, a.in, n, MPI_INT, MPI_SUM, w, &r[1]));
    ONCE(MPI_Ibcast(b.out, n, MPI_INT, 0, w, &r[2]));
    ONCE(MPI_Ialltoall(c.out, n, MPI_INT, c.in, n, MPI_INT, w, &r[3]));
    ONCE(MPI_Iallgather(e.out, n, MPI_INT, e.in, n, MPI_INT, w, &r[4]));
    ONCE(MPI_Waitall(5, r, MPI_STATUSES_IGNORE));
    RIGHT(a.in[n - 1] == 2 * n - 1);
    RIGHT(b.out[n - 1] == n - 1);
    RIGHT(c.in[n] == sweep_rank * n + 1);
    RIGHT(e.in[2 * n - 1] == n);
    end_case(&a);
    end_case(&b);
    end_case(&c);
    end_case(&e);
}

static void nonblocking_small(void)
{
    check_nonblocking(SMALL);
}

static void nonblocking_large(void)
{
    check_nonblocking(LARGE);
}

/* Starts r three times, and leaves it to be freed. */
static void run_case(MPI_Request *r)
{
    for (int i = 0; i < 3; i++) {
        ONCE(MPI_Start(r));
        ONCE(MPI_Wait(r, MPI_STATUS_IGNORE));
    }
    ONCE(MPI_Request_free(r));
}

static void check_persistent(void)
{
    struct data d = begin_case(SMALL);
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Info no = MPI_INFO_NULL;
    MPI_Request r;
    ONCE(MPI_Allreduce_init(d.out, d.in, SMALL, MPI_INT, MPI_SUM, w, no, &r));
    run_case(&r);
    RIGHT(d.in[SMALL - 1] == 2 * SMALL - 1);
    ONCE(MPI_Barrier_init(w, no, &r));
    run_case(&r);
    ONCE(MPI_Alltoall_init(d.out, SMALL, MPI_INT, d.in, SMALL, MPI_INT, w, no,
                           &r));
    run_case(&r);
    RIGHT(d.in[SMALL] == sweep_rank * SMALL + 1);
    ONCE(MPI_Gather_init(d.out, SMALL, MPI_INT, d.in, SMALL, MPI_INT, 0, w, no,
                         &r));
    run_case(&r);
    RIGHT(sweep_rank || d.in[2 * SMALL - 1] == SMALL);
    ONCE(MPI_Bcast_init(d.out, SMALL, MPI_INT, 0, w, no, &r));
    run_case(&r);
    RIGHT(d.out[SMALL - 1] == SMALL - 1);
    end_case(&d);
}

static void check_vectors(void)
{
    struct data d = begin_case(SMALL);
    int counts[] = {2, 1}, at[] = {0, 2}, each[] = {1, 1}, one[] = {0, 1};
    int mine = counts[sweep_rank];
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Datatype types[] = {MPI_INT, MPI_INT};
    int bytes[] = {0, 4};
    ONCE(MPI_Gatherv(d.out, mine, MPI_INT, d.in, counts, at, MPI_INT, 0, w));
    RIGHT(sweep_rank || d.in[2] == 1);
    ONCE(MPI_Scatterv(d.out, counts, at, MPI_INT, d.in, mine, MPI_INT, 0, w));
    RIGHT(d.in[0] == 2 * sweep_rank);
    ONCE(MPI_Allgatherv(d.out, mine, MPI_INT, d.in, counts, at, MPI_INT, w));
    RIGHT(d.in[0] == 0 && d.in[2] == 1);
    ONCE(MPI_Alltoallv(d.out, each, one, MPI_INT, d.in, each, one, MPI_INT, w));
    RIGHT(d.in[1] == sweep_rank + 1);
    ONCE(MPI_Alltoallw(d.out, each, bytes, types, d.in, each, bytes, types, w));
    RIGHT(d.in[1] == sweep_rank + 1);
    ONCE(MPI_Reduce_scatter(d.out, d.in, counts, MPI_INT, MPI_SUM, w));
    RIGHT(d.in[0] == 4 * sweep_rank + 1);
    ONCE(MPI_Exscan(d.out, d.in, 1, MPI_INT, MPI_SUM, w));
    end_case(&d);
}

static void add_item(void *in, void *inout, int *n, MPI_Datatype *t)
{
    (void)t;
    for (int i = 0; i < 2 * *n; i += 2)
        ((int *)inout)[i] += ((int *)in)[i];
}

/* An operation and a datatype of the program's, in place. */
static void check_operations(void)
{
    struct data d = begin_case(LARGE);
    MPI_Datatype every_other;
    MPI_Op op;
    MPI_Comm w = MPI_COMM_WORLD;
    int first = 0;
    ONCE(MPI_Type_create_resized(MPI_INT, 0, 8, &every_other));
    ONCE(MPI_Type_commit(&every_other));
    ONCE(MPI_Op_create(add_item, 1, &op));
    ONCE(MPI_Allreduce(MPI_IN_PLACE, d.out, LARGE, every_other, op, w));
    RIGHT(d.out[2] == 5 && d.out[3] == 3 + sweep_rank);
    ONCE(MPI_Bcast(d.out, LARGE, every_other, 1, w));
    RIGHT(d.out[2] == 5 && d.out[3] == 3 + sweep_rank);
    ONCE(MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, d.out, LARGE / 2, every_other,
                       w));
    ONCE(MPI_Reduce(&sweep_rank, &first, 1, MPI_INT, MPI_SUM, 1, w));
    RIGHT(!sweep_rank || first == 1);
    ONCE(MPI_Op_free(&op));
    ONCE(MPI_Type_free(&every_other));
    end_case(&d);
}

/* Between two groups of one rank. */
static void check_inter(void)
{
    struct data d = begin_case(SMALL);
    MPI_Comm mine, both;
    int peer = 1 - sweep_rank, to = sweep_rank ? 0 : MPI_ROOT;
    ONCE(MPI_Comm_split(MPI_COMM_WORLD, sweep_rank, 0, &mine));
    ONCE(MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, peer, 3, &both));
    ONCE(MPI_Barrier(both));
    ONCE(MPI_Allreduce(d.out, d.in, SMALL, MPI_INT, MPI_SUM, both));
    RIGHT(d.in[1] == 1 + peer);
    ONCE(MPI_Allgather(d.out, SMALL, MPI_INT, d.in, SMALL, MPI_INT, both));
    RIGHT(d.in[1] == 1 + peer);
    ONCE(MPI_Alltoall(d.out, SMALL, MPI_INT, d.in, SMALL, MPI_INT, both));
    RIGHT(d.in[1] == 1 + peer);
    ONCE(MPI_Bcast(d.out, SMALL, MPI_INT, to, both));
    RIGHT(d.out[1] == 1);
    ONCE(MPI_Comm_free(&both));
    ONCE(MPI_Comm_free(&mine));
    end_case(&d);
}

/* Each has the other as its neighbour, on both sides. */
static void check_neighbours(void)
{
    struct data d = begin_case(SMALL);
    int dims[] = {2}, periods[] = {1}, one[] = {1, 1}, at[] = {0, 1};
    int peer = 1 - sweep_rank;
    MPI_Aint bytes[] = {0, 4};
    MPI_Datatype types[] = {MPI_INT, MPI_INT};
    MPI_Comm c;
    MPI_Request r;
    ONCE(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &c));
    ONCE(MPI_Neighbor_allgather(d.out, 1, MPI_INT, d.in, 1, MPI_INT, c));
    RIGHT(d.in[0] == peer && d.in[1] == peer);
    ONCE(MPI_Neighbor_allgatherv(d.out, 1, MPI_INT, d.in, one, at, MPI_INT, c));
    RIGHT(d.in[0] == peer && d.in[1] == peer);
    ONCE(MPI_Neighbor_alltoall(d.out, 1, MPI_INT, d.in, 1, MPI_INT, c));
    RIGHT(d.in[0] == peer + 1 && d.in[1] == peer);
    ONCE(MPI_Neighbor_alltoallv(d.out, one, at, MPI_INT, d.in, one, at, MPI_INT,
                                c));
    RIGHT(d.in[0] == peer + 1 && d.in[1] == peer);
    ONCE(MPI_Neighbor_alltoallw(d.out, one, bytes, types, d.in, one, bytes,
                                types, c));
    RIGHT(d.in[0] == peer + 1 && d.in[1] == peer);
    ONCE(MPI_Ineighbor_alltoall(d.out, 1, MPI_INT, d.in, 1, MPI_INT, c, &r));
    ONCE(MPI_Wait(&r, MPI_STATUS_IGNORE));
    RIGHT(d.in[0] == peer + 1 && d.in[1] == peer);
    ONCE(MPI_Neighbor_allgather_init(d.out, 1, MPI_INT, d.in, 1, MPI_INT, c,
                                     MPI_INFO_NULL, &r));
    run_case(&r);
    RIGHT(d.in[0] == peer && d.in[1] == peer);
    ONCE(MPI_Comm_free(&c));
    end_case(&d);
}

const struct sweep_phase sweep_coll[] = {
    {"coll_first", check_small, 1},
    {"coll_small", check_small, 0},
    {"coll_large", check_large, 0},
    {"coll_nonblocking", nonblocking_small, 0},
    {"coll_nonblocking_large", nonblocking_large, 0},
    {"coll_persistent", check_persistent, 0},
    {"coll_vectors", check_vectors, 0},
    {"coll_operations", check_operations, 0},
    {"coll_inter", check_inter, 0},
    {"neighbours", check_neighbours, 0},
    {NULL, NULL, 0}};
