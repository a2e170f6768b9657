/* The fair mutex: its bias (one owner that enters again and again, others that
 * come and take the bias away, sleepers on either side), and returns while
 * others wait.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "os/clock.h"
#include "os/mutex.h"

enum { PATIENT = 70000, ENTRIES = 100000, OTHERS = 3, VISITS = 100,
       STRESS_S = 60 };

static struct wf_mutex m;
static uint64_t plain; /* what the mutex protects */
static wf_atomic_u32 over, visits, gone;
static uint64_t stress_begun;

static void reset_case(void)
{
    m = (struct wf_mutex){0};
    plain = 0;
    wf_store_relaxed(&over, 0);
    wf_store_relaxed(&visits, 0);
    wf_store_relaxed(&gone, 0);
}

/* In the place of the C library's: time may stand still. */
static wf_atomic_u32 stands;

int clock_gettime(clockid_t clock, struct timespec *t)
{
    if (wf_load_relaxed(&stands)) {
        *t = (struct timespec){.tv_sec = 1};
        return 0;
    }
    return (int)syscall(SYS_clock_gettime, clock, t);
}

static void enter_and_count(void)
{
    wf_mutex_lock(&m);
    plain++;
    wf_mutex_unlock(&m);
}

static void enter_often(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        enter_and_count();
}

static bool is_biased(void)
{
    return wf_load_relaxed(&m.owner) != 0;
}

/* A kernel without membarrier has no bias, and nothing to test here. */
static bool can_be_biased(void)
{
    reset_case();
    enter_often(PATIENT);
    return is_biased();
}

static void *visit_once(void *arg)
{
    (void)arg;
    enter_and_count();
    return NULL;
}

static void in_another_thread(void *(*what)(void *), void *arg)
{
    pthread_t t;

    assert_int_equal(pthread_create(&t, NULL, what, arg), 0);
    pthread_join(t, NULL);
}

static void test_another_thread_revokes_the_bias(void **state)
{
    (void)state;
    if (!can_be_biased())
        skip();
    in_another_thread(visit_once, NULL);
    assert_false(is_biased());
    assert_int_equal(plain, PATIENT + 1);
}

static unsigned entries_until_biased(void)
{
    unsigned n = 0;

    while (!is_biased() && n++ < 200000)
        enter_and_count();
    return n;
}

static void test_each_revocation_doubles_the_entries_before_a_bias(void **state)
{
    unsigned before, after;

    (void)state;
    if (!can_be_biased())
        skip();
    in_another_thread(visit_once, NULL);
    before = entries_until_biased();
    for (int i = 0; i < 20; i++) {
        in_another_thread(visit_once, NULL);
        after = entries_until_biased();
        assert_true(after + 2 >= before);
        if (i == 0)
            assert_in_range(after, 2 * before - 4, 2 * before + 4);
        before = after;
    }
    assert_in_range(before, 60000, 70000); /* but not for ever */
}

static void *alternate_threads(void *arg)
{
    uint32_t me = (uint32_t)(uintptr_t)arg;

    for (unsigned i = 0; i < 3000; i++) {
        while (wf_load_acquire(&visits) % 2 != me)
            sched_yield();
        enter_and_count();
        assert_false(is_biased());
        wf_add_acq_rel(&visits, 1);
    }
    return NULL;
}

static void test_alternating_threads_get_no_bias(void **state)
{
    pthread_t t;

    (void)state;
    reset_case();
    assert_int_equal(pthread_create(&t, NULL, alternate_threads, (void *)1), 0);
    alternate_threads(NULL);
    pthread_join(t, NULL);
}

static void *try_once(void *entered)
{
    *(bool *)entered = wf_mutex_try(&m);
    if (*(bool *)entered)
        wf_mutex_unlock(&m);
    return NULL;
}

static void test_try_enters_only_a_free_mutex(void **state)
{
    bool entered;

    (void)state;
    if (!can_be_biased())
        skip();
    wf_mutex_lock(&m);
    assert_false(wf_mutex_try(&m));
    assert_false(wf_mutex_contended(&m));
    in_another_thread(try_once, &entered); /* revokes, and goes away */
    assert_false(entered);
    assert_false(wf_mutex_contended(&m));
    wf_mutex_unlock(&m);
    in_another_thread(try_once, &entered);
    assert_true(entered);
    enter_and_count();
    assert_true(wf_mutex_try(&m));
    wf_mutex_unlock(&m);
}

