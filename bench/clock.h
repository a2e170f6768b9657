/* What all measuring programs share: a clock, one CPU per rank, a summary.
 *
 * Every sample is one line on standard output, which run.py reads:
 *     name size best median
 * best: the luckiest batch, what the code can do; median: what it mostly does.
 * On a machine with other work the first is the steadier of the two.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* The same placement for every library: rank r on the r-th CPU we may use. */
static inline void bind_rank(int rank)
{
    cpu_set_t all, one;
    int n, skip;

    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    n = CPU_COUNT(&all);
    skip = rank % n;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && skip-- == 0) {
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
            return;
        }
}

static inline int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* For times: the smallest is the best. */
static inline void print_times(const char *name, long size, double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, ascending);
    printf("%s %ld %.6g %.6g\n", name, size, v[0], v[n / 2]);
}

/* Microseconds per `bytes` become GB/s. */
static inline void print_rates(const char *name, long size, double *v, int n,
                               double bytes)
{
    qsort(v, (size_t)n, sizeof *v, ascending);
    printf("%s %ld %.6g %.6g\n", name, size, bytes / v[0] / 1e3,
           bytes / v[n / 2] / 1e3);
}

#endif
