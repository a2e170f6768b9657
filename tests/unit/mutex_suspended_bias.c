/* The fair mutex: a thread that comes seldom suspends the bias and gives it
 * back; nobody is inside beside it, and nothing is written past it.
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

#include "os/mutex.h"

enum { PATIENT = 70000, VISITS = 2000 };

static struct wf_mutex m;
static uint64_t plain; /* what the mutex protects */
static wf_atomic_u32 over;

static void enter_and_count(void)
{
    wf_mutex_lock(&m);
    plain++;
    wf_mutex_unlock(&m);
}

/* A kernel without membarrier has no bias, and nothing to test here. */
static void become_owner(void)
{
    m = (struct wf_mutex){0};
    plain = 0;
    wf_store_relaxed(&over, 0);
    for (int i = 0; i < PATIENT; i++)
        enter_and_count();
    if (!wf_load_relaxed(&m.owner)) {
        print_message("skipped: no membarrier\n");
        skip();
    }
}

struct visit {
    bool entered;
    uint32_t suspended;
};

static void *visit_once(void *arg)
{
    struct visit *v = arg;

    v->entered = wf_mutex_try_suspending(&m, &v->suspended);
    if (!v->entered)
        return NULL;
    plain++;
    wf_mutex_unlock_resuming(&m, v->suspended);
    return NULL;
}

static struct visit visit_by_thread(void)
{
    struct visit v = {0};
    pthread_t t;

    assert_int_equal(pthread_create(&t, NULL, visit_once, &v), 0);
    pthread_join(t, NULL);
    return v;
}

static void the_owner_remains_the_owner(void **state)
{
    uint32_t owner;

    become_owner();
    owner = wf_load_relaxed(&m.owner);
    for (int i = 0; i < 20; i++) {
        struct visit v = visit_by_thread();
        assert_true(v.entered);
        assert_int_equal(v.suspended, owner);
        assert_int_equal(wf_load_relaxed(&m.owner), owner);
        assert_true(wf_mutex_try_biased(&m));
        wf_mutex_unlock(&m);
    }
    assert_int_equal(m.revoked, 0);
    assert_int_equal(plain, PATIENT + 20);
}

static void nobody_enters_beside_the_owner(void **state)
{
    uint32_t owner;

    become_owner();
    owner = wf_load_relaxed(&m.owner);
    wf_mutex_lock(&m);
    assert_false(visit_by_thread().entered);
    assert_int_equal(wf_load_relaxed(&m.owner), owner);
    wf_mutex_unlock(&m);
    assert_true(visit_by_thread().entered);
    assert_int_equal(plain, PATIENT + 1);
}

/* A bias that was ended for good meanwhile does not come back. */
static void an_ended_bias_is_not_resumed(void **state)
{
    uint32_t suspended;

    become_owner();
    wf_mutex_lock(&m);
    assert_false(visit_by_thread().entered);
    wf_mutex_unlock(&m);
    wf_mutex_lock(&m);
    wf_mutex_unlock(&m);
    m.owner_word = NULL; /* as after a revocation */
    wf_store_relaxed(&m.owner, 0);
    assert_true(wf_mutex_try_suspending(&m, &suspended));
    assert_int_equal(suspended, 0);
    wf_mutex_unlock_resuming(&m, suspended);
    assert_int_equal(wf_load_relaxed(&m.owner), 0);
}

static void *visit_often(void *unused)
{
    struct visit v = {0};
    uintptr_t entered = 0;

    for (int i = 0; i < VISITS; i++) {
        visit_once(&v);
        entered += v.entered;
        sched_yield();
    }
    wf_store_release(&over, 1);
    return (void *)entered;
}

/* The owner also waits for its turn now and then, and finds its bias. */
static void visits_beside_an_owner_that_enters_all_the_time(void **state)
{
    uint64_t own = 0;
    void *entered;
    pthread_t t;

    become_owner();
    pthread_create(&t, NULL, visit_often, NULL);
    for (; !wf_load_acquire(&over); own++)
        enter_and_count();
    pthread_join(t, &entered);
    assert_int_equal(plain, PATIENT + own + (uintptr_t)entered);
    assert_int_equal(m.revoked, 0);
    assert_int_not_equal(wf_load_relaxed(&m.owner), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_owner_remains_the_owner),
        cmocka_unit_test(nobody_enters_beside_the_owner),
        cmocka_unit_test(an_ended_bias_is_not_resumed),
        cmocka_unit_test(visits_beside_an_owner_that_enters_all_the_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
