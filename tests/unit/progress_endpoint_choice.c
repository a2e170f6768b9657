/* Which endpoints a waiter polls: those that can complete what it waits for at
 * every turn, the others rarely (docs/internals/progress-and-wakeups.md).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "config/config.h"
#include "group/endpoint_mask.h"
#include "os/tuning.h"
#include "process/rank.h"
#include "progress/wait.h"
#include "protocol/endpoint_source.h"
#include "protocol/queues.h"
#include "protocol/request.h"
#include "route/links.h"

enum { TURNS = 10 * WF_OTHERS_EVERY };

struct weft_ep {
    int polls; /* so far */
    int found; /* at each */
};

static weft_ep near, far;
static struct wf_rank wf_rank;
static struct wf_instance wf = {.rank = &wf_rank};
static struct wf_links links;
static struct wf_core_options options;
static uint64_t now, tick; /* ns; and what a turn takes */

static int count_events(weft_ep *ep, int budget)
{
    ep->polls++;
    return ep->found;
}

static uint64_t clock_now(void *clock)
{
    return now;
}

static const weft_ops ops = {.size = sizeof ops, .progress = count_events};

static int begin_case(void **state)
{
    wf_rank = (struct wf_rank){.home = &wf, .options = &options};
    links = (struct wf_links){.ep_count = 2};
    wf = (struct wf_instance){
        .rank = &wf_rank, .links = &links, .now_ns = clock_now};
    near = far = (weft_ep){0};
    tick = WF_OTHERS_APART_MOST_NS / (WF_OTHERS_EVERY - 2) + 1;
    assert_int_equal(wf_progress_init(&wf), 0);
    for (int i = 0; i < 2; i++) {
        links.eps[i].ops = &ops;
        links.eps[i].index = i;
        links.eps[i].wf = &wf;
        links.eps[i].ep = i ? &far : &near;
        assert_int_equal(wf_endpoint_add_source(&links.eps[i]), 0);
    }
    return 0;
}

static int end_case(void **state)
{
    wf_progress_fini(&wf);
    return 0;
}

static void poll_for(struct wf_req *r)
{
    for (int i = 0; i < TURNS; i++) {
        now += tick;
        wf_progress_poll(&wf, wf_req_endpoints(r));
    }
}

static void any_source_needs_the_endpoints_in_use(void **state)
{
    struct wf_p2p p = {.req = {.wf = &wf, .type = WF_REQ_RECV}};

    links.used = 1;
    poll_for(&p.req);
    assert_int_equal(near.polls, TURNS);
    assert_int_equal(far.polls, TURNS / WF_OTHERS_EVERY);
}

static void a_collective_needs_only_those_too(void **state)
{
    struct wf_req r = {.wf = &wf, .type = WF_REQ_SCHEDULE};

    links.used = 2;
    poll_for(&r);
    assert_int_equal(near.polls, TURNS / WF_OTHERS_EVERY);
    assert_int_equal(far.polls, TURNS);
}

static void a_source_needs_its_lanes(void **state)
{
    struct weft_loc loc = {.lanes = 1};
    struct wf_p2p p = {.req = {.wf = &wf, .type = WF_REQ_RECV}, .loc = &loc};

    loc.lane[0].core = &links.eps[0];
    links.used = 3;
    poll_for(&p.req);
    assert_int_equal(near.polls, TURNS);
    assert_int_equal(far.polls, TURNS / WF_OTHERS_EVERY);
}

/* Turns that take 6 ns: WF_OTHERS_EVERY of them 1.5 us. */
static void quick_turns(struct wf_req *r, int times)
{
    tick = 6;
    for (int i = 0; i < times; i++)
        poll_for(r);
}

static void an_idle_endpoint_is_polled_more_and_more_rarely(void **state)
{
    struct wf_req r = {.wf = &wf, .type = WF_REQ_SCHEDULE};
    int first, later;

    links.used = 1;
    quick_turns(&r, 10); /* 150 us */
    first = far.polls;
    quick_turns(&r, 100);
    later = far.polls - first;
    assert_in_range(first, 4, 10);
    assert_in_range(later, 1500 / 100 / 2, 1500 / 100 + 1);
    assert_int_equal(near.polls, 110 * TURNS);
}

static void an_event_makes_an_endpoint_polled_often_again(void **state)
{
    struct wf_req r = {.wf = &wf, .type = WF_REQ_SCHEDULE};

    links.used = 1;
    quick_turns(&r, 100);
    far.found = 1;
    quick_turns(&r, 10); /* finds that out */
    far.polls = 0;
    quick_turns(&r, 1);
    assert_int_equal(far.polls, TURNS / WF_OTHERS_EVERY);
}

