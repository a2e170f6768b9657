/* This program measures the throughput of a network that loses packets.
 *
 *   netns_goodput stream SIZE COUNT SECONDS   windows of COUNT messages, each
 *                                             with a tag of its own, then an
 *                                             answer; MB/s of it all
 *   netns_goodput pong SIZE SECONDS           back and forth; microseconds of a
 *                                             round trip
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 256, TRIPS = 1 << 20, ANSWER = COUNT_MAX };

static int rank, size;
static double trip[TRIPS];

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The other side is told whether there is another turn. */
static int answer_peer(int more)
{
    if (rank == 0)
        MPI_Send(&more, 1, MPI_INT, 1, ANSWER, MPI_COMM_WORLD);
    else
        MPI_Recv(&more, 1, MPI_INT, 0, ANSWER, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    return more;
}

static void send_window(char *data, int count)
{
    MPI_Request r[COUNT_MAX];

    for (int i = 0; i < count; i++) {
        char *at = data + (size_t)i * (size_t)size;
        if (rank == 0)
            MPI_Isend(at, size, MPI_BYTE, 1, i, MPI_COMM_WORLD, &r[i]);
        else
            MPI_Irecv(at, size, MPI_BYTE, 0, i, MPI_COMM_WORLD, &r[i]);
    }
    MPI_Waitall(count, r, MPI_STATUSES_IGNORE);
    if (rank == 0)
        MPI_Recv(NULL, 0, MPI_BYTE, 1, ANSWER, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_BYTE, 0, ANSWER, MPI_COMM_WORLD);
}

static void send_stream(int count, double seconds)
{
    char *data = calloc((size_t)count, (size_t)size);
    double begin = MPI_Wtime(), spent;
    long n = 0;

    do {
        send_window(data, count);
        n++;
        spent = MPI_Wtime() - begin;
    } while (answer_peer(spent < seconds));
    if (rank == 0)
        printf("%.2f\n", (double)n * count * size / spent / 1e6);
    free(data);
}

static void run_pingpong(double seconds)
{
    char *data = calloc(1, (size_t)size + 1);
    double end = MPI_Wtime() + seconds, since = 0;
    int more = 1, n = 0;

    while (more) {
        since = MPI_Wtime();
        more = since < end && n < TRIPS;
        /* the last is marked by its tag: a word of its own would be a trip */
        if (rank == 0)
            MPI_Send(data, size, MPI_BYTE, 1, more, MPI_COMM_WORLD);
        MPI_Status s;
        MPI_Recv(data, size, MPI_BYTE, !rank, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
        more = s.MPI_TAG;
        if (rank == 1)
            MPI_Send(data, size, MPI_BYTE, 0, more, MPI_COMM_WORLD);
        else if (more)
            trip[n++] = (MPI_Wtime() - since) * 1e6;
    }
    qsort(trip, (size_t)n, sizeof *trip, by_value);
    if (rank == 0 && n)
        printf("%.1f %.1f %.1f\n", trip[n / 2], trip[n - 1 - n / 100],
               trip[n - 1 - n / 1000]);
    free(data);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    size = argc > 2 ? atoi(argv[2]) : 0;
    if (argc == 5 && !strcmp(argv[1], "stream") && atoi(argv[3]) <= COUNT_MAX)
        send_stream(atoi(argv[3]), atof(argv[4]));
    else if (argc == 4 && !strcmp(argv[1], "pong"))
        run_pingpong(atof(argv[3]));
    else
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Finalize();
    return 0;
}
