/* This program measures partitioned communication: one round of an operation,
 * from MPI_Start to the end on both sides, and back.
 *
 *   mpi_partitioned BYTES MS     1 to 4096 partitions; half of the round trip
 *
 * It has no result with a library that is older than MPI-4.0.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "repeat.h"

#if MPI_VERSION >= 4
enum { MOST_PARTITIONS = 4096 };

struct rounds {
    MPI_Request send, receive;
    int rank, partitions;
    long times;
};

static void send_round(struct rounds *r)
{
    MPI_Start(&r->send);
    for (int i = 0; i < r->partitions; i++)
        MPI_Pready(i, r->send);
    MPI_Wait(&r->send, MPI_STATUS_IGNORE);
}

static void receive_round(struct rounds *r)
{
    MPI_Start(&r->receive);
    MPI_Wait(&r->receive, MPI_STATUS_IGNORE);
}

static double run_rounds(void *what)
{
    struct rounds *r = what;
    double start = now_us();

    for (long i = 0; i < r->times; i++) {
        if (r->rank == 0)
            send_round(r);
        receive_round(r);
        if (r->rank == 1)
            send_round(r);
    }
    return (now_us() - start) / 2 / (double)r->times;
}

static void measure_partitions(int rank, int partitions, long bytes,
                               double limit_us)
{
    static double v[BATCHES];
    char *out = allocate_buffer((size_t)bytes);
    char *in = allocate_buffer((size_t)bytes);
    struct rounds r = {.rank = rank, .partitions = partitions, .times = 1};
    int n;

    MPI_Psend_init(out, partitions, bytes / partitions, MPI_BYTE, 1 - rank, 1,
                   MPI_COMM_WORLD, MPI_INFO_NULL, &r.send);
    MPI_Precv_init(in, partitions, bytes / partitions, MPI_BYTE, 1 - rank, 1,
                   MPI_COMM_WORLD, MPI_INFO_NULL, &r.receive);
    r.times = calibrate_batch(run_rounds, &r, BATCH_US);
    n = repeat_batches(run_rounds, &r, limit_us, v);
    if (rank == 0)
        print_times("us", partitions, v, n);
    MPI_Request_free(&r.send);
    MPI_Request_free(&r.receive);
    free(out);
    free(in);
}
#endif

int main(int argc, char **argv)
{
    int rank;

    if (argc != 3)
        return 2;
    rank = start_rank(&argc, &argv);
#if MPI_VERSION >= 4
    for (int n = 1; n <= MOST_PARTITIONS; n *= 4)
        measure_partitions(rank, n, atol(argv[1]), atof(argv[2]) * 1e3);
#else
    (void)rank;
#endif
    MPI_Finalize();
    return 0;
}