static void events_elsewhere_do_not_change_an_idle_endpoint(void **state)
{
    struct wf_req r = {.wf = &wf, .type = WF_REQ_SCHEDULE};

    links.used = 1;
    near.found = 1;
    quick_turns(&r, 100);
    far.polls = 0;
    quick_turns(&r, 100);
    assert_in_range(far.polls, 1500 / 100 / 2, 1500 / 100 + 1);
}

/* Two communicators of a process that talks to one neighbour through `near`, to
 * another through `far`: each needs its own, and both need both. */
static void a_communicator_needs_what_its_members_are_reached_through(void **s)
{
    struct weft_loc by_near = {.wf = &wf}, by_far = {.wf = &wf};
    struct weft_loc *locs[] = {NULL, &by_near, &by_far};
    struct wf_group one = {.size = 2, .first = 0, .stride = 1};
    struct wf_group other = {.size = 2, .first = 0, .stride = 2};
    struct wf_group all = {.size = 3, .first = 0, .stride = 1};
    struct wf_comm c = {.wf = &wf, .local = &one, .peers = &one};
    struct wf_comm d = {.wf = &wf, .local = &other, .peers = &other};
    struct wf_comm e = {.wf = &wf, .local = &all, .peers = &all};
    struct wf_p2p any = {.req = {.wf = &wf, .type = WF_REQ_RECV, .comm = &c}};

    links.own.of = locs;
    links.own.size = sizeof locs / sizeof locs[0];
    wf.rank->job.size = 3;
    by_near.peers[0] = (weft_peer *)&near;
    by_far.peers[1] = (weft_peer *)&far;
    links.used = 3;
    poll_for(&any.req);
    assert_int_equal(near.polls, TURNS);
    assert_int_equal(far.polls, TURNS / WF_OTHERS_EVERY);
    assert_int_equal(wf_comm_endpoint_mask(&d), 2);
    assert_int_equal(wf_comm_endpoint_mask(&e), 3);
}

/* A process that no other has reached may call by whatever is in use; once one
 * has, the answer follows. */
static void an_unreached_member_may_use_any_endpoint(void **state)
{
    struct weft_loc peer = {.wf = &wf};
    struct weft_loc *locs[] = {NULL, &peer};
    struct wf_group two = {.size = 2, .first = 0, .stride = 1};
    struct wf_comm c = {.wf = &wf, .local = &two, .peers = &two};

    links.own.of = locs;
    links.own.size = sizeof locs / sizeof locs[0];
    wf.rank->job.size = 2;
    links.used = 3;
    assert_int_equal(wf_comm_endpoint_mask(&c), 3);
    peer.peers[1] = (weft_peer *)&far;
    links.attached++; /* as wf_location_attach does */
    assert_int_equal(wf_comm_endpoint_mask(&c), 2);
}

/* Nobody is connected yet: the first caller may come through any of them. */
static void before_any_peer_is_known_all_are_polled(void **state)
{
    struct wf_p2p p = {.req = {.wf = &wf, .type = WF_REQ_RECV}};

    poll_for(&p.req);
    assert_int_equal(near.polls, TURNS);
    assert_int_equal(far.polls, TURNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(any_source_needs_the_endpoints_in_use,
                                        begin_case, end_case),
        cmocka_unit_test_setup_teardown(a_collective_needs_only_those_too,
                                        begin_case, end_case),
        cmocka_unit_test_setup_teardown(
            an_idle_endpoint_is_polled_more_and_more_rarely, begin_case,
            end_case),
        cmocka_unit_test_setup_teardown(
            an_event_makes_an_endpoint_polled_often_again, begin_case,
            end_case),
        cmocka_unit_test_setup_teardown(
            events_elsewhere_do_not_change_an_idle_endpoint, begin_case,
            end_case),
        cmocka_unit_test_setup_teardown(a_source_needs_its_lanes, begin_case,
                                        end_case),
        cmocka_unit_test_setup_teardown(
            a_communicator_needs_what_its_members_are_reached_through,
            begin_case, end_case),
        cmocka_unit_test_setup_teardown(
            an_unreached_member_may_use_any_endpoint, begin_case, end_case),
        cmocka_unit_test_setup_teardown(before_any_peer_is_known_all_are_polled,
                                        begin_case, end_case),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
