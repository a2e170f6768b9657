/* A job that goes on while strangers are at its doors.
 *
 *   netns_siege        two ranks; lines of rank 0's input name what happens now
 *
 * The ranks exchange numbered messages of 8 bytes. Whenever a line comes rank 0
 * prints, about what the line before named, how many round trips there were and
 * their times in us (median, 99th percentile, longest). At the end of the input
 * nothing may be left that nobody sent.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMES = 1 << 21, LOOK_EVERY = 64, STOP = -1 };

static float times[TIMES];
static long count, rank_sent;
static char now[64] = "start";
static int rank;

static void wrong(const char *what)
{
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

static void report(void)
{
    long n = count < TIMES ? count : TIMES;

    qsort(times, (size_t)n, sizeof *times, by_size);
    if (n)
        printf("%s %ld %.1f %.1f %.1f\n", now, count, (double)times[n / 2],
               (double)times[n - 1 - n / 100], (double)times[n - 1]);
    fflush(stdout);
    count = 0;
}

/* One line of input, if there is one: 1, 0 without, -1 at the end. */
static int look(void)
{
    struct pollfd p = {.fd = 0, .events = POLLIN};
    char line[sizeof now];
    size_t n = 0;

    if (poll(&p, 1, 0) <= 0)
        return 0;
    while (n + 1 < sizeof line && read(0, line + n, 1) == 1 && line[n] != '\n')
        n++;
    report();
    line[n] = '\0';
    memcpy(now, line, n + 1);
    return n ? 1 : -1;
}

static void exchange(long number)
{
    long back;
    double since = MPI_Wtime();

    MPI_Send(&number, 1, MPI_LONG, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(&back, 1, MPI_LONG, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (back != number)
        wrong("another message than the next one came");
    times[count++ % TIMES] = (float)((MPI_Wtime() - since) * 1e6);
}

static void answer(void)
{
    long number = 0;

    for (long n = 1; number != STOP; n++) {
        MPI_Recv(&number, 1, MPI_LONG, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (number != STOP && number != n)
            wrong("another message than the next one came");
        MPI_Send(&number, 1, MPI_LONG, 0, 1, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int stray, open = 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1)
        answer();
    while (rank == 0 && open) {
        exchange(++rank_sent);
        if (rank_sent % LOOK_EVERY == 0)
            open = look() >= 0;
    }
    if (rank == 0)
        exchange(STOP);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &stray,
               MPI_STATUS_IGNORE);
    if (stray)
        wrong("a message that nobody sent");
    MPI_Finalize();
    return 0;
}
