/* For job programs: vectors of doubles whose values say which rank contributed
 * them, at which place and in which round, and their sums.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef JOB_VECTORS_H
#define JOB_VECTORS_H

#include "check.h"

static inline double *allocate_room(size_t n)
{
    double *p = calloc(n, sizeof *p);

    CHECK(p != NULL);
    return p;
}

static inline double value_of(int rank, int i, int round)
{
    return rank * 1000 + i % 97 + round;
}

static inline double sum_of(int size, int i, int round)
{
    return 1000.0 * size * (size - 1) / 2 + size * (double)(i % 97 + round);
}

static inline int is_same(int n, int size, int round, const double *got)
{
    for (int i = 0; i < n; i++)
        if (got[i] != sum_of(size, i, round))
            return 0;
    return 1;
}

/* Blocks of n, the one of rank r is what it contributed from `first` on. */
static inline int are_blocks(int n, int size, int first, int round,
                             const double *got)
{
    for (int r = 0; r < size; r++)
        for (int i = 0; i < n; i++)
            if (got[r * n + i] != value_of(r, first + i, round))
                return 0;
    return 1;
}

#endif
