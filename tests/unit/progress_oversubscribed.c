/* A receive that polls for its message where ranks outnumber CPUs gives its CPU
 * away between two looks (docs/internals/progress-and-wakeups.md).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/config.h"
#include "process/rank.h"
#include "progress/wait.h"
#include "progress_rig.h"

enum { FEW = 8, SHORT = 5000, LONG = 1000000000 /* ns */ };
enum { MANY = 500, TURN = 10000 /* ns */ };

static wf_atomic_u32 arrived;

/* How often the CPU is given away in vain, until it is time to wait in earnest;
 * others do what they do meanwhile. */
static int times_given_away(int ranks, bool threads, void (*others)(void))
{
    int looks = 0;

    options.spin = WF_AUTO;
    rig_open((struct wf_rank){.local_count = (uint32_t)ranks}, 0);
    wf_progress_is_oversubscribed(&wf); /* asked at the first wait */
    wf_store_relaxed(&arrived, 0);
    meanwhile = others;
    wf.api.on = threads;
    while (wf_progress_keep_spinning(&wf, &links.eps[0].source, &arrived,
                                     &looks))
        ;
    wf.api.on = false;
    wf_progress_fini(&wf);
    return yields;
}

static void let_arrive(void)
{
    wf_store_relaxed(&arrived, 1);
}

static void compute_long(void)
{
    now += LONG;
}

static void the_cpu_is_given_away_a_few_times(void **state)
{
    assert_in_range(times_given_away(4, false, NULL), 2, FEW);
}

static void one_yield_is_enough_if_a_message_came(void **state)
{
    assert_int_equal(times_given_away(4, false, let_arrive), 1);
}

static void no_second_yield_beside_a_process_that_computes(void **state)
{
    assert_int_equal(times_given_away(4, false, compute_long), 1);
}

static void take_many_turns(void)
{
    now += MANY * TURN;
}

/* Not one of them computes, though the yield takes longer than a turn. */
static void many_ranks_on_a_cpu_may_take_a_turn_each(void **state)
{
    assert_in_range(times_given_away(2 * MANY, false, take_many_turns), 2, FEW);
    assert_int_equal(times_given_away(4, false, take_many_turns), 1);
    assert_int_equal(times_given_away(2 * MANY, false, compute_long), 1);
}

static void with_a_cpu_for_each_rank_there_is_no_yield(void **state)
{
    assert_int_equal(times_given_away(2, false, NULL), 0);
}

/* How many events one poll may handle. */
static int budget_of(int ranks)
{
    options.spin = WF_AUTO;
    rig_open((struct wf_rank){.local_count = (uint32_t)ranks}, 0);
    wf_progress_is_oversubscribed(&wf);
    wf_progress_poll(&wf, 1);
    wf_progress_fini(&wf);
    return fabric.budget;
}

static void the_poll_before_a_yield_has_a_large_budget(void **state)
{
    assert_true(budget_of(4) > 4 * budget_of(2));
}

/* The section is not left here, and they may be waiting for it. */
static void no_yield_beside_threads(void **state)
{
    assert_int_equal(times_given_away(4, true, NULL), 0);
}

/* ---- ranks that were bound to one CPU ------------------------------------ */

static int wanted; /* yields after which what is waited for is there */

static bool is_there(void *arg)
{
    return yields >= wanted;
}

static void another_runs(void)
{
    now += SHORT;
}

static void wait_often(int times, void (*others)(void))
{
    meanwhile = others;
    for (int i = 0; i < times; i++) {
        wanted = yields + 1;
        wf_progress_wait(&wf, 1, is_there, NULL, NULL);
    }
}

/* Returns whether a rank that is bound to one CPU counts as oversubscribed
 * after so many waits beside another rank, and so many alone. */
static bool is_oversubscribed_after(uint64_t spin, int beside, int alone)
{
    bool found;

    options.spin = spin;
    rig_open((struct wf_rank){.local_count = 2}, 1000);
    wf.rank->own_cpus = 1;
    assert_false(wf_progress_is_oversubscribed(&wf));
    wait_often(beside, another_runs);
    wait_often(alone, NULL);
    found = wf_progress_is_oversubscribed(&wf);
    wf_progress_fini(&wf);
    return found;
}

static void a_second_rank_on_the_only_cpu_is_noticed(void **state)
{
    assert_true(is_oversubscribed_after(WF_AUTO, 100, 0));
    assert_true(is_oversubscribed_after(WF_AUTO, 5100, 0));
}

static void the_end_of_the_other_rank_is_noticed(void **state)
{
    assert_false(is_oversubscribed_after(WF_AUTO, 100, 5000));
}

static void a_rank_alone_on_its_cpu_is_not_oversubscribed(void **state)
{
    assert_false(is_oversubscribed_after(WF_AUTO, 0, 100));
}

static void nor_is_one_with_a_configured_spin_time(void **state)
{
    assert_false(is_oversubscribed_after(20000, 100, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cpu_is_given_away_a_few_times),
        cmocka_unit_test(one_yield_is_enough_if_a_message_came),
        cmocka_unit_test(no_second_yield_beside_a_process_that_computes),
        cmocka_unit_test(many_ranks_on_a_cpu_may_take_a_turn_each),
        cmocka_unit_test(with_a_cpu_for_each_rank_there_is_no_yield),
        cmocka_unit_test(the_poll_before_a_yield_has_a_large_budget),
        cmocka_unit_test(no_yield_beside_threads),
        cmocka_unit_test(a_second_rank_on_the_only_cpu_is_noticed),
        cmocka_unit_test(the_end_of_the_other_rank_is_noticed),
        cmocka_unit_test(a_rank_alone_on_its_cpu_is_not_oversubscribed),
        cmocka_unit_test(nor_is_one_with_a_configured_spin_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
