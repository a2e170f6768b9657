/* This program measures how long the kernel takes to wake a process that has
 * slept for 2 ms.
 *
 *   raw_wake futex|eventfd MS
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "raw.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

enum { QUIET_US = 2000 };

struct test {
    double limit_us;
    int fd; /* eventfd, or -1: futex */
    struct shared {
        _Atomic unsigned word;
        double stamp; /* when the waker called */
    } *s;
};

static double wake_up(void *what)
{
    struct test *t = what;
    unsigned old = atomic_load(&t->s->word);
    uint64_t count;

    if (t->fd >= 0)
        (void)!read(t->fd, &count, sizeof count);
    while (t->fd < 0 && atomic_load(&t->s->word) == old)
        syscall(SYS_futex, &t->s->word, FUTEX_WAIT, old, NULL, NULL, 0);
    return now_us() - t->s->stamp;
}

static void wake_other(struct test *t)
{
    uint64_t one = 1;

    sleep_us(QUIET_US);
    t->s->stamp = now_us();
    if (t->fd >= 0) {
        (void)!write(t->fd, &one, sizeof one);
        return;
    }
    atomic_fetch_add(&t->s->word, 1);
    syscall(SYS_futex, &t->s->word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void measure_side(void *what)
{
    static double v[BATCHES];
    struct test *t = what;
    int n = repeat_batches(wake_up, t, t->limit_us, v);

    print_times("us", 0, v, n);
}

static void answer_side(void *what)
{
    for (;;)
        wake_other(what);
}

int main(int argc, char **argv)
{
    struct test t = {.fd = -1};

    if (argc != 3)
        return 2;
    t.s = shared_memory(sizeof *t.s);
    t.limit_us = atof(argv[2]) * 1e3;
    if (strcmp(argv[1], "eventfd") == 0)
        t.fd = eventfd(0, 0);
    return in_two(measure_side, answer_side, &t);
}
