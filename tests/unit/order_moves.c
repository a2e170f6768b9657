/* What an ordered pair does when another carrier, or a new connection, takes over.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "order_rig.h"

static const struct wf_route_failover two = {.several = true,
                                             .timeout = 60000 * MS};

static int try_to_send(void)
{
    struct wf_wire w = {.type = WF_EAGER, .ver = WF_WIRE_VERSION};

    return wf_order_short((weft_peer *)order, (const weft_hdr *)&w, "x", 1);
}

/* The answer that ends the loss says that the peer has everything. No other
 * message of his need follow, and no turn is due. */
static void who_waited_goes_on_when_the_answer_acknowledges_all(void **state)
{
    (void)state;
    assert_int_equal(setup(&two, 1 << 20, 1 << 20), 0);
    assert_int_equal(try_to_send(), WEFT_DONE);
    assert_true(wf_carrier_down(loc, &wf.eps[0], WEFT_ELINK, "cut"));
    assert_int_equal(try_to_send(), WEFT_EAGAIN);
    loc->lane[0].blocked = true; /* as who sends does then */
    wf_carrier_probe(order, 1);
    wf_order_acked(order, 2, false);
    assert_true(loc->lane[0].blocked); /* nobody carries yet */
    pong(1);
    assert_int_equal(order->at, 1);
    assert_false(loc->lane[0].blocked);
    assert_int_equal(try_to_send(), WEFT_DONE);
    teardown();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waited_goes_on_when_the_answer_acknowledges_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
