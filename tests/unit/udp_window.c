/* udp-reliable: small messages that are sent one after the other wait for each
 * other, and leave with the next poll at the latest.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "udp_rig.h"

static const weft_ops *ops;
static struct rig_side all[RIG_SIDES];

static int open_sides(void **state)
{
    ops = RIG_PLUGIN.ops;
    rig_open_sides(all, 2, "secret");
    rig_send(all, 2, 0, 1, 1);
    RIG_UNTIL(all, 2, all[1].peer[0].got == 1);
    return 0;
}

static int close_sides(void **state)
{
    rig_close_sides(all);
    return 0;
}

/* One of so many bytes, of more that follow. */
static int offer_more(size_t len)
{
    static uint8_t data[UDP_SHORT_MAX];
    struct rig_peer *p = &all[0].peer[1];
    weft_hdr hdr = {{1 | (uint64_t)len << 32, p->sent}};

    for (size_t i = 0; i < len; i++)
        data[i] = rig_byte(p->sent, i);
    p->sent++;
    return ops->send_short(p->peer, &hdr, data, len, WEFT_TX_MORE);
}

static uint64_t packets_sent(void)
{
    return all[0].ep->count.packets_out;
}

static void a_window_leaves_at_each_doubling_and_at_the_next_poll(void **state)
{
    bool out[] = {true, true, false, true, false, false, false, true, false};
    uint64_t before = packets_sent();

    for (int i = 0; i < 9; i++)
        assert_int_equal(offer_more(100), out[i] ? WEFT_DONE : WEFT_OK);
    assert_int_equal(packets_sent() - before, 4);
    while (all[1].peer[0].got < 9)
        rig_progress(&all[1]);
    rig_progress(&all[0]);
    RIG_UNTIL(all, 2, all[1].peer[0].got == 10);
    assert_int_equal(offer_more(100), WEFT_DONE); /* a new window begins */
    RIG_UNTIL(all, 2, all[1].peer[0].got == 11);
}

static void a_window_of_large_messages_leaves_in_few_packets(void **state)
{
    uint64_t before = packets_sent();

    for (int i = 0; i < 32; i++)
        assert_true(offer_more(UDP_SHORT_MAX / 2) >= 0);
    assert_true(packets_sent() - before <= 10);
    RIG_UNTIL(all, 2, all[1].peer[0].got == 33);
}

static void other_messages_take_those_that_wait_with_them(void **state)
{
    for (int i = 0; i < 3; i++)
        offer_more(100);
    rig_send(all, 2, 0, 1, 1 << 20);
    for (int i = 0; i < 3; i++)
        offer_more(8);
    rig_send(all, 2, 0, 1, 1);
    RIG_UNTIL(all, 2, all[1].peer[0].got == 9);
    RIG_UNTIL(all, 2, !all[1].sinks_open);
}

static void nothing_waits_where_the_configuration_says_so(void **state)
{
    all[0].ep->cfg.coalesce = 0;
    for (int i = 0; i < 9; i++)
        assert_int_equal(offer_more(100), WEFT_DONE);
    RIG_UNTIL(all, 2, all[1].peer[0].got == 10);
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_sides, close_sides)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_window_leaves_at_each_doubling_and_at_the_next_poll),
        T(a_window_of_large_messages_leaves_in_few_packets),
        T(other_messages_take_those_that_wait_with_them),
        T(nothing_waits_where_the_configuration_says_so)};

    return cmocka_run_group_tests_name("udp window", tests, NULL, NULL);
}
