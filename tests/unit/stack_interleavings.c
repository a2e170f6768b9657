/* The lock-free stack (core/os/stack.h): every order in which the atomic steps
 * of two that push and one that takes can follow one another, and threads that
 * run freely, where the thread sanitizer watches the memory orders.
 *
 * The stack's own code runs in the first test: each atomic operation first
 * hands the baton to a scheduler, which tries all continuations depth first.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "os/atomic.h"

static void take_step(void);
#undef wf_load_relaxed
#define wf_load_relaxed(p)                                                     \
    (take_step(), atomic_load_explicit((p), memory_order_relaxed))
#undef wf_cas_acq_rel
#define wf_cas_acq_rel(p, expected, v)                                         \
    (take_step(),                                                              \
     atomic_compare_exchange_strong_explicit(                                  \
         (p), (expected), (v), memory_order_acq_rel, memory_order_acquire))
#undef wf_exchange_acq_rel
#define wf_exchange_acq_rel(p, v)                                              \
    (take_step(), atomic_exchange_explicit((p), (v), memory_order_acq_rel))
#include "os/stack.h"

struct item {
    struct wf_stack_link link; /* first */
    int value;
};

static struct wf_stack stack;

/* ---- every order --------------------------------------------------------- */

enum { ACTORS = 3, ITEMS = 3, STEPS_MAX = 64 };

static struct {
    sem_t go[ACTORS], back;
    bool finished[ACTORS], over;
} baton;
static _Thread_local int me = -1; /* an actor */
static struct item items[ITEMS];
static int taken[2 * ITEMS], taken_count;

static void take_step(void)
{
    if (me < 0)
        return;
    sem_post(&baton.back);
    sem_wait(&baton.go[me]);
}

static int in_order_of_push(struct wf_stack_link *l, int *out)
{
    int n = 0;

    if (!l)
        return 0;
    n = in_order_of_push(l->next, out);
    out[n] = ((struct item *)l)->value;
    return n + 1;
}

static void take_next(void)
{
    taken_count +=
        in_order_of_push(wf_stack_take_all(&stack), taken + taken_count);
}

static void act_once(void)
{
    switch (me) {
    case 0:
        wf_stack_push(&stack, &items[0].link);
        wf_stack_push(&stack, &items[1].link);
        break;
    case 1:
        wf_stack_push(&stack, &items[2].link);
        break;
    default:
        take_next();
        take_next();
    }
}

static void *run_actor(void *arg)
{
    me = *(int *)arg;
    for (;;) {
        sem_wait(&baton.go[me]);
        if (baton.over)
            return NULL;
        act_once();
        baton.finished[me] = true;
        sem_post(&baton.back);
    }
}

/* Of the actors that are not through, the nth. -1: there are not so many. */
static int find_runnable(int nth)
{
    for (int i = 0; i < ACTORS; i++)
        if (!baton.finished[i] && nth-- == 0)
            return i;
    return -1;
}

static void check_outcome(void)
{
    int place[ITEMS] = {-1, -1, -1};

    take_next(); /* what nobody took */
    assert_int_equal(taken_count, ITEMS);
    for (int i = 0; i < ITEMS; i++)
        place[taken[i]] = i;
    for (int i = 0; i < ITEMS; i++)
        assert_true(place[i] >= 0);
    assert_true(place[0] < place[1]);
}

static void let_go(int i)
{
    sem_post(&baton.go[i]);
    sem_wait(&baton.back);
}

/* Every actor stands before its first step. */
static void begin_all(void)
{
    memset(baton.finished, 0, sizeof baton.finished);
    taken_count = 0;
    for (int i = 0; i < ACTORS; i++)
        let_go(i);
}

/* One run: the first `fixed` choices as they are, then always the first one.
 * Returns the number of choices made. */
static int run_case(int *choice, int fixed)
{
    int n = 0;

    begin_all();
    while (find_runnable(0) >= 0) {
        assert_true(n < STEPS_MAX);
        if (n >= fixed)
            choice[n] = 0;
        let_go(find_runnable(choice[n++]));
    }
    return n;
}

/* How many could have gone at choice k of the run before. */
static int options_at(const int *choice, int k)
{
    int n = 0;

    begin_all();
    for (int i = 0; i < k; i++)
        let_go(find_runnable(choice[i]));
    while (find_runnable(n) >= 0)
        n++;
    while (find_runnable(0) >= 0) /* to the end, so that all can begin again */
        let_go(find_runnable(0));
    take_next();
    return n;
}

/* The next run in depth-first order. false: that was the last. */
static bool advance_time(int *choice, int *options, int *n)
{
    while (*n > 0) {
        int k = --*n;
        if (!options[k])
            options[k] = options_at(choice, k);
        if (choice[k] + 1 < options[k]) {
            choice[k]++;
            memset(options + k + 1, 0,
                   (STEPS_MAX - (size_t)k - 1) * sizeof *options);
            *n = k + 1;
            return true;
        }
    }
    return false;
}

static void the_stack_is_right_in_every_order(void **state)
{
    pthread_t threads[ACTORS];
    int ids[ACTORS] = {0, 1, 2}, choice[STEPS_MAX], options[STEPS_MAX] = {0};
    int n, runs = 0, fixed = 0;

    sem_init(&baton.back, 0, 0);
    for (int i = 0; i < ITEMS; i++)
        items[i].value = i;
    for (int i = 0; i < ACTORS; i++) {
        sem_init(&baton.go[i], 0, 0);
        assert_int_equal(pthread_create(&threads[i], NULL, run_actor, &ids[i]),
                         0);
    }
    do {
        n = run_case(choice, fixed);
        check_outcome();
        runs++;
        fixed = n;
    } while (advance_time(choice, options, &fixed));
    baton.over = true;
    for (int i = 0; i < ACTORS; i++) {
        sem_post(&baton.go[i]);
        pthread_join(threads[i], NULL);
    }
    print_message("%d orders\n", runs);
    assert_true(runs > 1000);
}

/* ---- freely -------------------------------------------------------------- */

enum { PUSHERS = 3, EACH = 20000 };

static struct item many[PUSHERS][EACH];

static void *push_all(void *arg)
{
    struct item *mine = arg;

    for (int i = 0; i < EACH; i++) {
        mine[i].value = i;
        wf_stack_push(&stack, &mine[i].link);
    }
    return NULL;
}

static int take_some(void)
{
    int n = 0;

    for (struct wf_stack_link *l = wf_stack_take_all(&stack); l; l = l->next) {
        struct item *i = (struct item *)l;
        assert_true(i->value >= 0);
        i->value = -1; /* not twice */
        n++;
    }
    return n;
}

static void nothing_is_lost(void **state)
{
    pthread_t threads[PUSHERS];
    int n = 0;

    for (int i = 0; i < PUSHERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, push_all, many[i]),
                         0);
    while (n < PUSHERS * EACH)
        n += take_some();
    for (int i = 0; i < PUSHERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(take_some(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stack_is_right_in_every_order),
        cmocka_unit_test(nothing_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
