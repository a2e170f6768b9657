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

static struct data begin(int n)
{
    struct data d = {n, (int *)sweep_memory(2 * n * 4),
                     (int *)sweep_memory(2 * n * 4)};
    for (int i = 0; i < 2 * n; i++)
        d.out[i] = i + sweep_rank;
    return d;
}

static void end(struct data *d)
{
    free(d->out);
    free(d->in);
}

static void moves(struct data *d)
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

static void folds(struct data *d)
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

static void blocking(int n)
{
    struct data d = begin(n);
    moves(&d);
    folds(&d);
    end(&d);
}

static void small(void)
{
    blocking(SMALL);
}

static void large(void)
{
    blocking(LARGE);
}

static void nonblocking(int n)
{
    struct data a = begin(n), b = begin(n), c = begin(n), e = begin(n);
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
    end(&a);
    end(&b);
    end(&c);
    end(&e);
}

static void nonblocking_small(void)
{
    nonblocking(SMALL);
}

static void nonblocking_large(void)
{
    nonblocking(LARGE);
}

static void persistent(void)
{
    struct data d = begin(SMALL);
    MPI_Request r;
    ONCE(MPI_Allreduce_init(d.out, d.in, SMALL, MPI_INT, MPI_SUM,
                            MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    for (int i = 0; i < 3; i++) {
        ONCE(MPI_Start(&r));
        ONCE(MPI_Wait(&r, MPI_STATUS_IGNORE));
        RIGHT(d.in[SMALL - 1] == 2 * SMALL - 1);
    }
    ONCE(MPI_Request_free(&r));
    end(&d);
}

static void vectors(void)
{
    struct data d = begin(SMALL);
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
    end(&d);
}

const struct sweep_phase sweep_coll[] = {
    {"coll_first", small, 1},
    {"coll_small", small, 0},
    {"coll_large", large, 0},
    {"coll_nonblocking", nonblocking_small, 0},
    {"coll_nonblocking_large", nonblocking_large, 0},
    {"coll_persistent", persistent, 0},
    {"coll_vectors", vectors, 0},
    {NULL, NULL, 0}};
