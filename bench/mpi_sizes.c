/* This program measures every collective over sizes, usually with more ranks
 * than CPUs.
 *
 *   mpi_sizes COLLECTIVE LEAST MOST FACTOR MS
 *
 * Bytes are those of one block where each rank has one for or from each other,
 * and those of the whole vector in bcast, the reductions and scan. The root
 * goes round. The time is that of rank 0 for many calls, divided by their
 * number; before and after a batch there is a call in which everybody waits.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "repeat.h"

enum { SIZES_BATCH_US = 2000, ROOM = 16 << 20, RANKS_MOST = 256 };

struct coll {
    void (*call)(struct coll *);
    char *out, *in;
    long times;
    int n, rank, size, root; /* n: bytes */
    int counts[RANKS_MOST], displs[RANKS_MOST];
};

#define WORLD MPI_COMM_WORLD
#define NUMBERS(c) ((c)->n / (int)sizeof(float)), MPI_FLOAT

static void call_bcast(struct coll *c)
{
    MPI_Bcast(c->out, c->n, MPI_BYTE, c->root, WORLD);
}

static void call_gather(struct coll *c)
{
    MPI_Gather(c->out, c->n, MPI_BYTE, c->in, c->n, MPI_BYTE, c->root, WORLD);
}

static void call_gatherv(struct coll *c)
{
    MPI_Gatherv(c->out, c->n, MPI_BYTE, c->in, c->counts, c->displs, MPI_BYTE,
                c->root, WORLD);
}

static void call_scatter(struct coll *c)
{
    MPI_Scatter(c->out, c->n, MPI_BYTE, c->in, c->n, MPI_BYTE, c->root, WORLD);
}

static void call_scatterv(struct coll *c)
{
    MPI_Scatterv(c->out, c->counts, c->displs, MPI_BYTE, c->in, c->n, MPI_BYTE,
                 c->root, WORLD);
}

static void call_allgather(struct coll *c)
{
    MPI_Allgather(c->out, c->n, MPI_BYTE, c->in, c->n, MPI_BYTE, WORLD);
}

static void call_allgatherv(struct coll *c)
{
    MPI_Allgatherv(c->out, c->n, MPI_BYTE, c->in, c->counts, c->displs,
                   MPI_BYTE, WORLD);
}

static void call_alltoall(struct coll *c)
{
    MPI_Alltoall(c->out, c->n, MPI_BYTE, c->in, c->n, MPI_BYTE, WORLD);
}

static void call_alltoallv(struct coll *c)
{
    MPI_Alltoallv(c->out, c->counts, c->displs, MPI_BYTE, c->in, c->counts,
                  c->displs, MPI_BYTE, WORLD);
}

static void call_reduce(struct coll *c)
{
    MPI_Reduce(c->out, c->in, NUMBERS(c), MPI_SUM, c->root, WORLD);
}

static void call_allreduce(struct coll *c)
{
    MPI_Allreduce(c->out, c->in, NUMBERS(c), MPI_SUM, WORLD);
}

static void reduce_scatter(struct coll *c)
{
    int numbers[RANKS_MOST], n = c->n / (int)sizeof(float);

    for (int r = 0; r < c->size; r++)
        numbers[r] = n / c->size + (r < n % c->size);
    MPI_Reduce_scatter(c->out, c->in, numbers, MPI_FLOAT, MPI_SUM, WORLD);
}

static void reduce_scatter_block(struct coll *c)
{
    MPI_Reduce_scatter_block(c->out, c->in, NUMBERS(c), MPI_SUM, WORLD);
}

static void call_exscan(struct coll *c)
{
    MPI_Exscan(c->out, c->in, NUMBERS(c), MPI_SUM, WORLD);
}

static void finish_request(MPI_Request *r)
{
    MPI_Wait(r, MPI_STATUS_IGNORE);
}

static void call_iallreduce(struct coll *c)
{
    MPI_Request r;

    MPI_Iallreduce(c->out, c->in, NUMBERS(c), MPI_SUM, WORLD, &r);
    finish_request(&r);
}

