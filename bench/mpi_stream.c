/* One-way streams: windows of nonblocking operations, then a short answer.
 *
 *   mpi_stream FIRST LAST FACTOR WINDOW MILLISECONDS
 *
 * Prints bandwidth and message rate. A window is at most 4 MB or two messages:
 * short enough that the best one was not interrupted. Each of its messages has
 * its own buffer.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "clock.h"

#include <mpi.h>

enum { BATCHES = 400, WINDOW_MAX = 256, ROOM = 32 << 20, SHARE = 4 << 20 };

static MPI_Request reqs[WINDOW_MAX];

static int window_length(long size, int wanted)
{
    long fit = SHARE / size;

    return fit >= wanted ? wanted : fit > 2 ? (int)fit : 2;
}

static void window(char *base, int size, int n, int rank)
{
    char answer = 0;

    for (int i = 0; i < n; i++) {
        char *buf = base + (size_t)i * (size_t)size;
        if (rank == 0)
            MPI_Isend(buf, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &reqs[i]);
        else
            MPI_Irecv(buf, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &reqs[i]);
    }
    MPI_Waitall(n, reqs, MPI_STATUSES_IGNORE);
    if (rank == 0)
        MPI_Recv(&answer, 1, MPI_BYTE, 1, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    else
        MPI_Send(&answer, 1, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
}

static void report(int size, int n, double *v, int batches)
{
    print_rates("stream_gbs", size, v, batches, (double)size * n);
    printf("rate_mps %d %.6g %.6g\n", size, n / v[0], n / v[batches / 2]);
}

static void measure(char *base, int size, int n, int rank, double limit_us)
{
    static double v[BATCHES];
    int batches = 0, more = 1;
    double begin;

    for (int i = 0; i < 3; i++)
        window(base, size, n, rank);
    begin = now_us();
    while (more) {
        double start = now_us();
        window(base, size, n, rank);
        if (rank == 0) {
            v[batches++] = now_us() - start;
            more = batches < BATCHES && now_us() - begin < limit_us;
        }
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        report(size, n, v, batches);
}

int main(int argc, char **argv)
{
    long first = argc > 1 ? atol(argv[1]) : 8;
    long last = argc > 2 ? atol(argv[2]) : 8;
    long factor = argc > 3 ? atol(argv[3]) : 4;
    int n = argc > 4 ? atoi(argv[4]) : 64;
    double limit = argc > 5 ? atof(argv[5]) * 1e3 : 1e5;
    char *base = aligned_alloc(4096, ROOM);
    int rank;

    if (n < 1 || n > WINDOW_MAX || first < 1 || last > ROOM / 2)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bind_rank(rank);
    memset(base, 1, ROOM);
    for (long size = first; size <= last; size *= factor)
        measure(base, (int)size, window_length(size, n), rank, limit);
    MPI_Finalize();
    free(base);
    return 0;
}
