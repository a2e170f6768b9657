/* This header has what all measuring programs share: a clock, one CPU per rank,
 * a summary.
 *
 * A result is one line on standard output, which run.py reads:
 *     metric row best median
 * row: bytes, ranks or depth. best: the luckiest batch, what the code can do;
 * median: what it mostly does. Lines leave at once, so that those of a program
 * that is cut off later are not lost.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef BENCH_H
#define BENCH_H

#define _GNU_SOURCE
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    BATCHES = 400, /* at most, of one result */
    BATCH_US = 300 /* shorter than the scheduler's slice: the best batch was
                      not interrupted */
};

static inline double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static inline void sleep_us(long us)
{
    struct timespec t = {us / 1000000, us % 1000000 * 1000};

    nanosleep(&t, NULL);
}

/* The CPUs of the process before anything is bound: threads inherit the mask of
 * the thread that starts them. */
static cpu_set_t bench_cpus;

__attribute__((constructor)) static void note_cpus(void)
{
    if (sched_getaffinity(0, sizeof bench_cpus, &bench_cpus) != 0)
        CPU_ZERO(&bench_cpus);
}

/* Bind a rank to the r-th usable CPU: the same placement for every library. */
static inline void bind_rank(int rank)
{
    cpu_set_t one;
    int n = CPU_COUNT(&bench_cpus), skip;

    if (n == 0)
        return;
    skip = rank % n;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &bench_cpus) && skip-- == 0) {
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
            return;
        }
}

/* Returns page-aligned memory that has been touched, so that no page fault is
 * measured. */
static inline char *allocate_buffer(size_t n)
{
    size_t room = (n + 4096) & ~(size_t)4095;
    char *p = aligned_alloc(4096, room);

    if (p == NULL) {
        perror("bench");
        exit(1);
    }
    memset(p, 1, room);
    return p;
}

/* Returns the next size of a series; a factor below 2 ends the series. */
static inline long next_size(long size, long factor)
{
    if (size == 0)
        return 1;
    return factor > 1 ? size * factor : LONG_MAX;
}

static inline int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Print times, of which the smallest is the best. */
static inline void print_times(const char *metric, long row, double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, compare_doubles);
    printf("%s %ld %.6g %.6g\n", metric, row, v[0], v[n / 2]);
    fflush(stdout);
}

/* Print rates made from microseconds per `amount`: bytes / 1000 for GB/s. */
static inline void print_rates(const char *metric, long row, double *v, int n,
                               double amount)
{
    qsort(v, (size_t)n, sizeof *v, compare_doubles);
    printf("%s %ld %.6g %.6g\n", metric, row, amount / v[0], amount / v[n / 2]);
    fflush(stdout);
}

#endif
