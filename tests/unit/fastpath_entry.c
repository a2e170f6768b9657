/* The one entry of a lane for messages that are copied (protocol/fastpath.h):
 * also lanes whose plugin takes headers from memory only have it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* */
#include <cmocka.h>

#include "config/config.h"
#include "process/rank.h"
#include "progress/wait.h"
#include "protocol/checked.h"
#include "protocol/engine.h"
#include "protocol/fastpath.h"
#include "protocol/send.h"
#include "route/links.h"

enum { CREDITS = 1 << 20, SHORT_MAX = 100, SIZE = 8 };

static struct wf_rank wf_rank;
static struct wf_instance wf;
static struct wf_links links;
static struct wf_progress progress;
static struct wf_core_options options;
static struct wf_transport_config name = {.name = "net"};
static struct weft_loc loc;
static int answer; /* of the plugin */

/* The plugin was given these. */
static weft_peer *to;
static uint64_t words[WEFT_HDR_MIN / 8];
static uint8_t type;
static unsigned flags;
static int taken;

static int take_short(weft_peer *p, const weft_hdr *hdr, const void *data,
                      size_t n, unsigned how)
{
    to = p;
    for (int i = 0; i < WEFT_HDR_MIN / 8; i++)
        words[i] = wf_wire_word(hdr, i);
    type = (uint8_t)words[0];
    flags = how;
    taken++;
    /* as a plugin whose callback sends another message would leave it */
    loc.pending_caller = 0;
    return answer;
}

static int take_words(const void *data, uint64_t h0, weft_peer *p, uint64_t h1,
                      uint64_t h2)
{
    to = p;
    taken++;
    return WEFT_OK;
}

static int refuse_container(weft_peer *p, weft_tx *t)
{
    return WEFT_EAGAIN;
}

static const weft_ops ops = {.size = sizeof ops, .send_short = take_short};

static int start_case(void **state)
{
    options = (struct wf_core_options){.credits = CREDITS};
    wf_rank =
        (struct wf_rank){.home = &wf, .options = &options, .job.size = 3};
    links = (struct wf_links){.ep_count = 1};
    wf = (struct wf_instance){
        .rank = &wf_rank, .links = &links, .progress = &progress};
    links.eps[0] = (struct weft_core){.wf = &wf, .ops = &ops, .config = &name};
    loc = (struct weft_loc){.wf = &wf, .id = 2, .lanes = 1};
    loc.lane[0] = (struct wf_lane){.core = &links.eps[0],
                                   .peer = (weft_peer *)&to,
                                   .send_short = take_short,
                                   .max_short = SHORT_MAX,
                                   .max_eager = SHORT_MAX,
                                   .max_payload = 1 << 20};
    loc.lane[0].fifo_tail = &loc.lane[0].fifo_head;
    wf_credit_change(&loc, CREDITS);
    answer = WEFT_DONE;
    taken = 0;
    return wf_engine_init(&wf);
}

static int stop_case(void **state)
{
    wf_checks_free(&loc);
    wf_engine_fini(&wf);
    return 0;
}

static int try_send(uint64_t n, bool window)
{
    static const char data[SHORT_MAX + 1];

    return wf_fastpath_try_send(&loc, data, n, 11, 22, window);
}

static void a_header_is_made_where_the_plugin_wants_one(void **state)
{
    wf_fastpath_prepare_lane(&loc);
    assert_int_equal(try_send(SIZE, false), WEFT_OK);
    assert_int_equal(taken, 1);
    assert_ptr_equal(to, &to);
    assert_int_equal(words[0], WF_SHORT_EAGER | (uint64_t)SIZE << 32);
    assert_int_equal(words[1], 11);
    assert_int_equal(words[2], 22);
    assert_int_equal(flags, 0);
    assert_int_equal(loc.lane[0].seq, 1);
    assert_int_equal(loc.credit, CREDITS - SIZE - WF_MESSAGE_OVERHEAD);
    assert_int_equal(wf_lane_bytes(&loc, WF_LANE_ORDER), SIZE);
}

static void registers_are_used_where_the_plugin_takes_them(void **state)
{
    loc.lane[0].send_words = take_words;
    wf_fastpath_prepare_lane(&loc);
    assert_int_equal(try_send(SIZE, false), WEFT_OK);
    assert_ptr_equal(to, &to);
    assert_int_equal(taken, 1);
}

static void a_lane_that_copies_nothing_has_none(void **state)
{
    loc.lane[0].send_short = NULL;
    wf_fastpath_prepare_lane(&loc);
    assert_int_equal(try_send(0, false), WEFT_EAGAIN);
}

