/* When an ordered pair leaves a carrier on which nothing is acknowledged: the
 * other one answers, and by this one nothing passes either.
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

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dead_one_is_left_soon),
        cmocka_unit_test(a_slow_one_is_not_left),
        cmocka_unit_test(a_slow_one_that_dies_is_left_soon),
        cmocka_unit_test(one_that_stood_still_is_not_left),
        cmocka_unit_test(the_peers_choice_counts_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
