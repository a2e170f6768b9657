/* This header repeats the measurement of every MPI program.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef BENCH_REPEAT_H
#define BENCH_REPEAT_H

#include "bench.h"

#include <mpi.h>

enum { WARM_UP = 3 };

/* Runs one batch on this rank and returns its result (that of rank 0
 * counts). */
typedef double batch_fn(void *what);

/* Run batches until rank 0 has seen limit_us go by; returns how many are in v.
 * The first ones warm up. */
static inline int repeat_batches(batch_fn *batch, void *what, double limit_us,
                         double v[BATCHES])
{
    double begin = now_us();
    int rank, n = 0, more = 1, warm = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    while (more) {
        double result = batch(what), spent = now_us() - begin;
        if (warm < WARM_UP && spent < limit_us / 2)
            warm++;
        else
            v[n++] = result;
        more = n < BATCHES && (n == 0 || spent < limit_us);
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return n;
}

/* Returns how many operations make a batch of batch_us; the fastest of a few
 * decides. */
static inline long calibrate_batch(batch_fn *one, void *what, double batch_us)
{
    double best = 1e9, begin = now_us();
    long n;
    int more = 1;

    for (int i = 0; more; i++) {
        double start = now_us(), took;
        one(what);
        took = now_us() - start;
        best = took < best ? took : best;
        more = i < 20 && now_us() - begin < 1e5;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    n = best < batch_us ? (long)(batch_us / (best + 0.05)) + 1 : 1;
    MPI_Bcast(&n, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    return n;
}

static inline int start_rank(int *argc, char ***argv)
{
    int rank;

    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bind_rank(rank);
    return rank;
}

#endif
