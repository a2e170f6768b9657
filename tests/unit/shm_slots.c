/* plugins/shm: the slots of a pair are few at first, and a larger ring follows
 * where that is worth its memory.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "shm_two_nodes.h"

enum { MUCH = 256, SHORT = 8 };

static void settle_all(void)
{
    for (int i = 0; i < 10000 && b.loc[0].got < a.loc[1].sent; i++)
        progress_both();
    assert_int_equal(b.loc[0].got, a.loc[1].sent);
}

static void start_on(uint32_t cpus)
{
    fake_cpus = cpus;
    fake_pair(&a, &b, NULL);
    fake_connect(&a, &b, SHORT, 0);
    settle_all();
}

static void stop_case(void)
{
    settle_all();
    assert_int_equal(b.loc[0].rx_bad, 0);
    close_both();
}

static void one_by_one(int messages)
{
    for (int i = 0; i < messages; i++) {
        assert_true(fake_send(&a, 1, SHORT, 0) >= 0);
        settle_all();
    }
}

static void fill_the_ring(void)
{
    while (fake_send(&a, 1, SHORT, 0) >= 0)
        continue;
}

static uint32_t count_slots(void)
{
    return a.loc[1].peer->out.mask + 1;
}

static uint32_t check_large(void)
{
    return a.loc[1].peer->geometry.slots;
}

static void a_pair_begins_with_few(void **state)
{
    (void)state;
    start_on(2);
    assert_true(check_large() > SHM_FIRST_SLOTS);
    one_by_one(MUCH / 2);
    assert_int_equal(count_slots(), SHM_FIRST_SLOTS);
    stop_case();
}

static void many_messages_bring_the_large_ring(void **state)
{
    (void)state;
    start_on(2);
    one_by_one(MUCH + 2 * SHM_FIRST_SLOTS);
    assert_int_equal(count_slots(), check_large());
    stop_case();
}

static void no_large_ring_where_ranks_share_cpus(void **state)
{
    (void)state;
    start_on(1);
    one_by_one(4 * MUCH);
    assert_int_equal(count_slots(), SHM_FIRST_SLOTS);
    stop_case();
}

static void a_full_ring_brings_the_large_one_there_too(void **state)
{
    (void)state;
    for (uint32_t cpus = 1; cpus <= 2; cpus++) {
        start_on(cpus);
        fill_the_ring();
        settle_all();
        one_by_one(2 * SHM_FIRST_SLOTS);
        assert_int_equal(count_slots(), check_large());
        one_by_one(3 * (int)check_large());
        stop_case();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pair_begins_with_few),
        cmocka_unit_test(many_messages_bring_the_large_ring),
        cmocka_unit_test(no_large_ring_where_ranks_share_cpus),
        cmocka_unit_test(a_full_ring_brings_the_large_one_there_too)};

    return cmocka_run_group_tests_name("shm slots", tests, NULL, NULL);
}
