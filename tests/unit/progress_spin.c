/* How long a wait polls before it sleeps (docs/design.md, "Waiting").
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <sys/epoll.h>

#include "progress_rig.h"

enum { POLL = 100, WAKE_UP = 90000, AGE = 10000000, LEAST = 2000, USUAL = 50000 /* ns */ };

static uint64_t lasts, yield_lasts; /* a sleep, a yield, ns */
static int sleeps;

/* In the place of the C library's. */
int epoll_wait(int epoll, struct epoll_event *events, int n, int timeout)
{
    now += lasts;
    sleeps++;
    return 0;
}

static void others_run(void)
{
    now += yield_lasts;
}

static void open_for(uint64_t spin)
{
    options = (struct wf_core_options){.spin = spin, .credits = 1 << 20};
    rig_open((struct wf_instance){.nprocs = 1, .local_count = 1}, POLL);
    assert_int_equal(wf_engine_init(&wf), 0);
    sleeps = 0;
}

static void end(void)
{
    wf_progress_fini(&wf);
    wf_engine_fini(&wf);
}

static bool has_slept(void *wanted)
{
    return sleeps >= *(int *)wanted;
}

/* One that only a sleep of so many ns ends. Returns how long it polled. */
static uint64_t wait_asleep(uint64_t ns)
{
    uint64_t start = now;
    int wanted = sleeps + 1;

    lasts = ns;
    wf_progress_wait(&wf, 1, has_slept, &wanted, NULL);
    return now - start - (uint64_t)(sleeps - wanted + 1) * ns;
}

static uint64_t polls_after(int times, uint64_t ns)
{
    for (int i = 0; i < times; i++)
        wait_asleep(ns);
    return wf.progress->spin;
}

static void who_sleeps_for_long_each_time_polls_for_less(void **state)
{
    open_for(WF_AUTO);
    assert_true(wait_asleep(AGE) >= USUAL);
    assert_int_equal(polls_after(10, AGE), LEAST);
    assert_in_range(wait_asleep(AGE), LEAST, 4 * LEAST);
    end();
}

/* The other one slept, too. */
static void but_not_who_slept_for_as_long_as_a_wake_up_takes(void **state)
{
    open_for(WF_AUTO);
    assert_int_equal(polls_after(10, AGE), LEAST);
    assert_true(polls_after(8, WAKE_UP) >= 2 * WAKE_UP);
    assert_true(polls_after(100, WAKE_UP) <= 4 * USUAL);
    assert_int_equal(polls_after(10, AGE), LEAST);
    end();
}

static void who_was_told_how_long_never_polls_for_longer(void **state)
{
    open_for(20000);
    assert_int_equal(polls_after(10, WAKE_UP), 20000);
    assert_in_range(wait_asleep(WAKE_UP), 20000, 30000);
    end();
}

/* It spins for as long as it has learnt to before it gives way. */
static void the_other_rank_of_this_cpu_is_none_that_computes(void **state)
{
    open_for(WF_AUTO);
    assert_true(polls_after(100, WAKE_UP) >= 3 * USUAL);
    yield_lasts = wf.progress->spin + 20000;
    meanwhile = others_run;
    polls_after(100, WAKE_UP);
    yields = 0;
    polls_after(1, WAKE_UP);
    assert_true(yields > 0);
    end();
}

static void beside_one_that_computes_nobody_polls_for_longer(void **state)
{
    open_for(WF_AUTO);
    polls_after(100, WAKE_UP);
    yield_lasts = AGE;
    meanwhile = others_run;
    polls_after(100, WAKE_UP);
    assert_int_equal(polls_after(20, WAKE_UP), LEAST);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_sleeps_for_long_each_time_polls_for_less),
        cmocka_unit_test(but_not_who_slept_for_as_long_as_a_wake_up_takes),
        cmocka_unit_test(who_was_told_how_long_never_polls_for_longer),
        cmocka_unit_test(the_other_rank_of_this_cpu_is_none_that_computes),
        cmocka_unit_test(beside_one_that_computes_nobody_polls_for_longer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
