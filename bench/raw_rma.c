/* This program does by hand what mpi_rma does by MPI: loads, stores and atomic
 * instructions on memory that two processes share.
 *
 *   raw_rma CASE MS
 *
 * A lock is taken by one compare and swap, and left by a store; it has no
 * queue, and an owner that dies keeps it. To synchronise, a process stores to
 * its own cache line and waits for that of the other one, once (barrier, fence)
 * or twice (groups). allocate-free has no raw limit, and prints nothing.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "raw.h"

#include <stdatomic.h>
#include <stdint.h>

enum { WINDOW = 1 << 20, ARRAY = 64 << 10 };

struct shared {
    _Alignas(128) _Atomic uint64_t lock;
    _Alignas(128) _Atomic uint64_t holders;
    _Alignas(128) _Atomic uint64_t arrived[2][16]; /* of each process: [0] */
    _Alignas(4096) char window[WINDOW];
};

static struct shared *s;
static char *buffer;

static _Atomic int64_t *find_word(void)
{
    return (void *)s->window;
}

static void enter_lock(void)
{
    uint64_t none = 0;

    while (!atomic_compare_exchange_weak(&s->lock, &none, 1))
        none = 0;
}

static void leave_lock(void)
{
    atomic_store_explicit(&s->lock, 0, memory_order_release);
}

static void operate_lock(void)
{
    enter_lock();
    leave_lock();
}

static void operate_lock_all(void)
{
    atomic_fetch_add(&s->holders, 1);
    atomic_fetch_sub(&s->holders, 1);
}

static void operate_locked_put(void)
{
    enter_lock();
    memcpy(s->window, buffer, 8);
    leave_lock();
}

static void operate_put(void)
{
    memcpy(s->window, buffer, 8);
    atomic_thread_fence(memory_order_seq_cst);
}

static void operate_get(void)
{
    memcpy(buffer, s->window, 8);
    atomic_thread_fence(memory_order_seq_cst);
}

static void operate_fetch(void)
{
    *(int64_t *)(void *)buffer = atomic_fetch_add(find_word(), 1);
}

static void operate_swap(void)
{
    int64_t found = 0;

    (void)atomic_compare_exchange_strong(find_word(), &found, 1);
    *(int64_t *)(void *)buffer = found;
}

static void operate_accumulate(void)
{
    (void)atomic_fetch_add(find_word(), 1);
}

static void operate_large_put(void)
{
    memcpy(s->window, buffer, WINDOW);
}

static void operate_large_get(void)
{
    memcpy(buffer, s->window, WINDOW);
}

static void add_array(double *restrict to, const double *restrict from)
{
    for (int i = 0; i < ARRAY / 8; i++)
        to[i] += from[i];
}

static void operate_array(void)
{
    add_array((void *)s->window, (void *)buffer);
}

static void meet_other(int me)
{
    uint64_t n = atomic_load_explicit(&s->arrived[me][0], memory_order_relaxed);

    atomic_store_explicit(&s->arrived[me][0], n + 1, memory_order_release);
    while (atomic_load_explicit(&s->arrived[!me][0], memory_order_acquire) <= n)
        ;
}

static void operate_barrier(void)
{
    meet_other(0);
}

static void operate_groups(void)
{
    meet_other(0);
    memcpy(s->window, buffer, 8);
    meet_other(0);
}

static const struct {
    const char *name;
    void (*operate)(void);
} cases[] = {{"lock", operate_lock},
             {"lock-all", operate_lock_all},
             {"lock-put-unlock", operate_locked_put},
             {"put-8", operate_put},
             {"get-8", operate_get},
             {"fetch-and-op", operate_fetch},
             {"compare-and-swap", operate_swap},
             {"accumulate-8", operate_accumulate},
             {"put-1M", operate_large_put},
             {"get-1M", operate_large_get},
             {"accumulate-64K", operate_array},
             {"barrier", operate_barrier},
             {"fence", operate_barrier},
             {"groups", operate_groups}};

enum { CASES = sizeof cases / sizeof *cases };

struct job {
    void (*operate)(void);
    long times;
    double limit_us;
};

static double run_batch(void *what)
{
    struct job *j = what;
    double begin = now_us();

    for (long i = 0; i < j->times; i++)
        j->operate();
    return (now_us() - begin) * 1e3 / (double)j->times;
}

static void measure_case(void *what)
{
    static double v[BATCHES];
    struct job *j = what;
    int n;

    memset(s->window, 0, WINDOW);
    j->times = calibrate_batch(run_batch, j);
    n = repeat_batches(run_batch, j, j->limit_us, v);
    print_times("ns", 0, v, n);
}

/* The other process meets this one; in cases without that it waits for ever. */
static void answer_case(void *what)
{
    const struct job *j = what;

    while (j->operate == operate_barrier || j->operate == operate_groups)
        meet_other(1);
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    struct job j = {NULL, 1, 0};

    if (argc != 3)
        return 2;
    for (int i = 0; i < CASES; i++)
        if (strcmp(cases[i].name, argv[1]) == 0)
            j.operate = cases[i].operate;
    if (!j.operate)
        return strcmp(argv[1], "allocate-free") == 0 ? 0 : 2;
    j.limit_us = atof(argv[2]) * 1e3;
    s = shared_memory(sizeof *s);
    buffer = allocate_buffer(WINDOW);
    memset(buffer, 0, WINDOW);
    return in_two(measure_case, answer_case, &j);
}
