/* Half round trip of blocking sends and receives, two ranks, over sizes.
 *
 *   mpi_pingpong FIRST LAST FACTOR MILLISECONDS   sizes FIRST, FIRST*FACTOR, …
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "clock.h"

#include <mpi.h>

enum { BATCHES = 400 };

static void exchange(char *buf, int size, int rank, long times)
{
    for (long i = 0; i < times; i++) {
        if (rank == 0)
            MPI_Send(buf, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(buf, size, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(buf, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
}

/* Round trips per batch, so that a batch is about 300 us: shorter than the
 * scheduler's slice, so that the best batch was not interrupted. */
static long calibrate(char *buf, int size, int rank)
{
    double best = 1e9;
    long n;

    for (int i = 0; i < 20; i++) {
        double start = now_us(), took;
        exchange(buf, size, rank, 1);
        took = now_us() - start;
        if (took < best)
            best = took;
    }
    n = best < 300 ? (long)(300 / (best + 0.1)) + 1 : 1;
    MPI_Bcast(&n, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    return n;
}

static void measure(char *buf, int size, int rank, double limit_us)
{
    static double v[BATCHES];
    long n = calibrate(buf, size, rank);
    double begin = now_us(), start = begin;
    int batches = 0, more = 1;

    while (more) {
        exchange(buf, size, rank, n);
        if (rank == 0) {
            double now = now_us();
            v[batches++] = (now - start) / (double)(2 * n);
            more = batches < BATCHES && now - begin < limit_us;
        }
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
        start = now_us();
    }
    if (rank == 0)
        print_times("half_round_trip_us", size, v, batches);
}

int main(int argc, char **argv)
{
    long first = argc > 1 ? atol(argv[1]) : 1;
    long last = argc > 2 ? atol(argv[2]) : 1;
    long factor = argc > 3 ? atol(argv[3]) : 4;
    double limit = argc > 4 ? atof(argv[4]) * 1e3 : 1e5;
    char *buf = aligned_alloc(4096, ((size_t)last + 8191) & ~(size_t)4095);
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bind_rank(rank);
    memset(buf, 1, (size_t)last + 1);
    for (long size = first; size <= last; size = size ? size * factor : 1)
        measure(buf, (int)size, rank, limit);
    MPI_Finalize();
    free(buf);
    return 0;
}
