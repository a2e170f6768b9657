/* A thread that waits while others of its rank wait, too, more of them than
 * there are CPUs, gives its CPU away between looks, a bounded number of times
 * (docs/internals/progress-and-wakeups.md).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/config.h"
#include "process/rank.h"
#include "progress/wait.h"
#include "progress_rig.h"
#include "protocol/engine.h"

enum { LOOKS = 4000, MANY = 100000, TURN = 20 /* ns */ };

static void begin_with(uint64_t spin, unsigned others)
{
    options = (struct wf_core_options){.spin = spin, .credits = 1 << 20};
    rig_open((struct wf_rank){.job.size = 1, .local_count = 1}, TURN);
    wf_cs_allow_threads(&wf.api);
    assert_int_equal(wf_engine_init(&wf), 0);
    wf.progress->waiting = others;
}

static void end_case(void)
{
    wf_progress_fini(&wf);
    wf_engine_fini(&wf);
}

static bool has_polled(void *times)
{
    return fabric.polls >= *(int *)times;
}

static bool has_slept(void *unused)
{
    return wf.progress->sleeps > 0;
}

static void wait_for(bool (*done)(void *), void *arg)
{
    wf_cs_enter(&wf.api);
    wf_progress_wait(&wf, UINT32_MAX, done, arg, NULL);
    wf_cs_leave(&wf.api);
}

/* It does not sleep, and does not keep the others from running. */
static void with_more_waiters_than_cpus_a_waiter_yields(void **state)
{
    int looks = LOOKS;

    begin_with(WF_AUTO, 2);
    wait_for(has_polled, &looks);
    assert_in_range(yields, LOOKS / 512, LOOKS / 128);
    assert_true(wf.progress->sleeps == 0);
    end_case();
}

static void with_a_cpu_for_each_waiter_there_is_no_yield(void **state)
{
    int looks = LOOKS / 4;

    begin_with(WF_AUTO, 1);
    wait_for(has_polled, &looks);
    assert_int_equal(yields, 0);
    end_case();
}

static void a_waiter_sleeps_in_the_end(void **state)
{
    begin_with(WF_AUTO, 2);
    wait_for(has_slept, NULL);
    assert_in_range(yields, 1, 64);
    assert_in_range(fabric.polls, 1, MANY);
    end_case();
}

/* core.spin = 0 */
static void a_waiter_that_may_not_spin_sleeps_at_once(void **state)
{
    begin_with(0, 2);
    wait_for(has_slept, NULL);
    assert_int_equal(yields, 0);
    assert_in_range(fabric.polls, 1, 4);
    end_case();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_more_waiters_than_cpus_a_waiter_yields),
        cmocka_unit_test(with_a_cpu_for_each_waiter_there_is_no_yield),
        cmocka_unit_test(a_waiter_sleeps_in_the_end),
        cmocka_unit_test(a_waiter_that_may_not_spin_sleeps_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
