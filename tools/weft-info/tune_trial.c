/* This file measures one setting by a job of this very program.
 *
 * The job sees neither a file nor a variable that configures Weft, only the
 * setting under trial, so that the built-in values are compared with it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tune.h"

#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int trial_sizes(const struct trial_kind *k)
{
    int n = 0;
    for (long size = k->first; size <= k->last; size *= k->factor)
        n++;
    return n;
}

/* Start argv with its output in a pipe and its error output discarded. */
static pid_t start_program(char *const *argv, FILE **out)
{
    posix_spawn_file_actions_t act;
    int fd[2];
    pid_t pid = -1;
    if (pipe(fd) != 0)
        return -1;
    posix_spawn_file_actions_init(&act);
    posix_spawn_file_actions_adddup2(&act, fd[1], 1);
    posix_spawn_file_actions_addopen(&act, 2, "/dev/null", 1 /* O_WRONLY */, 0);
    posix_spawn_file_actions_addclose(&act, fd[0]);
    posix_spawn_file_actions_addclose(&act, fd[1]);
    if (posix_spawn(&pid, argv[0], &act, NULL, argv, environ) != 0)
        pid = -1;
    posix_spawn_file_actions_destroy(&act);
    close(fd[1]);
    *out = pid > 0 ? fdopen(fd[0], "r") : NULL;
    if (*out == NULL)
        close(fd[0]);
    return pid;
}

static int read_results(FILE *out, double *us, int most)
{
    int n = 0;
    long bytes;
    double value;
    while (n < most && fscanf(out, "%ld %lf", &bytes, &value) == 2)
        us[n++] = value;
    return n;
}

/* Find this program and the mpirun beside it. */
static bool find_programs(char self[PATH_MAX], char launcher[PATH_MAX + 8])
{
    char copy[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, PATH_MAX - 1);
    if (n <= 0)
        return false;
    self[n] = '\0';
    memcpy(copy, self, (size_t)n + 1);
    snprintf(launcher, PATH_MAX + 8, "%s/mpirun", dirname(copy));
    return access(launcher, X_OK) == 0;
}

int tune_job(const char *ranks, const char *route, const char *set,
             const char *const *words, double *us, int most)
{
    static char self[PATH_MAX], launcher[PATH_MAX + 8];
    const char *argv[24] = {launcher, "-q",    "-n", ranks,   "--timeout",
                            "30",     "--ini", "-",  "--set", set};
    FILE *out = NULL;
    int status = -1, n = 0, argc = 10;
    if (!find_programs(self, launcher))
        return 0;
    if (route != NULL) {
        argv[argc++] = "--route";
        argv[argc++] = route;
    }
    argv[argc++] = self;
    while (*words != NULL && argc < 23)
        argv[argc++] = *words++;
    argv[argc] = NULL;
    pid_t pid = start_program((char *const *)argv, &out);
    if (out != NULL) {
        n = read_results(out, us, most);
        fclose(out);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? n : 0;
}

bool trial_run(struct trial *t, int ms)
{
    char number[4][24];
    const long values[4] = {t->kind.first, t->kind.last, t->kind.factor, ms};
    const char *words[] = {"--tune-rank", t->kind.how, number[0], number[1],
                           number[2],     number[3],   NULL};
    for (int i = 0; i < 4; i++)
        snprintf(number[i], sizeof number[i], "%ld", values[i]);
    if (t->rounds == TUNE_ROUNDS ||
        tune_job("2", t->transport, t->set, words, t->us[t->rounds],
                 TUNE_SIZES) != trial_sizes(&t->kind))
        return false;
    t->rounds++;
    return true;
}

static double median_of(double *v, int n)
{
    for (int i = 1; i < n; i++) {
        for (int k = i; k > 0 && v[k] < v[k - 1]; k--) {
            double swap = v[k];
            v[k] = v[k - 1];
            v[k - 1] = swap;
        }
    }
    return n > 0 ? v[n / 2] : NAN;
}

/* Of one trial; v has room for its rounds. */
static double spread_of(const struct trial *t, double *v)
{
    int first = t->rounds > TUNE_ENOUGH, last = t->rounds - 1 - first;
    for (int r = 0; r < t->rounds; r++)
        v[r] = trial_round(t, r);
    median_of(v, t->rounds); /* sorts them */
    return v[last] / v[first] - 1;
}

double tune_spread(const struct trial *t, int n)
{
    double v[TUNE_ROUNDS], spread[TUNE_TRIALS];
    int known = 0;
    for (int i = 0; i < n && known < TUNE_TRIALS; i++) {
        if (t[i].rounds >= TUNE_ENOUGH)
            spread[known++] = spread_of(&t[i], v);
    }
    return known > 0 ? median_of(spread, known) : 0;
}

double trial_round(const struct trial *t, int round)
{
    double sum = 0;
    int n = trial_sizes(&t->kind);
    for (int i = 0; i < n; i++)
        sum += log(t->us[round][i]);
    return exp(sum / n);
}

double trial_mean(const struct trial *t)
{
    double v[TUNE_ROUNDS];
    for (int r = 0; r < t->rounds; r++)
        v[r] = trial_round(t, r);
    return median_of(v, t->rounds);
}

double trial_at(const struct trial *t, int size)
{
    double v[TUNE_ROUNDS];
    for (int r = 0; r < t->rounds; r++)
        v[r] = t->us[r][size];
    return median_of(v, t->rounds);
}
