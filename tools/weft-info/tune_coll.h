/* weft-info --tune-collectives finds the fastest algorithms on this machine.
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

#include "config/coll_rules.h"
#include "tune.h"

/* The sizes are 64 bytes, 512, 4K, ..., 2M; those of blocks, of which each rank
 * has as many as there are ranks, end at 256K. */
enum { COLL_SIZES = 6, COLL_BLOCK_SIZES = 5, COLL_ENOUGH = 2 };

/* A trial is one algorithm, measured in several rounds. */
struct coll_trial {
    const char *algorithm;
    int sizes, rounds;
    double us[COLL_SIZES][TUNE_ROUNDS];
};

/* Returns the best of n trials, of which the first is the built-in choice. */
int tune_coll_best(const struct coll_trial *, int n, int size);
/* Write the rules, as in mpi.ini, for sizes at which another algorithm is
 * better; the text is empty if there are none. */
void tune_coll_rules(const struct coll_trial *, int n, int ranks, char *out,
                     size_t room);

/* The commands return exit codes. */
int info_tune_collectives(const char *ranks, const char *only, double seconds);
int info_tune_collective_rank(int argc, char **argv);

#endif
