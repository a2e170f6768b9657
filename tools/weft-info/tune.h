/* weft-info --tune measures this machine and prints a fragment of mpi.ini.
 *
 *   tune.c         which options are tried, what is chosen, the fragment
 *   tune_trial.c   one setting measured: mpirun -n 2 weft-info --tune-rank ...
 *   tune_rank.c    that program
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WEFT_TUNE_H
#define WEFT_TUNE_H

#include <stdbool.h>

enum {
    TUNE_ROUNDS = 5,
    TUNE_ENOUGH = 3,
    TUNE_SIZES = 12,
    TUNE_TRIALS = 96 /* at most */
};

/* The measurement of one run. */
struct trial_kind {
    const char *how; /* pong: half round trips; stream: 16 messages in flight;
                        rate: 64 */
    long first, last, factor; /* bytes: first, first * factor, ..., last */
};

/* A trial is one transport with one setting, measured in several rounds. */
struct trial {
    const char *transport;
    char set[128]; /* section.key=value, or empty */
    struct trial_kind kind;
    int rounds; /* that gave results */
    double us[TUNE_ROUNDS][TUNE_SIZES]; /* per message */
};

/* Run mpirun -n RANKS weft-info WORDS... with one setting and no other; route
 * NULL: the built-in one. Returns how many lines "bytes us" it printed, or 0 if
 * it failed. */
int tune_job(const char *ranks, const char *route, const char *set,
             const char *const *words, double *us, int most);

int trial_sizes(const struct trial_kind *);
/* Run one round of at least ms milliseconds per size. Returns false if that is
 * impossible. */
bool trial_run(struct trial *, int ms);
/* Returns the median over the rounds of the geometric mean over the sizes; the
 * second function of one size. */
double trial_mean(const struct trial *);
double trial_at(const struct trial *, int size);
/* Returns the geometric mean over the sizes in one round. */
double trial_round(const struct trial *, int round);

/* Returns the largest message that is faster when sent eagerly, as an index of
 * the sizes; -1: none is. now: the current index, kept unless another one is
 * better by `gain` in total; larger ones must be better by as much for each
 * size. */
int tune_crossover(const struct trial *eager, const struct trial *asking,
                   int now, double gain);
/* Returns which of n trials is the best; 0, the built-in value, unless another
 * one is better by `gain` in the median and better in each of TUNE_ENOUGH or
 * more rounds. */
int tune_best(const struct trial *, int n, double gain);

/* Returns how far apart the rounds of a trial are, without the fastest and the
 * slowest: 0.25 if the slower ones take a quarter longer. Of n trials the
 * median; 0: none has TUNE_ENOUGH rounds. */
double tune_spread(const struct trial *, int n);

int info_tune(double seconds);
int info_tune_rank(int argc, char **argv);

#endif
