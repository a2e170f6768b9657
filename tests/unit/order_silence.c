/* When an ordered pair leaves a carrier on which nothing is acknowledged: the
 * other one answers, and by this one nothing passes either. And when it must look
 * again, which it tells whoever sleeps.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "order_rig.h"

static const struct wf_route_failover two = {.several = true,
                                             .timeout = 60000 * MS};

/* A message that the peer does not acknowledge. */
static void send_one(void)
{
    struct wf_wire w = {.type = WF_EAGER, .ver = WF_WIRE_VERSION};

    assert_int_equal(wf_order_short((weft_peer *)order, (const weft_hdr *)&w,
                                    "x", 1),
                     WEFT_DONE);
}

/* Time goes on, on the first carrier something passes every `each` ms, and the
 * second one answers. Returns the ms after which the pair has moved; `most`: it
 * has not. */
static int run(int most, int each)
{
    for (int ms = 0; ms < most; ms++, now += MS) {
        if (each && ms % each == 0)
            fakes[0].traffic++;
        wf_orders_turn(&wf);
        if (order->at == 1)
            return ms;
        if (fakes[1].pings) {
            fakes[1].pings = 0;
            pong(1);
        }
    }
    return most;
}

static void a_dead_one_is_left_soon(void **state)
{
    assert_int_equal(setup(&two, 1 << 20, 1 << 20), 0);
    wf.eps[0].down = true; /* no second connection */
    send_one();
    assert_in_range(run(1000, 0), 50, 80);
    teardown();
}

static void a_slow_one_is_not_left(void **state)
{
    assert_int_equal(setup(&two, 1 << 20, 1 << 20), 0);
    send_one();
    assert_int_equal(run(2000, 10), 2000);
    assert_int_equal(order->counts[WF_ORDER_MOVES], 0);
    assert_int_equal(fakes[0].pings, 0); /* nor asked */
    teardown();
}

static void a_slow_one_that_dies_is_left_soon(void **state)
{
    assert_int_equal(setup(&two, 1 << 20, 1 << 20), 0);
    wf.eps[0].down = true;
    send_one();
    assert_int_equal(run(300, 5), 300);
    assert_in_range(run(1000, 0), 50, 130);
    teardown();
}

/* It gives no sign for 50 ms, is asked, and then it does: a gap was repaired. */
static void one_that_stood_still_is_not_left(void **state)
{
    assert_int_equal(setup(&two, 1 << 20, 1 << 20), 0);
    send_one();
    assert_int_equal(run(60, 0), 60);
    assert_int_equal(fakes[0].pings, 1);
    assert_int_equal(run(1000, 10), 1000);
    assert_int_equal(order->counts[WF_ORDER_MOVES], 0);
    teardown();
}

/* A peer that sends by the other one knows why. */
static void the_peers_choice_counts_more(void **state)
{
    assert_int_equal(setup(&two, 1 << 20, 1 << 20), 0);
    wf.eps[0].down = true;
    send_one();
    assert_int_equal(run(100, 10), 100);
    order->carrier[1].state = WF_CARRIER_CALLED;
    wf_carrier_heard(order, &wf.eps[1], 1);
    assert_in_range(run(1000, 10), 20, 30);
    teardown();
}

/* Who sleeps asks when it must look again. Nothing is under way: never (0). */
static void a_pair_without_work_has_no_deadline(void **state)
{
    memset(&wf, 0, sizeof wf);
    assert_int_equal(wf_orders_deadline(&wf), 0);
    assert_int_equal(setup(&two, 1 << 20, 1 << 20), 0);
    assert_int_equal(wf_orders_deadline(&wf), 0);
    assert_true(wf.rx_stalled);
    teardown();
}

/* An acknowledgement is owed for a millisecond, counted from when it is seen. */
static void what_is_owed_has_a_deadline(void **state)
{
    assert_int_equal(setup(&two, 1 << 20, 1 << 20), 0);
    order->owed = 1;
    assert_int_equal(wf_orders_deadline(&wf), now + MS);
    wf.rx_stalled = false;
    order->owed_since = now - MS / 2;
    assert_int_equal(wf_orders_deadline(&wf), now + MS / 2);
    wf.parting = true;
    assert_int_equal(wf_orders_deadline(&wf), 0);
    teardown();
}

/* So has a message that is not acknowledged, and the silence that is judged
 * begins when its sender went to sleep, not earlier. */
static void what_is_not_acknowledged_has_a_deadline(void **state)
{
    assert_int_equal(setup(&two, 1 << 20, 1 << 20), 0);
    send_one();
    assert_in_range(wf_orders_deadline(&wf), now + 1, now + 1000 * MS);
    assert_int_equal(order->silent_since, now);
    teardown();
}

/* After a sleep the first turn looks at the clock: it is due at once. */
static void a_stalled_turn_is_due_at_once(void **state)
{
    assert_int_equal(setup(&two, 1 << 20, 1 << 20), 0);
    wf.rx_stalled = true;
    assert_int_equal(wf_orders_deadline(&wf), now);
    teardown();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dead_one_is_left_soon),
        cmocka_unit_test(a_slow_one_is_not_left),
        cmocka_unit_test(a_slow_one_that_dies_is_left_soon),
        cmocka_unit_test(one_that_stood_still_is_not_left),
        cmocka_unit_test(the_peers_choice_counts_more),
        cmocka_unit_test(a_pair_without_work_has_no_deadline),
        cmocka_unit_test(what_is_owed_has_a_deadline),
        cmocka_unit_test(what_is_not_acknowledged_has_a_deadline),
        cmocka_unit_test(a_stalled_turn_is_due_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
