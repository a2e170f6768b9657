/* Progress threads that are resident (core.progress = thread, or progress =
 * thread of a transport, or while the engine attends): no operation is left to
 * them, and they sleep on their sources whenever the program neither polls nor
 * waits.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "wait_rig.h"

#include "protocol/helper.h"
#include "protocol/helper_requests.h"

static wf_atomic_u32 arrived;
static struct wf_transport_config with_thread = {.name = "fab", .thread = true};

static void start_resident(void)
{
    wf_store_relaxed(&arrived, 0);
    options.progress = WF_PROGRESS_THREAD;
    wf_progress_allow_helper(&wf);
    weft_helpers.start(&wf);
    wf_cs_enter(&wf.api);
}

static void pause_section(void)
{
    wf_cs_leave(&wf.api);
    sched_yield();
    wf_cs_enter(&wf.api);
}

static void until_armed(int i)
{
    while (!fabrics[i].armed)
        pause_section();
}

static void until_arrived(void)
{
    while (!is_flagged(&arrived))
        pause_section();
    wf_store_relaxed(&arrived, 0);
}

static void arrive_at(int i)
{
    until_armed(i);
    announce_arrival(&fabrics[i], set_flag, &arrived);
    until_arrived();
}

static void it_sleeps_where_nothing_is_left_to_it(void **state)
{
    start_resident();
    until_armed(1);
    assert_int_equal(wf.api.helper_ops, 0);
    for (int i = 0; i < 20; i++)
        arrive_at(i % 2);
    nothing_was_missed();
}

/* A poll that finds nothing disarms it, and it comes back. */
static void a_program_that_stops_polling_is_replaced(void **state)
{
    start_resident();
    for (int i = 0; i < 20; i++) {
        until_armed(0);
        assert_false(wf_progress_is_only_thread(&wf)); /* the fast path ends */
        for (int k = 0; k < i; k++)
            wf_progress_poll(&wf, UINT32_MAX);
        arrive_at(i % 2);
    }
    nothing_was_missed();
}

/* It enters only if the program had no CPU for a pause, which is as long as
 * very many polls. */
static void a_program_that_polls_is_alone(void **state)
{
    enum { POLLS = 100000 };
    int arms;

    start_resident();
    until_armed(0);
    wf_progress_poll(&wf, UINT32_MAX);
    assert_true(wf_progress_is_only_thread(&wf));
    arms = fabrics[0].arms;
    for (int i = 0; i < POLLS; i++) {
        wf_progress_poll(&wf, UINT32_MAX);
        wf_cs_leave(&wf.api);
        wf_cs_enter(&wf.api);
    }
    assert_true(fabrics[0].arms - arms < POLLS / 20);
    assert_int_equal(wf.api.mutex.revoked, 0);
    arrive_at(0);
    nothing_was_missed();
}

static void who_waits_does_its_work_and_wakes_it_then(void **state)
{
    start_resident();
    wf_cs_leave(&wf.api);
    start_sleepers(1);
    while (!wf.progress->parked)
        pause_section();
    announce_arrival(&fabrics[1], set_flag, &arrived);
    until_arrived();
    set_flag(&sleepers[0].done);
    wf_progress_notify(&wf);
    until_woken(0);
    arrive_at(0);
    nothing_was_missed();
}

/* It is rung when no leader is there to take the ring back. */
static void the_bell_does_not_keep_it_awake(void **state)
{
    int arms;

    start_resident();
    until_armed(0);
    wf_progress_wake_leader(&wf);
    arrive_at(1);
    until_armed(0);
    arms = fabrics[0].arms;
    for (uint64_t end = wf_now(&wf) + 20000000; wf_now(&wf) < end;)
        pause_section();
    assert_true(fabrics[0].arms - arms < 10);
    nothing_was_missed();
}

static void a_transport_has_a_thread_of_its_own(void **state)
{
    links.eps[1].config = &with_thread;
    options.progress = WF_PROGRESS_CALLER;
    wf_store_relaxed(&arrived, 0);
    wf_progress_allow_helper(&wf);
    weft_helpers.start(&wf);
    wf_cs_enter(&wf.api);
    for (int i = 0; i < 10; i++)
        arrive_at(1);
    assert_int_equal(fabrics[0].arms, 0);
    nothing_was_missed();
}

static void another_thread_leaves_that_transport_alone(void **state)
{
    links.eps[1].config = &with_thread;
    start_resident();
    for (int i = 0; i < 20; i++)
        arrive_at(i % 2);
    nothing_was_missed();
}

static void one_for_operations_acts_at_any_time_while_it_attends(void **state)
{
    wf_store_relaxed(&arrived, 0);
    wf_progress_allow_helper(&wf);
    wf_cs_enter(&wf.api);
    assert_true(wf_helper_attend(&wf));
    assert_int_equal(wf.api.helper_ops, 0);
    for (int i = 0; i < 10; i++)
        arrive_at(i % 2);
    until_armed(0);
    wf_progress_poll(&wf, UINT32_MAX);
    assert_true(wf_progress_is_only_thread(&wf)); /* the fast path is open */
    wf_helper_stop_attending(&wf);
    while (!wf.progress->parked)
        pause_section();
    nothing_was_missed();
}

#define RULE(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RULE(it_sleeps_where_nothing_is_left_to_it),
        RULE(a_program_that_stops_polling_is_replaced),
        RULE(a_program_that_polls_is_alone),
        RULE(who_waits_does_its_work_and_wakes_it_then),
        RULE(the_bell_does_not_keep_it_awake),
        RULE(a_transport_has_a_thread_of_its_own),
        RULE(another_thread_leaves_that_transport_alone),
        RULE(one_for_operations_acts_at_any_time_while_it_attends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
