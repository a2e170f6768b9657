/* This program measures collective operations, usually with more ranks than
 * CPUs.
 *
 *   mpi_coll barrier|allreduce|alltoall MS       8 bytes, 1 KB per pair
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "repeat.h"

enum { BLOCK = 1024, COLL_BATCH_US = 5000 };

struct coll {
    void (*call)(struct coll *);
    char *out, *in;
    long times;
};

static void call_barrier(struct coll *c)
{
    (void)c;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void call_allreduce(struct coll *c)
{
    MPI_Allreduce(c->out, c->in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void call_alltoall(struct coll *c)
{
    MPI_Alltoall(c->out, BLOCK, MPI_BYTE, c->in, BLOCK, MPI_BYTE,
                 MPI_COMM_WORLD);
}

static double run_calls(void *what)
{
    struct coll *c = what;
    double start = now_us();

    for (long i = 0; i < c->times; i++)
        c->call(c);
    return (now_us() - start) / (double)c->times;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*call)(struct coll *);
    } known[] = {{"barrier", call_barrier},
                 {"allreduce", call_allreduce},
                 {"alltoall", call_alltoall}};
    static double v[BATCHES];
    struct coll c = {.times = 1};
    int rank, size, n;

    for (size_t i = 0; argc == 3 && i < sizeof known / sizeof known[0]; i++)
        if (strcmp(argv[1], known[i].name) == 0)
            c.call = known[i].call;
    if (c.call == NULL)
        return 2;
    rank = start_rank(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    c.out = allocate_buffer((size_t)size * BLOCK);
    c.in = allocate_buffer((size_t)size * BLOCK);
    c.times = calibrate_batch(run_calls, &c, COLL_BATCH_US);
    n = repeat_batches(run_calls, &c, atof(argv[2]) * 1e3, v);
    if (rank == 0)
        print_times("us", size, v, n);
    MPI_Finalize();
    return 0;
}
