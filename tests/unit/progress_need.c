/* Which endpoints a waiter polls: those that can complete what it waits for at
 * every turn, the others rarely (docs/design.md, "Waiting").
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "progress/wait.h"
#include "protocol/queues.h"

enum { TURNS = 10 * OTHERS_EVERY };

struct weft_ep {
    int polls;
};

static weft_ep near, far;
static struct wf_instance wf;
static struct wf_core_options options;

static int count(weft_ep *ep, int budget)
{
    ep->polls++;
    return 0;
}

static const weft_ops ops = {.size = sizeof ops, .progress = count};

static int begin(void **state)
{
    wf = (struct wf_instance){.options = &options, .ep_count = 2};
    near.polls = far.polls = 0;
    assert_int_equal(wf_progress_init(&wf), 0);
    for (int i = 0; i < 2; i++) {
        wf.eps[i].ops = &ops;
        wf.eps[i].index = i;
        wf.eps[i].wf = &wf;
        wf.eps[i].ep = i ? &far : &near;
        assert_int_equal(wf_progress_add(&wf, &wf.eps[i]), 0);
    }
    return 0;
}

static int end(void **state)
{
    wf_progress_fini(&wf);
    return 0;
}

static void poll_for(struct wf_req *r)
{
    for (int i = 0; i < TURNS; i++)
        wf_progress_poll(&wf, wf_req_endpoints(r));
}

static void any_source_needs_the_endpoints_in_use(void **state)
{
    struct wf_p2p p = {.req = {.wf = &wf, .type = WF_REQ_RECV}};

    wf.used = 1;
    poll_for(&p.req);
    assert_int_equal(near.polls, TURNS);
    assert_int_equal(far.polls, TURNS / OTHERS_EVERY);
}

static void a_collective_needs_no_more(void **state)
{
    struct wf_req r = {.wf = &wf, .type = WF_REQ_SCHEDULE};

    wf.used = 2;
    poll_for(&r);
    assert_int_equal(near.polls, TURNS / OTHERS_EVERY);
    assert_int_equal(far.polls, TURNS);
}

static void a_source_needs_its_lanes(void **state)
{
    struct weft_loc loc = {.lanes = 1};
    struct wf_p2p p = {.req = {.wf = &wf, .type = WF_REQ_RECV}, .loc = &loc};

    loc.lane[0].core = &wf.eps[0];
    wf.used = 3;
    poll_for(&p.req);
    assert_int_equal(near.polls, TURNS);
    assert_int_equal(far.polls, TURNS / OTHERS_EVERY);
}

/* Nobody is connected yet: the first caller may come through any of them. */
static void before_anybody_is_known_all_are_needed(void **state)
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
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_collective_needs_no_more, begin, end),
        cmocka_unit_test_setup_teardown(a_source_needs_its_lanes, begin, end),
        cmocka_unit_test_setup_teardown(before_anybody_is_known_all_are_needed,
                                        begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
