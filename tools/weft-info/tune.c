/* This file decides which options are tried and which values are chosen, and
 * prints the fragment of mpi.ini.
 *
 * A round runs every trial once, so that other load on the machine affects all
 * alike. The built-in value is the first candidate and stays unless another one
 * is clearly better: values should come from the machine, not from noise.
 * docs/user/tuning.md has the derivation.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KB 1024L
#define MB (1024 * KB)

enum { MS = 40 };
static const double clear_gain = 0.05;
/* Rounds that are as far apart say more about other work than about Weft. */
static const double loaded_spread = 0.25;

/* An option of a transport that is tuned, and its purpose. */
struct tuned {
    const char *transport, *key, *candidates, *about;
    struct trial_kind kind;
};

#define LARGE {"stream", 64 * KB, 4 * MB, 4}

static const struct tuned table[] = {
    {"shm", "ring", "64 16 256 1024", "64 messages of 8 bytes in flight",
     {"rate", 8, 8, 2}},
    {"shm", "cell", "64K 4K 16K 256K", "ping-pong of 1K to 16K",
     {"pong", KB, 16 * KB, 4}},
    {"shm", "chunk", "16K 8K 32K 64K 128K", "64K to 4M in flight", LARGE},
    {"shm", "chunks", "0 16 64 128 256", "64K to 4M in flight", LARGE},
    {"shm", "cma", "auto no yes", "1M to 4M in flight",
     {"stream", MB, 4 * MB, 2}},
    {"tcp", "frame", "512K 128K 256K 1M 4M", "64K to 4M in flight", LARGE},
    {"tcp", "sndbuf", "0 256K 1M 4M", "64K to 4M in flight", LARGE},
    {"tcp", "rcvbuf", "0 256K 1M 4M", "64K to 4M in flight", LARGE},
    {"tcp", "congestion", "", "64K to 4M in flight", LARGE},
};

/* The trial that finds the size from which on rendezvous is faster than
 * eager. */
static const struct trial_kind crossing = {"pong", KB, 128 * KB, 2};
static const struct trial_kind smallest = {"pong", 8, 8, 2};
static const char *const transports[] = {"shm", "tcp"};
static const long eager_built_in[] = {32 * KB, 64 * KB};

enum { TUNED = sizeof table / sizeof table[0], TRANSPORTS = 2 };

struct tuning {
    struct trial trial[TUNE_TRIALS];
    int count, rounds;
    struct span {
        int first, n;
    } option[TUNED], eager[TRANSPORTS], cost[TRANSPORTS], sleep;
};

/* ---- what is tried ------------------------------------------------------- */

static void add_trial(struct tuning *t, struct span *span,
                      const char *transport, struct trial_kind kind,
                      const char *set)
{
    if (t->count == TUNE_TRIALS)
        return;
    struct trial *x = &t->trial[t->count++];
    *x = (struct trial){.transport = transport, .kind = kind};
    snprintf(x->set, sizeof x->set, "%s", set);
    if (span->n++ == 0)
        span->first = (int)(x - t->trial);
}

/* List the congestion controls of this kernel; all but the first may be
 * forbidden. */
static void congestion_controls(char *buf, size_t n)
{
    FILE *f = fopen("/proc/sys/net/ipv4/tcp_available_congestion_control", "r");
    size_t used = (size_t)snprintf(buf, n, "auto ");
    if (f == NULL || fgets(buf + used, (int)(n - used), f) == NULL)
        buf[used] = '\0';
    if (f != NULL)
        fclose(f);
}

static void add_option(struct tuning *t, struct span *span,
                       const struct tuned *o)
{
    char words[256], set[128], *save;
    if (o->candidates[0] != '\0')
        snprintf(words, sizeof words, "%s", o->candidates);
    else
        congestion_controls(words, sizeof words);
    for (char *w = strtok_r(words, " \n", &save); w != NULL;
         w = strtok_r(NULL, " \n", &save)) {
        snprintf(set, sizeof set, "transport.%s.%s=%s", o->transport, o->key,
                 w);
        add_trial(t, span, o->transport, o->kind, set);
    }
}

