/* Submissions to a section (lock/critical.h, the granularity lock-free):
 * what threads submit while others enter, yield and leave is run once, inside,
 * in the order of its thread, and none is left when all have gone. Plain
 * variables stand for the engine, so that the thread sanitizer sees who is
 * inside with whom.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#undef WF_GRANULARITY
#define WF_GRANULARITY WF_LOCK_FREE
#include "lock/critical.h"

enum { THREADS = 4, EACH = 50000, ALONE = 500 };

struct item {
    struct wf_stack_link link; /* first */
    int thread, number;
};

static struct wf_cs cs;
static struct item items[THREADS][EACH];
/* The engine. */
static int last[THREADS], inside;
static unsigned done, disorder, company;

static void process_item(struct item *i)
{
    company += inside++ != 0;
    disorder += i->number != last[i->thread] + 1;
    last[i->thread] = i->number;
    done++;
    inside--;
}

static void run_case(struct wf_cs *c)
{
    struct wf_stack_link *next, *l;

    for (l = wf_stack_reverse(wf_stack_take_all(&c->submitted)); l; l = next) {
        next = l->next;
        process_item((struct item *)l);
    }
}

static void make_fresh(void)
{
    memset(&cs, 0, sizeof cs);
    wf_cs_allow_threads(&cs);
    cs.run = run_case;
    for (int t = 0; t < THREADS; t++)
        last[t] = -1;
    done = disorder = company = 0;
}

static void enter_with(struct item *i, bool yields)
{
    wf_cs_enter(&cs);
    process_item(i);
    if (yields)
        wf_cs_yield(&cs);
    wf_cs_leave(&cs);
}

/* A call that does not wait. */
static void enter_or_submit(struct item *i)
{
    if (!wf_cs_try_lock(&cs)) {
        wf_cs_submit(&cs, &i->link);
        return;
    }
    process_item(i);
    wf_cs_unlock(&cs);
}

static void *do_work(void *arg)
{
    int t = *(int *)arg;
    unsigned seed = (unsigned)t + 1;

    for (int k = 0; k < EACH; k++) {
        struct item *i = &items[t][k];
        *i = (struct item){.thread = t, .number = k};
        switch (rand_r(&seed) % 8) {
        case 0:
            enter_with(i, k % 3 == 0);
            break;
        case 1:
        case 2:
            wf_cs_submit(&cs, &i->link);
            break;
        default:
            enter_or_submit(i);
        }
    }
    return NULL;
}

static void run_threads(void *(*what)(void *), int n)
{
    static int ids[THREADS] = {0, 1, 2, 3};
    pthread_t threads[THREADS];

    for (int t = 0; t < n; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, what, &ids[t]), 0);
    for (int t = 0; t < n; t++)
        pthread_join(threads[t], NULL);
}

static void submissions_run_in_order_and_all_run(void **state)
{
    make_fresh();
    run_threads(do_work, THREADS);
    assert_false(wf_stack_has_items(&cs.submitted));
    assert_int_equal(done, THREADS * EACH);
    assert_int_equal(disorder, 0);
    assert_int_equal(company, 0);
}

/* The owner of a bias comes and goes; what is submitted ends the bias, and both
 * go on. */
static void *own_bias(void *arg)
{
    for (int k = 0; k < EACH; k++) {
        struct item *i = &items[0][k];
        *i = (struct item){.thread = 0, .number = k};
        enter_with(i, false);
    }
    return NULL;
}

static void *own_or_submit(void *arg)
{
    if (*(int *)arg == 0)
        return own_bias(arg);
    for (int k = 0; k < ALONE; k++) {
        struct item *i = &items[1][k];
        *i = (struct item){.thread = 1, .number = k};
        wf_cs_submit(&cs, &i->link);
        for (int pause = 0; pause < 200; pause++)
            wf_cpu_relax();
    }
    return NULL;
}

static void a_bias_delays_no_submission(void **state)
{
    make_fresh();
    run_threads(own_or_submit, 2);
    assert_false(wf_stack_has_items(&cs.submitted));
    assert_int_equal(done, EACH + ALONE);
    assert_int_equal(disorder, 0);
    assert_int_equal(company, 0);
}

/* A thread that enters afterwards finds it run, and so does one that is inside
 * and yields. */
static void *submit_one(void *arg)
{
    items[1][0] = (struct item){.thread = 1, .number = 0};
    wf_cs_submit(&cs, &items[1][0].link);
    return NULL;
}

static void the_thread_inside_runs_it_when_it_yields(void **state)
{
    pthread_t thread;

    make_fresh();
    wf_cs_enter(&cs);
    assert_int_equal(pthread_create(&thread, NULL, submit_one, NULL), 0);
    pthread_join(thread, NULL); /* it did not wait for the section */
    assert_int_equal(done, 0);
    wf_cs_yield(&cs);
    assert_int_equal(done, 1);
    wf_cs_leave(&cs);
}

static void the_thread_that_leaves_runs_it(void **state)
{
    pthread_t thread;

    make_fresh();
    wf_cs_enter(&cs);
    assert_int_equal(pthread_create(&thread, NULL, submit_one, NULL), 0);
    pthread_join(thread, NULL);
    wf_cs_leave(&cs);
    assert_int_equal(done, 1);
}

static void the_only_thread_runs_it_itself(void **state)
{
    make_fresh();
    submit_one(NULL);
    assert_int_equal(done, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_only_thread_runs_it_itself),
        cmocka_unit_test(the_thread_inside_runs_it_when_it_yields),
        cmocka_unit_test(the_thread_that_leaves_runs_it),
        cmocka_unit_test(submissions_run_in_order_and_all_run),
        cmocka_unit_test(a_bias_delays_no_submission),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
