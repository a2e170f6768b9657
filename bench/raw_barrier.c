/* This program measures a barrier of N processes on the available CPUs with
 * nothing but one shared counter and a futex: the least that the scheduler must
 * do.
 *
 *   raw_barrier N MILLISECONDS
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "raw.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>

enum { ROUNDS = 20 };

struct shared {
    _Alignas(128) _Atomic unsigned arrived;
    _Alignas(128) _Atomic unsigned round;
    int batch;
};

static void enter_barrier(struct shared *s, unsigned n)
{
    unsigned round = atomic_load(&s->round);

    if (atomic_fetch_add(&s->arrived, 1) == n - 1) {
        atomic_store(&s->arrived, 0);
        atomic_fetch_add(&s->round, 1);
        syscall(SYS_futex, &s->round, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
        return;
    }
    while (atomic_load(&s->round) == round)
        syscall(SYS_futex, &s->round, FUTEX_WAIT, round, NULL, NULL, 0);
}

static double time_barriers(struct shared *s, unsigned ranks, int n)
{
    double start = now_us();

    for (int i = 0; i < n; i++)
        enter_barrier(s, ranks);
    return (now_us() - start) / n;
}

static void measure_barriers(struct shared *s, int rank, unsigned ranks,
                             double limit)
{
    double v[ROUNDS], once;

    bind_rank(rank);
    time_barriers(s, ranks, 20);
    once = time_barriers(s, ranks, 20);
    if (rank == 0)
        s->batch = (int)(limit / ROUNDS / once) + 1;
    enter_barrier(s, ranks);
    for (int i = 0; i < ROUNDS; i++)
        v[i] = time_barriers(s, ranks, s->batch);
    if (rank == 0)
        print_times("us", (long)ranks, v, ROUNDS);
}

int main(int argc, char **argv)
{
    int n = argc == 3 ? atoi(argv[1]) : 0;
    struct shared *s = shared_memory(sizeof *s);

    if (n < 1)
        return 2;
    for (int rank = 1; rank < n; rank++)
        if (fork() == 0) {
            measure_barriers(s, rank, (unsigned)n, atof(argv[2]) * 1e3);
            _exit(0);
        }
    measure_barriers(s, 0, (unsigned)n, atof(argv[2]) * 1e3);
    while (wait(NULL) > 0)
        ;
    return 0;
}