static void limits_hold(void **state)
{
    wf_fastpath_prepare_lane(&loc);
    assert_int_equal(try_send(SHORT_MAX + 1, false), WEFT_EAGAIN);
    assert_int_equal(try_send(SHORT_MAX, false), WEFT_OK);
    loc.lane[0].blocked = true;
    wf_location_update_fastpath(&loc);
    assert_int_equal(try_send(0, false), WEFT_EAGAIN);
    loc.lane[0].blocked = false;
    wf_location_update_fastpath(&loc);
    loc.credit = WF_MESSAGE_OVERHEAD - 1;
    assert_int_equal(try_send(0, false), WEFT_EAGAIN);
    assert_int_equal(taken, 1);
}

/* Only a nonblocking send may be held back, and its request then completes when
 * the endpoint has been polled. */
static void a_window_may_be_held_back(void **state)
{
    answer = WEFT_OK;
    wf_fastpath_prepare_lane(&loc);
    assert_int_equal(try_send(SIZE, true), WF_FASTPATH_QUEUED);
    assert_int_equal(flags, WEFT_TX_MORE);
    assert_ptr_equal(loc.queued_request, &wf.engine->held);
    assert_false(wf_req_done(&wf.engine->held));
    assert_int_equal(wf.held, 1);
    assert_int_equal(loc.lane[0].seq, 1);
    assert_int_equal(wf_req_complete_held(&wf), 1);
    assert_true(wf_req_done(&wf.engine->held));
}

static void a_message_without_room_has_not_been_sent(void **state)
{
    answer = WEFT_EAGAIN;
    wf_fastpath_prepare_lane(&loc);
    assert_int_equal(try_send(SIZE, true), WEFT_EAGAIN);
    assert_int_equal(taken, 1);
    assert_int_equal(loc.lane[0].seq, 0);
    assert_int_equal(loc.credit, CREDITS);
}

/* The caller counts, not the last one that a callback has set meanwhile. */
static void the_caller_is_kept_while_the_plugin_calls_back(void **state)
{
    answer = WEFT_EAGAIN;
    wf_fastpath_prepare_lane(&loc);
    assert_int_equal(try_send(SIZE, true), WEFT_EAGAIN);
    assert_int_equal(loc.pending_caller, WF_CALLER_REQUEST);
}

static void messages_with_checksums_have_it_too(void **state)
{
    loc.lane[0].send_words = take_words;
    assert_int_equal(wf_checks_require(&loc, 1), 0);
    wf_checks_wrap(&loc, &loc.lane[0]);
    wf_fastpath_prepare_lane(&loc);
    assert_int_equal(try_send(SIZE, false), WEFT_OK);
    assert_int_equal(taken, 1);
    assert_ptr_equal(to, &to);
    assert_int_equal(type, WF_EAGER | WF_CHECKED);
}

/* A container would occupy the request until the plugin has sent it. */
static void a_persistent_send_is_copied_each_time(void **state)
{
    static char data[SIZE];
    struct weft_loc *contacts[] = {NULL, &loc};
    struct wf_comm comm = {.wf = &wf,
                           .contacts = contacts,
                           .contact_end = 2,
                           .route_decided = true};
    struct wf_p2p *p;

    wf_fastpath_prepare_lane(&loc);
    p = wf_p2p_alloc(&comm, WF_REQ_SEND);
    assert_non_null(p);
    p->peer = 1;
    p->req.flags = WF_REQ_PERSISTENT;
    wf_p2p_set_buffer(p, data, SIZE, wf.engine->bytes_type);
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(wf_send_restart(p), 0);
        assert_int_equal(taken, i);
        assert_int_equal(flags, 0); /* nobody may wait for a later one */
        assert_true(wf_req_done(&p->req));
    }
    answer = WEFT_EAGAIN; /* no room: then it waits in the lane */
    loc.lane[0].send = refuse_container;
    assert_int_equal(wf_send_restart(p), 0);
    assert_false(wf_req_done(&p->req));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, start_case, stop_case)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_header_is_made_where_the_plugin_wants_one),
        CASE(registers_are_used_where_the_plugin_takes_them),
        CASE(a_lane_that_copies_nothing_has_none),
        CASE(limits_hold),
        CASE(a_window_may_be_held_back),
        CASE(a_message_without_room_has_not_been_sent),
        CASE(the_caller_is_kept_while_the_plugin_calls_back),
        CASE(messages_with_checksums_have_it_too),
        CASE(a_persistent_send_is_copied_each_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
