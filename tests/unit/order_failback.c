/* Which of several carriers an ordered pair goes back to.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define ORDER_CARRIERS 3
#include "route/route.h"
#include "order_rig.h"

static void answer_probes(int k, int times)
{
    for (int i = 0; i < times; i++) {
        order->carrier[k].probed_at = now;
        take_pong(k);
    }
}

/* The pair is on the last carrier, and a message is under way. Those before it
 * answer: it goes back to the first that does so often enough. */
static void failback_goes_to_the_first_that_is_good(void **state)
{
    static const struct wf_route_failover back = {
        .several = true, .timeout = 60000 * MS, .failback = MS};
    struct wf_wire w = {.type = WF_EAGER, .ver = WF_WIRE_VERSION};

    (void)state;
    assert_int_equal(open_order(&back, 1 << 20, 1 << 20), 0);
    order->at = CARRIERS - 1;
    assert_int_equal(
        wf_order_send_short((weft_peer *)order, (const weft_hdr *)&w, "x", 1,
                            0),
        WEFT_DONE);
    answer_probes(0, 2);
    assert_int_equal(order->failback_to, -1);
    answer_probes(0, 1);
    assert_int_equal(order->failback_to, 0);
    answer_probes(1, 3); /* too late */
    assert_int_equal(order->failback_to, 0);
    answer_probes(2, 4); /* it is there already */
    assert_int_equal(order->failback_to, 0);
    close_order();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(failback_goes_to_the_first_that_is_good),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
