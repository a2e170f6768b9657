/* How long a wait polls before it sleeps
 * (docs/internals/progress-and-wakeups.md).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <sys/epoll.h>

#include "config/config.h"
#include "process/rank.h"
#include "progress/wait.h"
#include "progress_rig.h"
#include "protocol/engine.h"

enum {
    POLL = 100,
    WAKE_UP = 90000,
    AGE = 10000000,
    LEAST = 2000,
    USUAL = 50000 /* ns */
};

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
    rig_open((struct wf_rank){.job.size = 1, .local_count = 1}, POLL);
    assert_int_equal(wf_engine_init(&wf), 0);
    sleeps = 0;
}

static void end_case(void)
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

static void long_sleeps_shorten_the_polling(void **state)
{
    open_for(WF_AUTO);
    assert_true(wait_asleep(AGE) >= USUAL);
    assert_int_equal(polls_after(10, AGE), LEAST);
    assert_in_range(wait_asleep(AGE), LEAST, 4 * LEAST);
    end_case();
}

/* The other one slept, too. */
static void sleeps_as_short_as_a_wake_up_do_not_shorten_it(void **state)
{
    open_for(WF_AUTO);
    assert_int_equal(polls_after(10, AGE), LEAST);
    assert_true(polls_after(8, WAKE_UP) >= 2 * WAKE_UP);
    assert_true(polls_after(100, WAKE_UP) <= 4 * USUAL);
    assert_int_equal(polls_after(10, AGE), LEAST);
    end_case();
}

static void a_configured_spin_time_is_never_exceeded(void **state)
{
    open_for(20000);
    assert_int_equal(polls_after(10, WAKE_UP), 20000);
    assert_in_range(wait_asleep(WAKE_UP), 20000, 30000);
    end_case();
}

/* It spins for as long as it has learnt to before it gives way. */
static void
a_rank_that_polls_on_this_cpu_does_not_count_as_computing(void **state)
{
    open_for(WF_AUTO);
    assert_true(polls_after(100, WAKE_UP) >= 3 * USUAL);
    yield_lasts = wf.progress->spin + 20000;
    meanwhile = others_run;
    polls_after(100, WAKE_UP);
    yields = 0;
    polls_after(1, WAKE_UP);
    assert_true(yields > 0);
    end_case();
}

static void polling_stays_short_beside_a_process_that_computes(void **state)
{
    open_for(WF_AUTO);
    polls_after(100, WAKE_UP);
    yield_lasts = AGE;
    meanwhile = others_run;
    polls_after(100, WAKE_UP);
    assert_int_equal(polls_after(20, WAKE_UP), LEAST);
    end_case();
}

/* It was about to start, say. */
static void one_that_computes_no_more_is_soon_forgotten(void **state)
{
    open_for(WF_AUTO);
    yield_lasts = AGE;
    meanwhile = others_run;
    polls_after(1, WAKE_UP);
    yield_lasts = 0;
    assert_true(polls_after(20, WAKE_UP) >= WAKE_UP);
    end_case();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_sleeps_shorten_the_polling),
        cmocka_unit_test(sleeps_as_short_as_a_wake_up_do_not_shorten_it),
        cmocka_unit_test(a_configured_spin_time_is_never_exceeded),
        cmocka_unit_test(
            a_rank_that_polls_on_this_cpu_does_not_count_as_computing),
        cmocka_unit_test(polling_stays_short_beside_a_process_that_computes),
        cmocka_unit_test(one_that_computes_no_more_is_soon_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
