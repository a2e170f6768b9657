/* The size of udp-reliable's packets follows what the path carries, whoever
 * keeps silent about it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "udp_net.h"

static void size_is(size_t mtu)
{
    uint32_t bytes = net.end[0].flow.cfg.packet + PACKET_HEAD;

    assert_in_range(bytes, mtu - 40, mtu);
}

/* Messages with pauses, until no size is searched any more. */
static void send_spaced(void)
{
    for (int i = 0; i < 250; i++) {
        assert_true(post_load(0, 9000, true));
        send_all(0);
        while (!all_done())
            assert_true(run_step());
        net.now += 6000000;
    }
}

static void a_path_that_swallows_large_packets_is_measured(void **state)
{
    static const size_t mtus[] = {1200, 1480, 4000, 8000};

    for (int i = 0; i < 4; i++) {
        start_net(5, (struct weather){.mtu = mtus[i]}, 8900);
        carry_bulk(1, net.weather);
        assert_true(net.now < 1000000000u);
        send_spaced();
        size_is(mtus[i]);
        stop_net();
        free_loads();
    }
}

static void it_is_measured_beside_other_faults(void **state)
{
    start_net(6, (struct weather){.mtu = 4000}, 8900);
    carry_bulk(3, (struct weather){
                      .mtu = 4000, .lost = 30, .late = 200, .doubled = 10});
    send_spaced();
    assert_in_range(net.end[0].flow.cfg.packet, 1100, 4000);
    stop_net();
    free_loads();
}

static void a_path_that_shrinks_and_grows_is_followed(void **state)
{
    start_net(5, (struct weather){.mtu = 9000}, 8900);
    carry_bulk(2, net.weather);
    size_is(8900 + PACKET_HEAD);
    carry_bulk(1, (struct weather){.mtu = 1500});
    send_spaced();
    size_is(1500);
    net.now += 61000000000u;
    carry_bulk(1, (struct weather){.mtu = 9000});
    size_is(8900 + PACKET_HEAD);
    stop_net();
    free_loads();
}

static void a_path_that_was_dark_keeps_its_size(void **state)
{
    start_net(5, (struct weather){0}, 8900);
    carry_bulk(1, (struct weather){0});
    carry_bulk(1, (struct weather){.dark_from = net.now,
                                   .dark_to = net.now + 500000000});
    size_is(8900 + PACKET_HEAD);
    stop_net();
    free_loads();
}

/* Small messages among the large: their answers must not hide the hole. */
static void small_packets_that_arrive_do_not_hide_it(void **state)
{
    start_net(5, (struct weather){.mtu = 1500}, 8900);
    net.end[0].flow.congestion = 1 << 20;
    for (int i = 0; i < 200; i++) {
        assert_true(post_load(0, i % 10 ? 10 : 8000, i % 10 == 0));
        send_all(0);
        run_step();
    }
    while (!all_done())
        assert_true(run_step());
    assert_true(net.end[0].flow.cfg.packet < 1500);
    assert_true(net.now < 200000000u);
    stop_net();
    free_loads();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_that_swallows_large_packets_is_measured),
        cmocka_unit_test(it_is_measured_beside_other_faults),
        cmocka_unit_test(a_path_that_shrinks_and_grows_is_followed),
        cmocka_unit_test(a_path_that_was_dark_keeps_its_size),
        cmocka_unit_test(small_packets_that_arrive_do_not_hide_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
