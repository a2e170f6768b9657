/* weft-info --tune-rank HOW FIRST LAST FACTOR MS is one of two ranks that
 * measure.
 *
 * Rank 0 prints "bytes microseconds" per message for each size.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "tune.h"

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW_MAX = 64, SHARE = 4 << 20, SAMPLES = 200, BATCH_US = 200 };

struct pair {
    char *buf;
    int size, rank, window;
    MPI_Request reqs[WINDOW_MAX];
};

static void exchange_once(struct pair *p)
{
    if (p->rank == 0)
        MPI_Send(p->buf, p->size, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(p->buf, p->size, MPI_BYTE, 1 - p->rank, 1, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    if (p->rank == 1)
        MPI_Send(p->buf, p->size, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
}

/* Send a window of messages, each with its own buffer, and wait for an empty
 * answer. */
static void send_window(struct pair *p)
{
    for (int i = 0; i < p->window; i++) {
        char *buf = p->buf + (size_t)i * (size_t)p->size;
        if (p->rank == 0)
            MPI_Isend(buf, p->size, MPI_BYTE, 1, 1, MPI_COMM_WORLD,
                      &p->reqs[i]);
        else
            MPI_Irecv(buf, p->size, MPI_BYTE, 0, 1, MPI_COMM_WORLD,
                      &p->reqs[i]);
    }
    MPI_Waitall(p->window, p->reqs, MPI_STATUSES_IGNORE);
    if (p->rank == 0)
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
}

static double batch_us(struct pair *p, long times)
{
    double start = MPI_Wtime();
    for (long i = 0; i < times; i++) {
        if (p->window > 0)
            send_window(p);
        else
            exchange_once(p);
    }
    return (MPI_Wtime() - start) * 1e6 / (double)times;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns the median of the batches that fit into the time; rank 0 decides when
 * to end. */
static double measure_pair(struct pair *p, double limit_us)
{
    double v[SAMPLES], once = batch_us(p, 3);
    long times = once < BATCH_US ? (long)(BATCH_US / once) + 1 : 1;
    MPI_Bcast(&times, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    double end = MPI_Wtime() + limit_us / 1e6;
    int n = 0, more = 1;
    while (more) {
        v[n++] = batch_us(p, times);
        more = n < SAMPLES && MPI_Wtime() < end;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    qsort(v, (size_t)n, sizeof *v, compare_doubles);
    return v[n / 2] / (p->window > 0 ? p->window : 2);
}

/* Returns the messages per window: as many as wanted while they are 4 MB
 * together. */
static int window_of(const char *how, long size)
{
    int wanted = strcmp(how, "rate") == 0     ? WINDOW_MAX
                 : strcmp(how, "stream") == 0 ? 16
                                              : 0;
    long fit = SHARE / size;
    return fit >= wanted ? wanted : fit > 2 ? (int)fit : 2;
}

/* Bind each rank to a CPU. The launcher must not do that: a process that starts
 * with a single CPU assumes that others share it and does not spin. */
static void bind_rank(int rank)
{
    cpu_set_t all, one;
    int skip;
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    skip = rank % CPU_COUNT(&all);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &all) && skip-- == 0)
            CPU_SET(cpu, &one);
    }
    (void)!sched_setaffinity(0, sizeof one, &one);
}

int info_tune_rank(int argc, char **argv)
{
    struct trial_kind k = {.how = argc == 5 ? argv[0] : NULL};
    struct pair p;
    int ranks;
    if (k.how == NULL)
        return 2;
    k.first = atol(argv[1]);
    k.last = atol(argv[2]);
    k.factor = atol(argv[3]);
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bind_rank(p.rank);
    p.buf = calloc(3, (size_t)(k.last > SHARE ? k.last : SHARE));
    if (p.buf == NULL || ranks != 2 || k.first < 1 || k.factor < 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (long size = k.first; size <= k.last; size *= k.factor) {
        p.size = (int)size;
        p.window = window_of(k.how, size);
        double us = measure_pair(&p, atof(argv[4]) * 1e3);
        if (p.rank == 0)
            printf("%ld %.6g\n", size, us);
    }
    MPI_Finalize();
    free(p.buf);
    return 0;
}