static void *become_owner(void *arg)
{
    bool *biased = arg;

    enter_often(PATIENT);
    *biased = is_biased();
    return NULL;
}

/* Threads that live all the time: words run short, and nothing else. */
static struct {
    sem_t owner, end;
    bool biased;
} stay;

static void *become_owner_and_stay(void *arg)
{
    (void)arg;
    become_owner(&stay.biased);
    sem_post(&stay.owner);
    sem_wait(&stay.end);
    return NULL;
}

static void test_more_owners_than_slots(void **state)
{
    enum { LIVING = WF_MUTEX_SLOTS + 3 };
    pthread_t threads[LIVING];

    (void)state;
    if (!can_be_biased())
        skip();
    sem_init(&stay.owner, 0, 0);
    sem_init(&stay.end, 0, 0);
    for (int i = 0; i < LIVING; i++) {
        if (i == LIVING - 1)
            enter_and_count(); /* by ticket: this thread's word is free again */
        assert_int_equal(
            pthread_create(&threads[i], NULL, become_owner_and_stay, NULL), 0);
        sem_wait(&stay.owner);
        assert_int_equal(stay.biased,
                         i < WF_MUTEX_SLOTS - 1 || i == LIVING - 1);
    }
    for (int i = 0; i < LIVING; i++)
        sem_post(&stay.end);
    for (int i = 0; i < LIVING; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(plain, PATIENT * (LIVING + 1) + 1);
}

static void test_a_thread_gets_the_slot_of_an_ended_one(void **state)
{
    bool entered, biased;

    (void)state;
    if (!can_be_biased())
        skip();
    reset_case();
    for (int i = 0; i < 4 * WF_MUTEX_SLOTS; i++) {
        in_another_thread(become_owner, &biased);
        assert_true(biased);
        in_another_thread(visit_once, NULL);
        in_another_thread(try_once, &entered);
        assert_true(entered);
        assert_true(is_biased());
    }
    assert_int_equal(m.revoked, 0);
    assert_int_equal(plain, 4 * WF_MUTEX_SLOTS * (PATIENT + 1));
}

/* ---- returns ------------------------------------------------------------- */

/* The ticket of one who waits and does nothing else. */
static void somebody_waits(void)
{
    reset_case();
    wf_mutex_lock(&m);
    wf_add_acq_rel(&m.next, 1);
}

static bool is_passed_on(void)
{
    return wf_load_relaxed(&m.serving) == 1;
}

/* A kernel without membarrier has no returns either. */
static bool can_return(void)
{
    somebody_waits();
    wf_mutex_unlock_open(&m);
    return !is_passed_on();
}

static void come_back(int times)
{
    for (int i = 0; i < times; i++) {
        assert_false(is_passed_on());
        assert_true(wf_load_relaxed(&m.open) == wf_mutex_thread_id);
        wf_mutex_lock(&m);
        wf_mutex_unlock_open(&m);
    }
}

static void test_deferred_unlock_lets_the_owner_reenter(void **state)
{
    (void)state;
    if (!can_return())
        skip();
    come_back(1000);
    wf_store_relaxed(&m.asked, 1);
    wf_mutex_lock(&m);
    wf_mutex_unlock_open(&m);
    assert_true(is_passed_on());
    assert_int_equal(wf_load_relaxed(&m.open), 0);
}

static void test_and_while_the_next_waiter_wakes_up(void **state)
{
    (void)state;
    if (!can_return())
        skip();
    wf_mutex_lock(&m);
    wf_store_relaxed(&m.asleep, 1 << 1);
    wf_mutex_unlock_open(&m);
    assert_int_equal(wf_load_relaxed(&m.asleep), 0);
    come_back(10);
}

static void test_unlock_passes_the_lock_on(void **state)
{
    (void)state;
    somebody_waits();
    wf_mutex_unlock(&m);
    assert_true(is_passed_on());
}

/* Inside, while another thread waits. */
static pthread_t keep_another_waiting(void)
{
    pthread_t t;

    reset_case();
    wf_mutex_lock(&m);
    assert_int_equal(pthread_create(&t, NULL, visit_once, NULL), 0);
    while (!wf_mutex_contended(&m))
        sched_yield();
    return t;
}

static void test_a_waiter_enters_a_lock_left_open(void **state)
{
    pthread_t t = keep_another_waiting();

    (void)state;
    wf_mutex_unlock_open(&m); /* and never come back */
    pthread_join(t, NULL);
    assert_int_equal(plain, 1);
}

static void test_a_waiter_leaves_it_to_the_owner_for_a_while(void **state)
{
    pthread_t t;

    (void)state;
    if (!can_return())
        skip();
    wf_store_relaxed(&stands, 1);
    t = keep_another_waiting();
    for (int i = 0; i < 100; i++) {
        wf_mutex_unlock_open(&m);
        sched_yield();
        assert_true(wf_load_relaxed(&m.open) == wf_mutex_thread_id);
        wf_mutex_lock(&m);
    }
    wf_mutex_unlock_open(&m);
    wf_store_relaxed(&stands, 0);
    pthread_join(t, NULL);
    assert_int_equal(plain, 1);
}

static void test_a_waiter_gets_in_beside_a_busy_owner(void **state)
{
    pthread_t t = keep_another_waiting();

    (void)state;
    while (plain == 0) {
        wf_mutex_unlock_open(&m);
        wf_mutex_lock(&m);
    }
    wf_mutex_unlock(&m);
    pthread_join(t, NULL);
}

/* ---- all at once --------------------------------------------------------- */

/* A starved machine makes of each yield a turn of its run queue: there the
 * threads end early. */
static bool is_time_up(void)
{
    return wf_clock_ns() - stress_begun > STRESS_S * 1000000000ull;
}

static void *come_and_go(void *arg)
{
    unsigned way = (unsigned)(uintptr_t)arg;
    uint32_t i;

    for (i = 0; i < VISITS && !is_time_up(); i++) {
        bool in = false;
        while (way == 1 && !is_time_up() && !(in = wf_mutex_try(&m)))
            sched_yield();
        if (way != 1)
            wf_mutex_lock(&m);
        else if (!in)
            break;
        plain++;
        if (way == 2)
            sched_yield(); /* let the others fall asleep */
        if (i % 2)
            wf_mutex_unlock(&m);
        else
            wf_mutex_unlock_open(&m);
        for (unsigned k = 0; k < 200 * (i % 8); k++)
            wf_cpu_relax();
    }
    wf_add_acq_rel(&visits, i);
    wf_add_acq_rel(&gone, 1);
    return NULL;
}

static void *be_owner(void *count)
{
    uint64_t n = 0;

    for (; (n < ENTRIES && (n % 1024 || !is_time_up())) ||
           wf_load_acquire(&gone) < OTHERS;
         n++) {
        wf_mutex_lock(&m);
        plain++;
        if (!m.owner_word)
            m.revoked = 0; /* biased again and again */
        if (n % 1024 == 0)
            sched_yield(); /* revokers sleep until this one is out */
        wf_mutex_unlock_open(&m);
    }
    *(uint64_t *)count = n;
    return NULL;
}

static void test_stress(void **state)
{
    pthread_t others[OTHERS], owner;
    uint64_t n;

    (void)state;
    reset_case();
    stress_begun = wf_clock_ns();
    assert_int_equal(pthread_create(&owner, NULL, be_owner, &n), 0);
    for (uintptr_t i = 0; i < OTHERS; i++)
        assert_int_equal(
            pthread_create(&others[i], NULL, come_and_go, (void *)i), 0);
    for (int i = 0; i < OTHERS; i++)
        pthread_join(others[i], NULL);
    pthread_join(owner, NULL);
    assert_int_equal(plain, n + wf_load_relaxed(&visits));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_another_thread_revokes_the_bias),
        cmocka_unit_test(
            test_each_revocation_doubles_the_entries_before_a_bias),
        cmocka_unit_test(test_alternating_threads_get_no_bias),
        cmocka_unit_test(test_try_enters_only_a_free_mutex),
        cmocka_unit_test(test_more_owners_than_slots),
        cmocka_unit_test(test_a_thread_gets_the_slot_of_an_ended_one),
        cmocka_unit_test(test_deferred_unlock_lets_the_owner_reenter),
        cmocka_unit_test(test_and_while_the_next_waiter_wakes_up),
        cmocka_unit_test(test_unlock_passes_the_lock_on),
        cmocka_unit_test(test_a_waiter_enters_a_lock_left_open),
        cmocka_unit_test(test_a_waiter_leaves_it_to_the_owner_for_a_while),
        cmocka_unit_test(test_a_waiter_gets_in_beside_a_busy_owner),
        cmocka_unit_test(test_stress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
