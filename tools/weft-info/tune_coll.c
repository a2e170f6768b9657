/* This file implements weft-info --tune-collectives: it forces each algorithm
 * of each collective in turn, on so many ranks of this machine, and prints a
 * fragment of mpi.ini with the cases in which another algorithm than the
 * built-in choice is faster.
 *
 * As with --tune, a round runs every trial once, and the built-in choice stays
 * where another algorithm is not clearly better, and better in every round.
 * Shared-memory collectives (coll/shm/shmcoll.h) are off: no rule affects them,
 * and rules are for the calls that they do not handle. docs/user/tuning.md has
 * the derivation.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tune_coll.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tune.h"

enum { MS = 6, RANKS_MAX = 256 };
static const double clear_gain = 0.1;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- what is chosen ------------------------------------------------------ */

/* Returns the median of a few rounds. */
static double median_of(const double *given, int n)
{
    double v[TUNE_ROUNDS];
    for (int i = 0; i < n; i++) {
        int k = i;
        for (; k > 0 && v[k - 1] > given[i]; k--)
            v[k] = v[k - 1];
        v[k] = given[i];
    }
    return v[n / 2];
}

static bool is_better(const struct coll_trial *t, const struct coll_trial *now,
                   int size)
{
    int rounds = t->rounds < now->rounds ? t->rounds : now->rounds;
    if (rounds < COLL_ENOUGH)
        return false;
    for (int r = 0; r < rounds; r++)
        if (t->us[size][r] >= now->us[size][r])
            return false;
    return median_of(t->us[size], rounds) <
           median_of(now->us[size], rounds) * (1 - clear_gain);
}

int tune_coll_best(const struct coll_trial *t, int n, int size)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        if (is_better(&t[i], &t[0], size) &&
            (best == 0 || median_of(t[i].us[size], t[i].rounds) <
                              median_of(t[best].us[size], t[best].rounds)))
            best = i;
    return best;
}

static uint64_t size_at(int i)
{
    return UINT64_C(64) << (3 * i);
}

void tune_coll_rules(const struct coll_trial *t, int n, int ranks, char *out,
                     size_t room)
{
    size_t used = 0;
    int sizes = t->sizes;
    out[0] = '\0';
    for (int i = 0, end; i < sizes; i = end) {
        int best = tune_coll_best(t, n, i);
        for (end = i + 1; end < sizes; end++)
            if (tune_coll_best(t, n, end) != best)
                break;
        if (best == 0 || used + 128 > room)
            continue;
        used += (size_t)snprintf(out + used, room - used, "%s%s ",
                                 used > 0 ? ", " : "", t[best].algorithm);
        if (i > 0)
            used += (size_t)snprintf(out + used, room - used, "%llu",
                                     (unsigned long long)size_at(i));
        if (i > 0 || end < sizes)
            used += (size_t)snprintf(out + used, room - used, "-");
        if (end < sizes)
            used += (size_t)snprintf(out + used, room - used, "%llu",
                                     (unsigned long long)size_at(end) - 1);
        used += (size_t)snprintf(out + used, room - used, "%sranks:%d",
                                 i > 0 || end < sizes ? " " : "", ranks);
    }
}

/* ---- measuring ----------------------------------------------------------- */

/* List the trials of one collective: the built-in choice first, then each
 * algorithm that is of use on one node. */
static int plan_trials(enum wf_coll_kind kind, struct coll_trial *t)
{
    int n = 1;
    t[0] = (struct coll_trial){.algorithm = "auto"};
    for (int i = 0; i < WF_ALGORITHMS; i++)
        if (i != WF_ALG_NODES && wf_coll_kinds[kind].algorithms >> i & 1)
            t[n++] = (struct coll_trial){
                .algorithm = wf_coll_algorithms[i].name};
    return n;
}

