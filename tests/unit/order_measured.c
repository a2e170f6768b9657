/* Which carrier an ordered pair takes that measures what they cost.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "route/route.h"
#include "order_rig.h"
#include "protocol/measure.h"
#include "protocol/order_fast.h"

enum { EVERY = 100 }; /* ms */

static const struct wf_route_failover measured = {
    .several = true, .timeout = 60000 * MS, .measure = EVERY * MS};
static const struct wf_route_failover ordered = {.several = true,
                                                 .timeout = 60000 * MS};

static void begin_pair(const struct wf_route_failover *f)
{
    assert_int_equal(open_order(f, 1 << 20, 1 << 20), 0);
    links.orders = order;
    order->carrier[0].up = order->carrier[1].up = true;
}

static void send_one(void)
{
    struct wf_wire w = {.type = WF_EAGER, .ver = WF_WIRE_VERSION};

    assert_int_equal(wf_order_send_short((weft_peer *)order,
                                         (const weft_hdr *)&w, "x", 1, 0),
                     WEFT_DONE);
}

/* A carrier answers if it was asked. */
static void answer_probe(int k)
{
    if (order->carrier[k].probed_at)
        take_pong(k);
}

/* A round: a message, its acknowledgement, and answers after these times in
 * microseconds; 0: none. */
static void pass_round(uint64_t first, uint64_t second)
{
    uint64_t start = now += EVERY * MS;

    send_one();
    wf_order_process_ack(order, order->next, true);
    wf_orders_maintain(&wf);
    for (int i = 0; i < 2; i++) {
        int k = (first > second) ^ i;
        uint64_t took = k ? second : first;
        now = start + took * 1000;
        if (took)
            answer_probe(k);
    }
    now = start;
    wf_orders_maintain(&wf); /* it moves, if it wants to */
    fakes[0].n = fakes[1].n = 0;
}

static void pass_rounds(int n, uint64_t first, uint64_t second)
{
    for (int i = 0; i < n; i++)
        pass_round(first, second);
}

static void it_moves_to_a_carrier_that_is_always_better(void **state)
{
    begin_pair(&measured);
    pass_rounds(30, 100, 90); /* no clear gain */
    assert_int_equal(order->at, 0);
    pass_rounds(WF_MEASURES + 2, 20000, 90);
    assert_int_equal(order->at, 1);
    assert_int_equal(order->counts[WF_ORDER_MEASURED], 1);
    assert_int_equal(order->counts[WF_ORDER_RESENT], 0);
    close_order();
}

static void with_an_order_of_preference_it_stays(void **state)
{
    begin_pair(&ordered);
    pass_rounds(30, 20000, 90);
    assert_int_equal(order->at, 0);
    close_order();
}

/* Times that vary by a factor of four, alike on both. */
static void noise_moves_nothing(void **state)
{
    unsigned seed = 1;

    begin_pair(&measured);
    for (int i = 0; i < 500; i++) {
        seed = seed * 1103515245 + 12345;
        pass_round(100 + (seed >> 8) % 300, 100 + (seed >> 18) % 300);
    }
    assert_true(order->counts[WF_ORDER_MEASURED] <= 3);
    close_order();
}

/* A peer, or this process, that is late is late on both: beside other load the
 * difference of the paths counts, be it smaller than the delay. */
static void a_delay_of_both_hides_nothing(void **state)
{
    begin_pair(&measured);
    pass_rounds(4, 100, 90);
    for (int i = 0; i < 12; i++)
        pass_round(40000 + 1000 * (i % 3) + 100, 40000 + 1000 * (i % 3) + 90);
    assert_int_equal(order->at, 0);
    for (int i = 0; i < 3 * WF_MEASURES; i++)
        pass_round(40000 + 9000 * (i % 3) + 5000, 40000 + 9000 * (i % 3));
    assert_int_equal(order->at, 1);
    close_order();
}

static void paths_that_change_all_the_time_are_not_followed(void **state)
{
    begin_pair(&measured);
    for (int i = 0; i < 21; i++)
        pass_rounds(20, i % 2 ? 90 : 20000, i % 2 ? 20000 : 90);
    /* 420 rounds: 8, 16, 32, 64, 128 and 128 between two moves */
    assert_in_range(order->counts[WF_ORDER_MEASURED], 2, 9);
    close_order();
}

/* A peer that computes answers on none. */
static void rounds_without_an_answer_tell_nothing(void **state)
{
    begin_pair(&measured);
    pass_rounds(30, 0, 0);
    assert_int_equal(order->carrier[0].measure.costs, 0);
    assert_int_equal(order->at, 0);
    close_order();
}

static void without_traffic_nobody_is_asked(void **state)
{
    int before;

    begin_pair(&measured);
    pass_rounds(3, 100, 100);
    now += EVERY * MS;
    wf_orders_maintain(&wf);
    before = fakes[0].pings + fakes[1].pings;
    for (int i = 0; i < 50; i++) {
        now += EVERY * MS;
        wf_orders_maintain(&wf);
    }
    assert_int_equal(fakes[0].pings + fakes[1].pings, before);
    close_order();
}

/* It waits until all is acknowledged, and sends nothing meanwhile. */
static void it_moves_when_all_is_acknowledged(void **state)
{
    struct wf_wire w = {.type = WF_EAGER, .ver = WF_WIRE_VERSION};
    uint32_t taken;

    begin_pair(&measured);
    pass_rounds(WF_MEASURES, 20000, 90);
    now += EVERY * MS;
    send_one();
    wf_orders_maintain(&wf);
    assert_int_equal(order->failback_to, 1);
    wf_orders_maintain(&wf);
    assert_int_equal(order->at, 0);
    taken = (uint32_t)fakes[0].taken;
    assert_int_equal(wf_order_send_short((weft_peer *)order,
                                         (const weft_hdr *)&w, "x", 1, 0),
                     WEFT_EAGAIN);
    assert_int_equal(fakes[0].taken, taken);
    wf_order_process_ack(order, order->next, true);
    wf_orders_maintain(&wf);
    assert_int_equal(order->at, 1);
    close_order();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_moves_to_a_carrier_that_is_always_better),
        cmocka_unit_test(with_an_order_of_preference_it_stays),
        cmocka_unit_test(noise_moves_nothing),
        cmocka_unit_test(a_delay_of_both_hides_nothing),
        cmocka_unit_test(paths_that_change_all_the_time_are_not_followed),
        cmocka_unit_test(rounds_without_an_answer_tell_nothing),
        cmocka_unit_test(without_traffic_nobody_is_asked),
        cmocka_unit_test(it_moves_when_all_is_acknowledged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
