/* Every way by which the helper thread is woken, and what it leaves alone: the
 * list is that of docs/internals/progress-and-wakeups.md.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "wait_rig.h"

#include <dirent.h>

#include "process/endpoint.h"
#include "process/rank.h"
#include "protocol/helper.h"
#include "protocol/helper_requests.h"

static struct wf_p2p left; /* something that is left to itself */

static void complete_request(void *unused)
{
    wf_req_complete(&left.req, 0);
}

/* Somebody left a request to itself, with the section held. */
static void leave_to_itself(void)
{
    if (!wf.progress->may_help)
        wf_progress_allow_helper(&wf);
    left = (struct wf_p2p){.req = {.wf = &wf, .type = WF_REQ_SCHEDULE}};
    wf_object_init(&left.req.object, WF_KIND_REQUEST);
    wf_register_with_helper(&left.req);
    assert_true(left.req.flags & WF_REQ_WITH_HELPER);
}

static void pause_section(void)
{
    wf_cs_leave(&wf.api);
    sched_yield();
    wf_cs_enter(&wf.api);
}

static void until_the_helper_has_armed(void)
{
    while (!fabrics[0].armed || !fabrics[1].armed)
        pause_section();
}

static void until_the_request_is_done(void)
{
    while (!wf_req_done(&left.req))
        pause_section();
}

static void the_helper_is_woken_by_an_endpoint(void **state)
{
    wf_cs_enter(&wf.api);
    leave_to_itself();
    until_the_helper_has_armed();
    announce_arrival(&fabrics[1], complete_request, NULL);
    until_the_request_is_done();
    nothing_was_missed();
}

static void a_poll_that_disarms_it_wakes_the_helper(void **state)
{
    wf_cs_enter(&wf.api);
    leave_to_itself();
    until_the_helper_has_armed();
    wf_progress_poll(&wf, UINT32_MAX);
    announce_arrival(&fabrics[0], complete_request, NULL);
    until_the_request_is_done();
    nothing_was_missed();
}

static void until_parked(void)
{
    while (!wf.progress->parked)
        pause_section();
}

static void a_call_that_leaves_something_wakes_a_parked_helper(void **state)
{
    wf_cs_enter(&wf.api);
    leave_to_itself();
    complete_request(NULL);
    until_parked();
    leave_to_itself();
    until_the_helper_has_armed();
    announce_arrival(&fabrics[0], complete_request, NULL);
    until_the_request_is_done();
    nothing_was_missed();
}

/* While somebody waits, that one does what the helper would. */
static void the_last_waiter_wakes_a_parked_helper(void **state)
{
    start_sleepers(1);
    leave_to_itself();
    until_parked();
    set_flag(&sleepers[0].done);
    wf_progress_notify(&wf);
    until_woken(0);
    until_the_helper_has_armed();
    announce_arrival(&fabrics[0], complete_request, NULL);
    until_the_request_is_done();
    nothing_was_missed();
}

static struct weft_core fetched_from;
static struct weft_loc there;

static void its_end(struct wf_req *r)
{
}

/* A large message that its receiver may fetch. */
static void leave_an_offer(uint32_t caps, bool approves)
{
    if (!wf.progress->may_help)
        wf_progress_allow_helper(&wf);
    fetched_from.attr.caps = caps;
    there.approves = approves;
    left = (struct wf_p2p){.req = {.wf = &wf, .type = WF_REQ_SEND,
                                   .on_complete = its_end},
                           .loc = &there,
                           .waits = WF_WAITS_ANSWER,
                           .bytes = 16 << 20,
                           .pull = {.core = &fetched_from}};
    wf_object_init(&left.req.object, WF_KIND_REQUEST);
    wf_register_with_helper(&left.req);
    assert_true(left.req.flags & WF_REQ_WITH_HELPER);
}

static void an_operation_of_the_peer_alone_needs_no_helper(void **state)
{
    wf_cs_enter(&wf.api);
    leave_an_offer(0, false);
    assert_int_equal(wf.api.quiescent_ops, 0);
    complete_request(NULL);
    leave_an_offer(WEFT_CAP_GET_ALONE, true); /* it did not, the last time */
    assert_int_equal(wf.api.quiescent_ops, 0);
    complete_request(NULL);
    leave_an_offer(WEFT_CAP_GET_ALONE, false);
    assert_int_equal(wf.api.quiescent_ops, 1);
    wf_req_needs_progress(&left.req);
    assert_int_equal(wf.api.quiescent_ops, 0);
    complete_request(NULL);
    leave_an_offer(WEFT_CAP_GET_ALONE, false);
    complete_request(NULL);
    assert_int_equal(wf.api.quiescent_ops, 0);
    assert_int_equal(wf.api.helper_ops, 0);
    nothing_was_missed();
}

/* Perhaps it does not: the helper looks at it, too, though later. */
static void such_an_operation_is_still_completed(void **state)
{
    wf_cs_enter(&wf.api);
    leave_to_itself();
    complete_request(NULL);
    until_parked();
    leave_an_offer(WEFT_CAP_GET_ALONE, false);
    until_the_helper_has_armed();
    announce_arrival(&fabrics[0], complete_request, NULL);
    until_the_request_is_done();
    nothing_was_missed();
}

/* A waiter polls, so the helper may sleep on. It is called by the next who
 * leaves something, or by the last who waits. */
