/* This job goes on while strangers attack it.
 *
 *   netns_attack        two ranks; lines of rank 0's input name the attack
 *
 * The ranks exchange numbered messages of 16 bytes. Whenever a line comes rank
 * 0 prints, about what the line before named, how many round trips there were,
 * the times in us of those in which no rank waited for a processor (median,
 * 99th percentile, longest), the 99th percentile of all, and the share with
 * waits. At the end of the input nothing may be left that nobody sent.
 *
 * WAITS  Where ranks and attackers share processors a rank sometimes waits for
 * one, which says nothing about the cost of strangers. The system counts that
 * time (schedstat), and both ranks read it in each round trip. Round trips with
 * a wait are left out: they also find the caches full of the attacker's data.
 * The others measure the ranks' work, the kernel's below them, and the network.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMES = 1 << 21, LOOK_EVERY = 64, STOP = -1 };

struct note {
    long number, waited; /* ns, since the note before */
};

static float calm[TIMES], whole[TIMES];
static long count, rank_sent, waits;
static int schedstat = -1;
static char now[64] = "start";
static int rank;

static void check_wrong(const char *what)
{
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

static double find_time(const float *times, long n, long i)
{
    return n > 0 ? (double)times[i] : 0;
}

static void print_report(void)
{
    long all = count < TIMES ? count : TIMES;
    long n = count - waits < TIMES ? count - waits : TIMES;

    qsort(calm, (size_t)n, sizeof *calm, by_size);
    qsort(whole, (size_t)all, sizeof *whole, by_size);
    if (all)
        printf("%s %ld %.1f %.1f %.1f %.1f %.4f\n", now, count,
               find_time(calm, n, n / 2), find_time(calm, n, n - 1 - n / 100),
               find_time(calm, n, n - 1),
               find_time(whole, all, all - 1 - all / 100),
               (double)waits / (double)count);
    fflush(stdout);
    count = waits = 0;
}

/* How long this rank has waited for a processor since it was asked last; 0
 * where the system does not say. */
static long measure_wait(void)
{
    static long before;
    char text[64];
    ssize_t n = schedstat < 0 ? -1 : pread(schedstat, text, sizeof text - 1, 0);
    long total, since;
    char *second;

    if (n <= 0)
        return 0;
    text[n] = '\0';
    second = strchr(text, ' ');
    total = second ? strtol(second, NULL, 10) : 0;
    since = total - before;
    before = total;
    return since;
}

/* One line of input, if there is one: 1, 0 without, -1 at the end. */
static int look_at(void)
{
    struct pollfd p = {.fd = 0, .events = POLLIN};
    char line[sizeof now];
    size_t n = 0;

    if (poll(&p, 1, 0) <= 0)
        return 0;
    while (n + 1 < sizeof line && read(0, line + n, 1) == 1 && line[n] != '\n')
        n++;
    print_report();
    line[n] = '\0';
    memcpy(now, line, n + 1);
    return n ? 1 : -1;
}

static void exchange_messages(long number)
{
    struct note there = {number, 0}, back;
    double since = MPI_Wtime(), us;

    MPI_Send(&there, 2, MPI_LONG, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(&back, 2, MPI_LONG, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (back.number != number)
        check_wrong("another message than the next one came");
    us = (MPI_Wtime() - since) * 1e6;
    whole[count % TIMES] = (float)us;
    if (measure_wait() > 0 || back.waited > 0)
        waits++;
    else
        calm[(count - waits) % TIMES] = (float)us;
    count++;
}

static void answer_peer(void)
{
    struct note note = {0, 0};

    for (long n = 1; note.number != STOP; n++) {
        MPI_Recv(&note, 2, MPI_LONG, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (note.number != STOP && note.number != n)
            check_wrong("another message than the next one came");
        note.waited = measure_wait();
        MPI_Send(&note, 2, MPI_LONG, 0, 1, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int stray, more = 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (rank == 1)
        answer_peer();
    while (rank == 0 && more) {
        exchange_messages(++rank_sent);
        if (rank_sent % LOOK_EVERY == 0)
            more = look_at() >= 0;
    }
    if (rank == 0)
        exchange_messages(STOP);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &stray,
               MPI_STATUS_IGNORE);
    if (stray)
        check_wrong("a message that nobody sent");
    MPI_Finalize();
    return 0;
}
