/* Answers between sender and receiver, and what is no message
 * (core/protocol/arrive.c, receive.c).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "config/config.h"
#include "datatype/predefined.h"
#include "datatype/type.h"
#include "process/rank.h"
#include "progress/wait.h"
#include "protocol/arrive.h"
#include "protocol/engine.h"
#include "protocol/queues.h"
#include "protocol/receive.h"
#include "protocol/rendezvous.h"
#include "protocol/unexpected.h"

static struct wf_rank wf_rank;
static struct wf_instance wf = {.rank = &wf_rank};
static struct wf_progress progress;
static struct wf_core_options options;
static struct weft_core core;
static struct weft_loc loc;
static struct wf_p2p send;
static int completed;
static struct wf_wire sent; /* the last that the transport took */

static int open_engine(void **state)
{
    options = (struct wf_core_options){.credits = 16 << 20};
    wf_rank =
        (struct wf_rank){.home = &wf, .options = &options, .job.size = 1};
    wf = (struct wf_instance){.rank = &wf_rank, .progress = &progress};
    core = (struct weft_core){.attr.caps = WEFT_CAP_GET};
    loc = (struct weft_loc){.wf = &wf, .plain = true};
    completed = 0;
    sent.type = 0;
    return wf_engine_init(&wf);
}

static int close_engine(void **state)
{
    wf_engine_fini(&wf);
    return 0;
}

static void count_completed(struct wf_req *r)
{
    completed++;
}

/* The receiver may fetch the message. */
static void offer_message(void)
{
    send = (struct wf_p2p){.req = {.wf = &wf, .type = WF_REQ_SEND,
                                   .on_complete = count_completed},
                           .loc = &loc,
                           .waits = WF_WAITS_ANSWER,
                           .bytes = 1 << 20,
                           .pull = {.core = &core}};
    wf_object_init(&send.req.object, WF_KIND_REQUEST);
    assert_int_equal(wf_slot_add_pending(&send), 0);
}

static int let_arrive(const struct wf_wire *w, size_t have)
{
    weft_sink *sink = NULL;

    return wf_arrive(&core, &loc, (const weft_hdr *)w, "", have, &sink);
}

static void answer_peer(uint8_t type)
{
    struct wf_wire w = {.type = type, .d = wf_le64(send.id)};
    int before = completed;

    assert_int_equal(let_arrive(&w, 0), WEFT_DONE);
    assert_int_equal(completed, before + 1);
}

/* One that did not fetch the last message is called by the helper thread in
 * time, as one that will not fetch the next. */
static void the_last_answer_of_a_receiver_counts(void **state)
{
    offer_message();
    answer_peer(WF_APPROVE); /* of no byte */
    assert_true(loc.approves);
    offer_message();
    answer_peer(WF_FIN);
    assert_false(loc.approves);
}

static int take_next(weft_peer *peer, weft_tx *tx)
{
    memcpy(&sent, tx->hdr, sizeof sent);
    return WEFT_DONE;
}

/* Its sender waits for that alone: what is held back on the way does not hold
 * up the answer. */
static void a_message_that_waited_is_answered_at_once(void **state)
{
    struct wf_wire w = {.type = WF_EAGER, .flags = wf_le16(WF_FLAG_SYNC),
                        .d = wf_le64(77)};
    struct wf_message *m;
    struct wf_p2p receive = {.req = {.wf = &wf, .type = WF_REQ_RECV,
                                     .on_complete = count_completed},
                             .type = wf_type_of(MPI_BYTE)};

    wf_object_init(&receive.req.object, WF_KIND_REQUEST);
    loc.lanes = 1;
    loc.lane[0] = (struct wf_lane){.core = &core, .send = take_next,
                                   .blocked = true};
    loc.lane[0].fifo_tail = &loc.lane[0].fifo_head;
    m = wf_unexpected_create(&loc, &w, 0, 0, 0);
    assert_non_null(m);
    m->state = WF_MSG_COMPLETE;
    m->send_id = 77;
    wf_receive_message(&receive, m);
    assert_int_equal(completed, 1);
    assert_int_equal(sent.type, WF_SYNC);
    assert_int_equal(wf_le64(sent.d), 77);
}

/* The status of what a transport could not complete reaches the receive that
 * finds the message later. */
static void a_stored_message_that_broke_off_fails_its_receive(void **state)
{
    struct wf_wire w = {.type = WF_EAGER, .plen = wf_le32(100)};
    struct wf_p2p receive = {.req = {.wf = &wf, .type = WF_REQ_RECV,
                                     .on_complete = count_completed},
                             .type = wf_type_of(MPI_BYTE)};
    struct wf_arrived *a;
    weft_sink *sink = NULL;

    wf_object_init(&receive.req.object, WF_KIND_REQUEST);
    assert_int_equal(wf_arrive(&core, &loc, (const weft_hdr *)&w, "begun", 5,
                               &sink),
                     WEFT_OK);
    wf_container(sink, struct wf_sink, sink)->done(
        wf_container(sink, struct wf_sink, sink), WEFT_ELINK);
    a = wf_match_find_arrived(&wf.engine->match, 0, 0, 0);
    assert_non_null(a);
    wf_receive_message(&receive,
                       wf_container(a, struct wf_message, arrived));
    assert_int_equal(completed, 1);
    assert_int_equal(receive.req.error, WEFT_EPEER);
}

static void a_short_header_of_another_type_is_skipped(void **state)
{
    struct wf_wire w = {.type = WF_FIN, .flags = wf_le16(WEFT_HDR_SHORT)};

    offer_message();
    w.d = wf_le64(send.id);
    assert_int_equal(let_arrive(&w, 0), WEFT_DONE);
    w.plen = wf_le32(100);
    assert_int_equal(let_arrive(&w, 40), WEFT_SKIP);
    assert_int_equal(let_arrive(&w, 100), WEFT_DONE);
    assert_int_equal(completed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_last_answer_of_a_receiver_counts,
                                        open_engine, close_engine),
        cmocka_unit_test_setup_teardown(
            a_message_that_waited_is_answered_at_once, open_engine,
            close_engine),
        cmocka_unit_test_setup_teardown(
            a_stored_message_that_broke_off_fails_its_receive, open_engine,
            close_engine),
        cmocka_unit_test_setup_teardown(
            a_short_header_of_another_type_is_skipped, open_engine,
            close_engine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