static void a_waiter_that_disarms_it_does_not_wake_the_helper(void **state)
{
    wf_cs_enter(&wf.api);
    leave_to_itself();
    until_the_helper_has_armed();
    wf.progress->waiting++;
    wf_progress_poll(&wf, UINT32_MAX);
    assert_true(wf.progress->parked);
    wf.progress->waiting--;
    complete_request(NULL);
    leave_to_itself();
    until_the_helper_has_armed();
    announce_arrival(&fabrics[0], complete_request, NULL);
    until_the_request_is_done();
    nothing_was_missed();
}

static void the_helper_reports_whether_a_cpu_is_idle(void **state)
{
    static const struct {
        uint32_t processes, cpus, own;
        int helping; /* 2: none to spare */
    } cases[] = {{1, 2, 2, 1}, {2, 2, 2, 2}, {1, 2, 1, 2}};

    for (int i = 0; i < 3; i++) {
        wf.rank->local_count = cases[i].processes;
        wf.rank->cpus = cases[i].cpus;
        wf.rank->own_cpus = cases[i].own; /* where the helper has to run, too */
        wf_cs_enter(&wf.api);
        leave_to_itself();
        until_the_helper_has_armed();
        assert_int_equal(fabrics[0].helping, cases[i].helping);
        complete_request(NULL);
        wf_cs_leave(&wf.api);
        wf_progress_stop_helper(&wf); /* asks again when it is started again */
        fabrics[0].armed = fabrics[1].armed = false;
    }
}

/* Of all threads but this one. */
static int cpus_of_the_others(void)
{
    DIR *tasks = opendir("/proc/self/task");
    cpu_set_t cpus;
    int most = 0;

    assert_non_null(tasks);
    for (struct dirent *d; (d = readdir(tasks)) != NULL;) {
        pid_t id = (pid_t)atoi(d->d_name);
        if (id && id != getpid() &&
            sched_getaffinity(id, sizeof cpus, &cpus) == 0 &&
            CPU_COUNT(&cpus) > most)
            most = CPU_COUNT(&cpus);
    }
    closedir(tasks);
    return most;
}

/* The program has bound the thread that calls first to one CPU. */
static void the_helper_may_use_all_cpus_of_the_program(void **state)
{
    cpu_set_t all, one;
    int first = 0;

    sched_getaffinity(0, sizeof all, &all);
    if (CPU_COUNT(&all) < 2) {
        print_message("skipped: there is one CPU\n");
        skip();
    }
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    wf_progress_allow_helper(&wf);
    sched_setaffinity(0, sizeof one, &one);
    wf_cs_enter(&wf.api);
    leave_to_itself();
    until_the_helper_has_armed();
    assert_int_equal(cpus_of_the_others(), CPU_COUNT(&all));
    complete_request(NULL);
    sched_setaffinity(0, sizeof all, &all);
    nothing_was_missed();
}

static void post_a_large_receive(uint64_t bytes)
{
    if (!wf.progress->may_help)
        wf_progress_allow_helper(&wf);
    fetched_from.attr.caps = WEFT_CAP_GET_ALONE;
    left = (struct wf_p2p){.req = {.wf = &wf, .type = WF_REQ_RECV,
                                   .on_complete = its_end},
                           .bytes = bytes, .expected = bytes};
    wf_object_init(&left.req.object, WF_KIND_REQUEST);
}

static void match_message(void *unused)
{
    left.pull.core = &fetched_from;
}

/* No CPU to spare, and the sender moves it: to look before that can be over
 * would only cost the program time. */
static void the_helper_does_not_poll_transfers_under_way(void **state)
{
    uint64_t start = wf_now(&wf);

    wf.rank->local_count = wf.rank->cpus = wf.rank->own_cpus = 1;
    wf_cs_enter(&wf.api);
    post_a_large_receive(600 << 20);
    match_message(NULL);
    wf_register_with_helper(&left.req);
    until_the_helper_has_armed();
    assert_true(wf_now(&wf) - start > 5000000);
    complete_request(NULL);
    nothing_was_missed();
}

static void a_large_receive_meets_its_sender(void **state)
{
    wf_cs_enter(&wf.api);
    post_a_large_receive(16 << 20);
    announce_arrival(&fabrics[1], match_message, NULL);
    wf_store_relaxed(&lost, 1000000); /* it looks once, however late it is */
    wf_helper_poll_announcement(&left.req);
    wf_store_relaxed(&lost, 0);
    assert_ptr_equal(left.pull.core, &fetched_from);
    post_a_large_receive(1 << 20); /* this one does not wait for it */
    announce_arrival(&fabrics[1], match_message, NULL);
    wf_helper_poll_announcement(&left.req);
    assert_null(left.pull.core);
    nothing_was_missed();
}

#define RULE(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RULE(the_helper_is_woken_by_an_endpoint),
        RULE(a_poll_that_disarms_it_wakes_the_helper),
        RULE(a_call_that_leaves_something_wakes_a_parked_helper),
        RULE(the_last_waiter_wakes_a_parked_helper),
        RULE(a_waiter_that_disarms_it_does_not_wake_the_helper),
        RULE(the_helper_reports_whether_a_cpu_is_idle),
        RULE(the_helper_may_use_all_cpus_of_the_program),
        RULE(the_helper_does_not_poll_transfers_under_way),
        RULE(a_large_receive_meets_its_sender),
        RULE(an_operation_of_the_peer_alone_needs_no_helper),
        RULE(such_an_operation_is_still_completed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
