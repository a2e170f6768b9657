/* weft-info --tune-collectives: which algorithm is fastest on this machine.
 *
 *   tune_coll.c       what is tried and chosen, the fragment
 *   tune_coll_rank.c  the ranks that measure: mpirun -n N weft-info
 *                     --tune-collective-rank NAME MS
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WEFT_TUNE_COLL_H
#define WEFT_TUNE_COLL_H

#include <stdbool.h>
#include <stddef.h>

#include "coll/choice.h"
#include "tune.h"

/* 64 bytes, 512, 4K, ..., 2M; of blocks, of which each rank has as many as there
 * are ranks, to 256K. */
enum { COLL_SIZES = 6, COLL_BLOCK_SIZES = 5, COLL_ENOUGH = 2 };

/* One algorithm, measured in several rounds. */
struct coll_trial {
    const char *algorithm;
    int sizes, rounds;
    double us[COLL_SIZES][TUNE_ROUNDS];
};

/* Of n trials, of which the first is the built-in choice. */
int tune_coll_best(const struct coll_trial *, int n, int size);
/* The rules where another one is better, as in mpi.ini; empty: nowhere. */
void tune_coll_rules(const struct coll_trial *, int n, int ranks, char *out,
                     size_t room);

/* Exit codes. */
int info_tune_collectives(const char *ranks, const char *only, double seconds);
int info_tune_collective_rank(int argc, char **argv);

#endif
