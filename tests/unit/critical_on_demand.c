/* The section that is switched on only while something is owed: one thread
 * calls, as below MPI_THREAD_MULTIPLE, another enters by wf_mutex_try and looks
 * only when something is owed. Both change plain variables.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lock/critical.h"

enum { CALLS = 200000 };

static struct wf_cs cs;
static wf_atomic_u32 over;
static unsigned pending; /* "the engine": one unit per operation owed */
static unsigned finished, helped, ends;

static void has_changed(struct wf_cs *c)
{
    ends += !wf_cs_uses_lock(c);
}

static void *help_caller(void *arg)
{
    while (!wf_load_acquire(&over)) {
        if (!wf_mutex_try(&cs.mutex)) {
            sched_yield();
            continue;
        }
        if (cs.helper_ops && pending) {
            pending--;
            finished++;
            helped++;
            cs.helper_ops--;
        }
        wf_mutex_unlock(&cs.mutex);
    }
    return NULL;
}

/* A call that starts an operation, and one that looks whether it is done. */
static void start_one(void)
{
    wf_cs_enter(&cs);
    wf_cs_enable_for_helper(&cs);
    pending++;
    cs.helper_ops++;
    wf_cs_leave(&cs);
}

static void test_all(void)
{
    wf_cs_enter(&cs);
    if (wf_cs_uses_lock(&cs) && pending) {
        pending--;
        finished++;
        cs.helper_ops--;
    }
    wf_cs_leave(&cs);
}

static void caller_and_helper_exclude_each_other(void **state)
{
    pthread_t helper;
    unsigned calls = 0;

    cs.changed = has_changed;
    assert_int_equal(pthread_create(&helper, NULL, help_caller, NULL), 0);
    for (int i = 0; i < CALLS; i++) {
        if (!wf_cs_uses_lock(&cs) || i % 7 == 0) {
            start_one();
            calls++;
        }
        test_all();
    }
    while (wf_cs_uses_lock(&cs))
        test_all();
    wf_store_release(&over, 1);
    pthread_join(helper, NULL);
    assert_int_equal(finished, calls);
    assert_int_equal(pending, 0);
    assert_int_equal(cs.helper_ops, 0);
    assert_true(ends > 0);
    assert_int_equal(wf_load_relaxed(&cs.mutex.next),
                     wf_load_relaxed(&cs.mutex.serving));
}

static void try_enters_only_a_free_mutex(void **state)
{
    struct wf_mutex m = {0};

    assert_true(wf_mutex_try(&m));
    assert_false(wf_mutex_try(&m));
    wf_mutex_unlock(&m);
    wf_mutex_lock(&m);
    assert_false(wf_mutex_try(&m));
    wf_mutex_unlock(&m);
    assert_true(wf_mutex_try(&m));
    wf_mutex_unlock(&m);
}

static void more_threads_keep_the_section_on(void **state)
{
    struct wf_cs c = {0};

    wf_cs_allow_threads(&c);
    wf_cs_enter(&c);
    wf_cs_enable_for_helper(&c); /* on already */
    wf_cs_leave(&c);
    assert_true(wf_cs_uses_lock(&c));
    assert_true(wf_mutex_try(&c.mutex));
}

static void what_keeps_it_on_is_counted(void **state)
{
    struct wf_cs c = {.changed = has_changed};

    wf_cs_enable_for_helper(&c);
    wf_cs_keep_on(&c);
    wf_cs_keep_on(&c);
    wf_cs_leave(&c);
    assert_true(wf_cs_uses_lock(&c) && wf_cs_is_kept_on(&c));
    for (int i = 0; i < 2; i++) {
        assert_true(wf_cs_uses_lock(&c));
        wf_cs_enter(&c);
        wf_cs_stop_keeping_on(&c);
        wf_cs_leave(&c);
    }
    assert_false(wf_cs_uses_lock(&c) || wf_cs_is_kept_on(&c));
    assert_true(wf_mutex_try(&c.mutex));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(try_enters_only_a_free_mutex),
        cmocka_unit_test(more_threads_keep_the_section_on),
        cmocka_unit_test(what_keeps_it_on_is_counted),
        cmocka_unit_test(caller_and_helper_exclude_each_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