static void call_ibcast(struct coll *c)
{
    MPI_Request r;

    MPI_Ibcast(c->out, c->n, MPI_BYTE, c->root, WORLD, &r);
    finish_request(&r);
}

static void call_ialltoall(struct coll *c)
{
    MPI_Request r;

    MPI_Ialltoall(c->out, c->n, MPI_BYTE, c->in, c->n, MPI_BYTE, WORLD, &r);
    finish_request(&r);
}

static void call_ibarrier(struct coll *c)
{
    MPI_Request r;

    (void)c;
    MPI_Ibarrier(WORLD, &r);
    finish_request(&r);
}

static void call_scan(struct coll *c)
{
    MPI_Scan(c->out, c->in, NUMBERS(c), MPI_SUM, WORLD);
}

static void call_barrier(struct coll *c)
{
    (void)c;
    MPI_Barrier(WORLD);
}

static const struct {
    const char *name;
    void (*call)(struct coll *);
    int blocks; /* each rank has one for or from each other */
} known[] = {
    {"allgather", call_allgather, 1}, {"allgatherv", call_allgatherv, 1},
    {"allreduce", call_allreduce, 0}, {"alltoall", call_alltoall, 1},
    {"alltoallv", call_alltoallv, 1}, {"barrier", call_barrier, 0},
    {"bcast", call_bcast, 0},         {"exscan", call_exscan, 0},
    {"gather", call_gather, 1},       {"gatherv", call_gatherv, 1},
    {"iallreduce", call_iallreduce, 0}, {"ialltoall", call_ialltoall, 1},
    {"ibarrier", call_ibarrier, 0},   {"ibcast", call_ibcast, 0},
    {"reduce", call_reduce, 0},       {"reduce_scatter", reduce_scatter, 0},
    {"reduce_scatter_block", reduce_scatter_block, 1},
    {"scan", call_scan, 0},           {"scatter", call_scatter, 1},
    {"scatterv", call_scatterv, 1}};

static double time_calls(void *what)
{
    struct coll *c = what;
    double start;

    MPI_Barrier(WORLD);
    start = now_us();
    for (long i = 0; i < c->times; i++) {
        c->root = (int)(i % c->size);
        c->call(c);
    }
    MPI_Barrier(WORLD);
    return (now_us() - start) / (double)c->times;
}

static void one_size(struct coll *c, int bytes, double limit_us)
{
    static double v[BATCHES];
    int n;

    c->n = bytes;
    for (int r = 0; r < c->size; r++) {
        c->counts[r] = bytes;
        c->displs[r] = r * bytes;
    }
    c->times = c->size;
    n = (int)calibrate_batch(time_calls, c, SIZES_BATCH_US);
    c->times = (long)n * c->size;
    n = repeat_batches(time_calls, c, limit_us, v);
    if (c->rank == 0)
        print_times("us", bytes, v, n);
}

int main(int argc, char **argv)
{
    struct coll c = {0};
    long most;
    size_t i = 0;

    if (argc != 6)
        return 2;
    while (i < sizeof known / sizeof known[0] && strcmp(known[i].name, argv[1]))
        i++;
    if (i == sizeof known / sizeof known[0])
        return 2;
    c.call = known[i].call;
    c.rank = start_rank(&argc, &argv);
    MPI_Comm_size(WORLD, &c.size);
    if (c.size > RANKS_MOST)
        return 2;
    most = known[i].blocks && atol(argv[3]) > ROOM / c.size ? ROOM / c.size
                                                            : atol(argv[3]);
    c.out =
        allocate_buffer((size_t)most * (known[i].blocks ? (size_t)c.size : 1));
    c.in =
        allocate_buffer((size_t)most * (known[i].blocks ? (size_t)c.size : 1));
    /* zeros: sums of random bits may be denormal */
    memset(c.out, 0, (size_t)most * (known[i].blocks ? (size_t)c.size : 1));
    for (long n = atol(argv[2]); n <= most; n = next_size(n, atol(argv[4])))
        one_size(&c, (int)n, atof(argv[5]) * 1e3);
    MPI_Finalize();
    return 0;
}
