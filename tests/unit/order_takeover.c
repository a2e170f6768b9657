/* These tests check an ordered pair of which another carrier, or a new
 * connection, takes over.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "route/route.h"
#include "order_rig.h"
#include "protocol/carrier.h"
#include "protocol/carrier_control.h"
#include "protocol/carrier_silence.h"
#include "protocol/order_fast.h"

static const struct wf_route_failover two = {.several = true,
                                             .timeout = 60000 * MS};

static int try_to_send(void)
{
    struct wf_wire w = {.type = WF_EAGER, .ver = WF_WIRE_VERSION};

    return wf_order_send_short((weft_peer *)order, (const weft_hdr *)&w, "x",
                               1, 0);
}

/* The answer that ends the loss says that the peer has everything. No other
 * message of the peer need follow, and no turn is due. */
static void a_sender_goes_on_when_all_is_acknowledged(void **state)
{
    (void)state;
    assert_int_equal(open_order(&two, 1 << 20, 1 << 20), 0);
    assert_int_equal(try_to_send(), WEFT_DONE);
    assert_true(wf_carrier_handle_down(loc, &links.eps[0], WEFT_ELINK, "cut"));
    assert_int_equal(try_to_send(), WEFT_EAGAIN);
    loc->lane[0].blocked = true; /* as who sends does then */
    wf_carrier_request_probe(order, 1);
    wf_order_process_ack(order, 2, false);
    assert_true(loc->lane[0].blocked); /* nobody carries yet */
    take_pong(1);
    assert_int_equal(order->at, 1);
    assert_false(loc->lane[0].blocked);
    assert_int_equal(try_to_send(), WEFT_DONE);
    close_order();
}

/* Back and forth between two that answer probes, and take nothing away. */
static void move_for(uint64_t time)
{
    for (uint64_t end = now + time; now < end; now += 100 * MS) {
        int next = !order->at;
        wf_carrier_give_up(order, order->at, "silent");
        wf_orders_maintain(&wf);
        loc->peers[next] = (weft_peer *)&fakes[next]; /* connected again */
        order->carrier[next].state = WF_CARRIER_FRESH;
        wf_carrier_request_probe(order, next);
        take_pong(next);
        assert_int_equal(order->at, next);
    }
}

static void a_peer_that_answers_and_acknowledges_nothing_counts_as_gone(
    void **state)
{
    static const struct wf_route_failover short_one = {.several = true,
                                                       .timeout = 2000 * MS};

    (void)state;
    assert_int_equal(open_order(&short_one, 1 << 20, 1 << 20), 0);
    links.orders = order;
    assert_int_equal(try_to_send(), WEFT_DONE);
    move_for(1500 * MS);
    assert_false(order->stuck);
    /* something came through: from the start */
    wf_order_process_ack(order, 2, false);
    assert_int_equal(try_to_send(), WEFT_DONE);
    move_for(1500 * MS);
    assert_false(order->stuck);
    move_for(600 * MS);
    assert_true(order->stuck); /* the next turn says so */
    close_order();
}

static void each_failed_takeover_doubles_the_silence_limit(void **state)
{
    (void)state;
    assert_int_equal(open_order(&two, 1 << 20, 1 << 20), 0);
    links.orders = order;
    assert_int_equal(wf_carrier_back_off_limit(order, 50, now), 50);
    assert_int_equal(try_to_send(), WEFT_DONE);
    move_for(100 * MS); /* nothing was known before it */
    assert_int_equal(wf_carrier_back_off_limit(order, 50, now), 50);
    move_for(200 * MS);
    assert_int_equal(wf_carrier_back_off_limit(order, 50, now), 200);
    move_for(1000 * MS);
    assert_int_equal(wf_carrier_back_off_limit(order, 50, now), 800);
    wf_order_process_ack(order, 2, false);
    assert_int_equal(try_to_send(), WEFT_DONE);
    move_for(100 * MS); /* this one had a success behind it */
    assert_int_equal(wf_carrier_back_off_limit(order, 50, now), 800);
    now += 4000 * MS;
    assert_int_equal(wf_carrier_back_off_limit(order, 50, now), 200);
    now += 4000 * MS;
    assert_int_equal(wf_carrier_back_off_limit(order, 50, now), 50);
    close_order();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sender_goes_on_when_all_is_acknowledged),
        cmocka_unit_test(
            a_peer_that_answers_and_acknowledges_nothing_counts_as_gone),
        cmocka_unit_test(each_failed_takeover_doubles_the_silence_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
