/* This header repeats the measurement of every raw program: one process
 * measures, its child answers.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef BENCH_RAW_H
#define BENCH_RAW_H

#include "bench.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef double batch_fn(void *what);

static inline int repeat_batches(batch_fn *batch, void *what, double limit_us,
                         double v[BATCHES])
{
    double begin = now_us();
    int n = 0;

    for (int i = 0; i < 3; i++)
        batch(what);
    while (n < BATCHES && (n < 3 || now_us() - begin < limit_us))
        v[n++] = batch(what);
    return n;
}

/* Returns how many operations make a batch, from a batch of one; the first such
 * batch warms up. */
static inline long calibrate_batch(batch_fn *one, void *what)
{
    double begin, took;

    one(what);
    begin = now_us();
    one(what);
    took = now_us() - begin;
    return took < BATCH_US ? (long)(BATCH_US / (took + 0.01)) + 1 : 1;
}

/* Returns memory that both processes share, zeroed and touched. */
static inline void *shared_memory(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    if (p == MAP_FAILED) {
        perror("bench");
        exit(1);
    }
    return p;
}

/* Run answer() in the child until it is killed, and measure() in this
 * process. */
static inline int in_two(void (*measure)(void *), void (*answer)(void *),
                         void *what)
{
    cpu_set_t all;
    pid_t child;

    sched_getaffinity(0, sizeof all, &all);
    child = fork();
    if (child < 0)
        return 1;
    bind_rank(child == 0);
    if (child == 0) {
        answer(what);
        _exit(0);
    }
    measure(what);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    sched_setaffinity(0, sizeof all, &all);
    return 0;
}

#endif
