/* udp-reliable: these tests check the socket that a busy peer has for itself:
 * it gets one, no other peer is kept out by it, another may take it over, and
 * it goes with the peer's link.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "udp_rig.h"

enum { MANY = 200 };

static struct rig_side all[RIG_SIDES];

static int open_sides(void **state)
{
    rig_open_sides(all, 3, "secret");
    return 0;
}

static int close_sides(void **state)
{
    rig_close_sides(all);
    return 0;
}

/* There and back. */
static void exchange_messages(uint32_t a, uint32_t b, int times)
{
    for (int i = 0; i < times; i++) {
        rig_send(all, 3, a, b, (uint64_t)i);
        RIG_UNTIL(all, 3, all[b].peer[a].got == all[a].peer[b].sent);
        rig_send(all, 3, b, a, (uint64_t)i);
        RIG_UNTIL(all, 3, all[a].peer[b].got == all[b].peer[a].sent);
    }
}

static bool is_hot(int me, int peer)
{
    const weft_ep *ep = all[me].ep;

    return ep->hot && ep->hot == all[me].peer[peer].peer &&
           ep->fd[UDP_HOT] >= 0;
}

static void the_busiest_peer_gets_a_connected_socket(void **state)
{
    exchange_messages(0, 1, 1);
    assert_null(all[0].ep->hot);
    exchange_messages(0, 1, MANY);
    assert_true(is_hot(0, 1));
    assert_true(is_hot(1, 0));
    for (int i = 0; i < 20; i++)
        exchange_messages(0, 1, 10);
    assert_int_equal(all[0].peer[1].peer->flow.packets_lost, 0);
}

static void other_peers_are_still_received(void **state)
{
    exchange_messages(0, 1, MANY);
    for (int i = 0; i < 20; i++) {
        exchange_messages(2, 0, 1); /* the first is a call */
        exchange_messages(0, 1, 5);
    }
    assert_true(is_hot(0, 1));
}

static void a_busier_peer_takes_the_socket_over(void **state)
{
    exchange_messages(0, 1, MANY);
    exchange_messages(0, 2, 4 * MANY);
    assert_true(is_hot(0, 2));
    exchange_messages(0, 1, 10);
    exchange_messages(0, 2, 10);
}

static void the_socket_closes_with_the_link(void **state)
{
    exchange_messages(0, 1, MANY);
    RIG_UNTIL(all, 3, RIG_PLUGIN.ops->drain(all[1].ep) == WEFT_OK);
    rig_close(&all[1]);
    wf_udp_handle_gone(all[0].peer[1].peer, WEFT_EPEER,
                       "nobody receives there");
    RIG_UNTIL(all, 3, !all[0].ep->hot);
    assert_true(all[0].ep->fd[UDP_HOT] < 0);
    exchange_messages(0, 2, MANY);
    assert_true(is_hot(0, 2));
}

static void large_and_small_pass_in_both_directions(void **state)
{
    exchange_messages(0, 1, MANY);
    for (int i = 0; i < 20; i++) {
        rig_send(all, 3, 0, 1, 300000);
        rig_send(all, 3, 1, 0, 70000);
        exchange_messages(0, 1, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, open_sides, close_sides)
        T(the_busiest_peer_gets_a_connected_socket),
        T(other_peers_are_still_received),
        T(a_busier_peer_takes_the_socket_over),
        T(the_socket_closes_with_the_link),
        T(large_and_small_pass_in_both_directions)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
