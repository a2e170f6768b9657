/* When an ordered pair with several carriers must be looked at again: what it
 * tells whoever is about to sleep.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "route/route.h"
#include "order_rig.h"
#include "protocol/carrier.h"
#include "protocol/carrier_deadline.h"

static const struct wf_route_failover two = {.several = true,
                                             .timeout = 60000 * MS};

/* A pair that has had its turn, and nothing to do. */
static void begin_case(void)
{
    assert_int_equal(open_order(&two, 1 << 20, 1 << 20), 0);
    links.orders = order;
    wf_orders_maintain(&wf);
    progress.resume_requested = false;
}

/* 0 is: never. Where there are pairs, the life of the peer is looked at. */
static void only_without_pairs_there_is_no_deadline(void **state)
{
    links = (struct wf_links){0};
    wf = (struct wf_instance){.links = &links};
    assert_int_equal(wf_orders_deadline(&wf), 0);
    begin_case();
    assert_in_range(wf_orders_deadline(&wf), now + 10 * MS, now + 60000 * MS);
    order->failed = true;
    assert_int_equal(wf_orders_deadline(&wf), 0);
    order->failed = false;
    links.parting = true;
    assert_int_equal(wf_orders_deadline(&wf), 0);
    close_order();
}

/* An acknowledgement is owed for a millisecond, counted from when it is
 * seen. */
static void an_owed_acknowledgement_has_a_deadline(void **state)
{
    begin_case();
    order->owed = 1;
    assert_int_equal(wf_orders_deadline(&wf), now + MS);
    order->owed_since = now - MS / 2;
    assert_int_equal(wf_orders_deadline(&wf), now + MS / 2);
    close_order();
}

/* So has a message that is not acknowledged, and the silence that is judged
 * begins when its sender went to sleep, not earlier. */
static void unacknowledged_containers_have_a_deadline(void **state)
{
    struct wf_wire w = {.type = WF_EAGER, .ver = WF_WIRE_VERSION};

    begin_case();
    assert_int_equal(
        wf_order_send_short((weft_peer *)order, (const weft_hdr *)&w, "x", 1,
                            0),
        WEFT_DONE);
    assert_in_range(wf_orders_deadline(&wf), now + 1, now + 1000 * MS);
    assert_int_equal(order->silent_since, now);
    close_order();
}

/* After a sleep the first turn looks at the clock: it is due at once. */
static void a_stalled_turn_is_due_at_once(void **state)
{
    begin_case();
    progress.resume_requested = true;
    assert_int_equal(wf_orders_deadline(&wf), now);
    close_order();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_without_pairs_there_is_no_deadline),
        cmocka_unit_test(an_owed_acknowledgement_has_a_deadline),
        cmocka_unit_test(unacknowledged_containers_have_a_deadline),
        cmocka_unit_test(a_stalled_turn_is_due_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
