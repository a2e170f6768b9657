/* This header times single operations, for those that must not be late: the
 * distribution of their times rather than the fastest batches.
 *
 * A row is a percentile times 100; row 10000 is the longest of all.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef BENCH_PERCENTILES_H
#define BENCH_PERCENTILES_H

#include "bench.h"

static inline double time_at_percentile(const double *sorted, long n,
                                        int of_10000)
{
    long at = (long)((double)n * of_10000 / 10000);

    return sorted[at < n ? at : n - 1];
}

/* Print the percentiles of n times, and how many there are. */
static inline void print_percentiles(const char *metric, double *v, long n)
{
    static const int rows[] = {5000, 9900, 9999, 10000};

    qsort(v, (size_t)n, sizeof *v, compare_doubles);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double t = time_at_percentile(v, n, rows[i]);
        printf("%s %d %.6g %.6g\n", metric, rows[i], t, t);
    }
    printf("starts 0 %ld %ld\n", n, n);
    fflush(stdout);
}

/* Whether there is time for another operation; asked once in 1024 of them. */
static inline int has_time(long i, double began, double limit_us)
{
    return i % 1024 != 0 || now_us() - began < limit_us;
}

#endif