static bool run_trial(struct coll_trial *t, enum wf_coll_kind kind, int ranks)
{
    char set[160], number[16], ms[16];
    double us[COLL_SIZES];
    int n;
    const char *words[] = {"--tune-collective-rank", wf_coll_kinds[kind].name,
                           ms, NULL};
    snprintf(set, sizeof set, "core.share_after=0;collectives.%s=%s",
             wf_coll_kinds[kind].name, t->algorithm);
    snprintf(number, sizeof number, "%d", ranks);
    snprintf(ms, sizeof ms, "%d", MS);
    n = t->rounds < TUNE_ROUNDS
            ? tune_job(number, NULL, set, words, us, COLL_SIZES)
            : 0;
    if (n < COLL_BLOCK_SIZES)
        return false;
    t->sizes = n;
    for (int i = 0; i < n; i++)
        t->us[i][t->rounds] = us[i];
    t->rounds++;
    return true;
}

/* Run rounds until the time is up; the first is always completed. */
static int run_trials(struct coll_trial *t, int n, enum wf_coll_kind kind,
                   int ranks, double seconds)
{
    double end = now_s() + seconds;
    int good = 0;
    for (int round = 0; round < TUNE_ROUNDS; round++) {
        if (round > 0 && now_s() > end)
            break;
        for (int i = 0; i < n; i++)
            good += run_trial(&t[i], kind, ranks);
    }
    return good;
}

static void print_kind(const struct coll_trial *t, int n,
                       enum wf_coll_kind kind, int ranks)
{
    char rules[1024];
    printf("\n# %s, us at", wf_coll_kinds[kind].name);
    for (int i = 0; i < t->sizes; i++)
        printf(" %llu", (unsigned long long)size_at(i));
    printf(" bytes (%s):\n", wf_coll_kinds[kind].about);
    for (int k = 0; k < n; k++) {
        printf("#   %-18s", t[k].algorithm);
        for (int i = 0; t[k].rounds > 0 && i < t->sizes; i++)
            printf(" %.3g", median_of(t[k].us[i], t[k].rounds));
        printf("\n");
    }
    tune_coll_rules(t, n, ranks, rules, sizeof rules);
    printf("%s = %s\n", wf_coll_kinds[kind].name,
           rules[0] != '\0' ? rules : "auto");
}

static int kind_of(const char *name)
{
    for (int i = 0; i < WF_COLL_KINDS; i++)
        if (strcmp(name, wf_coll_kinds[i].name) == 0)
            return i;
    return -1;
}

int info_tune_collectives(const char *ranks_text, const char *only,
                          double seconds)
{
    struct coll_trial t[WF_ALGORITHMS + 1];
    int ranks = ranks_text != NULL ? atoi(ranks_text) : 4, good = 0;
    int first = only != NULL ? kind_of(only) : 0;
    int end = only != NULL ? first + 1 : WF_COLL_KINDS;
    if (ranks < 2 || ranks > RANKS_MAX || first < 0) {
        fprintf(stderr, "weft-info: --tune-collectives takes --ranks 2..%d and "
                        "--collective with one of the names in "
                        "[collectives]\n", RANKS_MAX);
        return 2;
    }
    unsetenv("WEFT_SET");
    unsetenv("WEFT_ROUTE");
    printf("# Measured by weft-info --tune-collectives with %d ranks on %ld "
           "processors.\n# Where nothing gains at least %.0f %%, the built-in "
           "choice stays: docs/user/tuning.md.\n[collectives]\n",
           ranks, sysconf(_SC_NPROCESSORS_ONLN), clear_gain * 100);
    for (int kind = first; kind < end; kind++) {
        if (kind == WF_COLL_BARRIER) /* has no sizes */
            continue;
        int n = plan_trials((enum wf_coll_kind)kind, t);
        good += run_trials(t, n, (enum wf_coll_kind)kind, ranks,
                        seconds / (end - first));
        print_kind(t, n, (enum wf_coll_kind)kind, ranks);
        fflush(stdout);
    }
    if (good == 0)
        fprintf(stderr, "weft-info: --tune-collectives could not run %d ranks; "
                        "it needs mpirun beside weft-info\n", ranks);
    return good > 0 ? 0 : 1;
}