static void plan_trials(struct tuning *t)
{
    const struct trial_kind rate = {"rate", 8, 8, 2};
    const struct trial_kind bulk = {"stream", MB, MB, 2};
    add_trial(t, &t->sleep, "shm", smallest, "core.spin=1s");
    add_trial(t, &t->sleep, "shm", smallest, "core.spin=0");
    for (int i = 0; i < TUNED; i++)
        add_option(t, &t->option[i], &table[i]);
    for (int i = 0; i < TRANSPORTS; i++) {
        add_trial(t, &t->eager[i], transports[i], crossing, "core.eager=1G");
        add_trial(t, &t->eager[i], transports[i], crossing, "core.eager=0");
        add_trial(t, &t->cost[i], transports[i], smallest, "core.spin=1s");
        add_trial(t, &t->cost[i], transports[i], rate, "core.spin=1s");
        add_trial(t, &t->cost[i], transports[i], bulk, "core.spin=1s");
    }
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Run rounds until the time is up; the first is always completed. */
static int run_trials(struct tuning *t, double seconds)
{
    double end = now_s() + seconds;
    int ms = seconds >= 5 ? MS : 1, good = 0;
    for (t->rounds = 0; t->rounds < TUNE_ROUNDS; t->rounds++) {
        if (t->rounds > 0 && now_s() > end)
            break;
        for (int i = 0; i < t->count; i++)
            good += trial_run(&t->trial[i], ms);
    }
    return good;
}

/* ---- what is chosen ------------------------------------------------------ */

static bool always_better(const struct trial *a, const struct trial *b)
{
    int rounds = a->rounds < b->rounds ? a->rounds : b->rounds;
    for (int r = 0; r < rounds; r++) {
        if (trial_round(a, r) >= trial_round(b, r))
            return false;
    }
    return rounds >= TUNE_ENOUGH;
}

int tune_best(const struct trial *t, int n, double gain)
{
    int best = 0;
    for (int i = 1; i < n; i++) {
        if (t[i].rounds > 0 && trial_mean(&t[i]) < trial_mean(&t[best]) &&
            trial_mean(&t[i]) < trial_mean(&t[0]) * (1 - gain) &&
            always_better(&t[i], &t[0]))
            best = i;
    }
    return best;
}

/* Returns the logarithm of the gain of sending sizes 0..limit eagerly. */
static double eager_gain(const struct trial *eager, const struct trial *asking,
                     int limit)
{
    double sum = 0;
    for (int i = 0; i <= limit; i++)
        sum += log(trial_at(asking, i) / trial_at(eager, i));
    return sum;
}

int tune_crossover(const struct trial *eager, const struct trial *asking,
                   int now, double gain)
{
    int best = now;
    double clear = log(1 + gain);
    double most = eager_gain(eager, asking, now) + clear;
    for (int i = -1; i < trial_sizes(&eager->kind); i++) {
        double more = eager_gain(eager, asking, i);
        if (i > now) /* an unexpected message is copied once more */
            more -= clear * (i - now);
        if (more > most) {
            most = more;
            best = i;
        }
    }
    return best;
}

/* ---- the fragment -------------------------------------------------------- */

static const char *option_value(const struct trial *t)
{
    return strchr(t->set, '=') + 1;
}

static bool all_measured(const struct trial *t, int n)
{
    for (int i = 0; i < n; i++) {
        if (t[i].rounds == 0)
            return false;
    }
    return true;
}

static void print_option(const struct tuning *t, const struct tuned *o,
                         const struct span *span)
{
    const struct trial *x = &t->trial[span->first];
    printf("\n# %s, us per message:", o->about);
    for (int i = 0; i < span->n; i++) {
        if (x[i].rounds > 0)
            printf(" %s %.3g,", option_value(&x[i]), trial_mean(&x[i]));
        else
            printf(" %s cannot be set,", option_value(&x[i]));
    }
    printf(" built in: %s\n", option_value(x));
    if (x->rounds > 0)
        printf("%s = %s\n", o->key,
               option_value(&x[tune_best(x, span->n, clear_gain)]));
}

static void print_size(long bytes)
{
    if (bytes >= KB)
        printf("%ldK", bytes / KB);
    else
        printf("%ld", bytes);
}

static void print_eager(const struct tuning *t, int which)
{
    const struct trial *eager = &t->trial[t->eager[which].first];
    const struct trial *asking = eager + 1;
    int now = 0, limit;
    long size = crossing.first;
    if (!all_measured(eager, 2))
        return;
    while (crossing.first << now < eager_built_in[which])
        now++;
    limit = tune_crossover(eager, asking, now, clear_gain);
    printf("\n# ping-pong, us sent at once / after asking:");
    for (int i = 0; i < trial_sizes(&crossing); i++, size *= crossing.factor) {
        printf(" ");
        print_size(size);
        printf(" %.3g/%.3g,", trial_at(eager, i), trial_at(asking, i));
    }
    printf(" built in: ");
    print_size(eager_built_in[which]);
    printf("\neager = ");
    print_size(limit < 0 ? 0 : crossing.first << limit);
    printf("\n");
}

/* Print the costs, for use = auto and policy = cost. */
static void print_cost(const struct tuning *t, int which)
{
    const struct trial *x = &t->trial[t->cost[which].first];
    if (!all_measured(x, 3))
        return;
    double trip = trial_mean(&x[0]), each = trial_mean(&x[1]);
    double rest = trip > each ? trip - each : 0;
    printf("\n# half round trip of 8 bytes %.3g us; 64 in flight %.3g us each;"
           " 1M in flight %.4g us each\n",
           trip, each, trial_mean(&x[2]));
    printf("latency = %.0fns\noverhead = %.0fns\nbandwidth = %.0f\n",
           rest * 1e3, each * 1e3, MB / trial_mean(&x[2]));
}

/* Print the spin time. Spinning as long as sleeping would cost is never more
 * than twice as bad as knowing the future (Karlin et al. 1991). */
static void print_spin(const struct tuning *t)
{
    const struct trial *x = &t->trial[t->sleep.first];
    if (!all_measured(x, 2))
        return;
    double cost = trial_mean(&x[1]) - trial_mean(&x[0]);
    printf("\n[core]\n# half round trip, us: polling %.3g, sleeping at once "
           "%.3g; built in: auto, about 50us\nspin = %.0fus\n",
           trial_mean(&x[0]), trial_mean(&x[1]),
           cost < 1 ? 1 : cost > 1000 ? 1000 : ceil(cost));
}

static void print_transport(const struct tuning *t, int which)
{
    const char *name = transports[which];
    if (t->trial[t->cost[which].first].rounds == 0) {
        printf("\n# transport %s cannot be used here\n", name);
        return;
    }
    printf("\n[transport %s]", name);
    print_cost(t, which);
    print_eager(t, which);
    for (int i = 0; i < TUNED; i++) {
        if (strcmp(table[i].transport, name) == 0)
            print_option(t, &table[i], &t->option[i]);
    }
}

static void print_fragment(const struct tuning *t)
{
    char host[256] = "", date[32];
    time_t now = time(NULL);
    gethostname(host, sizeof host - 1);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    printf("# Measured by weft-info --tune on %s, %ld processors, %s, rounds: "
           "%d.\n# A value differs from the built-in one where that gains at "
           "least %.0f %%\n# and something in every round: "
           "docs/user/tuning.md.\n",
           host, sysconf(_SC_NPROCESSORS_ONLN), date, t->rounds,
           clear_gain * 100);
    print_spin(t);
    for (int i = 0; i < TRANSPORTS; i++)
        print_transport(t, i);
}

/* Returns 0; 1: the machine has other work, and no value was printed. */
static int print_result(const struct tuning *t)
{
    double spread = tune_spread(t->trial, t->count);
    if (spread > loaded_spread) {
        printf("# weft-info --tune: no values, for this machine is busy: the "
               "same measurement\n# differs by %.0f %% from round to round. "
               "Run it again when nothing else runs here.\n",
               spread * 100);
        fprintf(stderr,
                "weft-info: --tune: this machine is busy: the same measurement "
                "differs by %.0f %% from round to round, so no value is "
                "printed; run it again when nothing else runs here\n",
                spread * 100);
        return 1;
    }
    print_fragment(t);
    return 0;
}

int info_tune(double seconds)
{
    struct tuning *t = calloc(1, sizeof *t);
    if (t == NULL) {
        fprintf(stderr, "weft-info: out of memory\n");
        return 1;
    }
    /* only the setting under trial is in force */
    unsetenv("WEFT_SET");
    unsetenv("WEFT_ROUTE");
    plan_trials(t);
    int good = run_trials(t, seconds);
    int rc = 1;
    if (good > 0)
        rc = print_result(t);
    else
        fprintf(stderr,
                "weft-info: --tune could not run two ranks; it needs mpirun "
                "beside weft-info, and 'mpirun -n 2 hostname' to work\n");
    free(t);
    return rc;
}
