/* plugins/shm: what an endpoint makes of the number of CPUs that it is told.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "shm_fake.h"

#include "plugins/shm/shm.h"

static struct fake_node node;

static void open_with(uint32_t ranks, uint32_t cpus)
{
    struct fake_config config = fake_defaults();

    config.cma = SHM_CMA_AUTO;
    config.chunks = 0; /* chosen */
    fake_local_count = ranks;
    fake_cpus = cpus;
    memset(&node, 0, sizeof node);
    assert_int_equal(fake_open(&node, 0, ranks, 7, &config), WEFT_OK);
}

/* Whether a receiver reads what is announced by one copy of the kernel. */
static bool reads_announced(uint32_t ranks, uint32_t cpus)
{
    bool reads;

    open_with(ranks, cpus);
    reads = wf_shm_cma_should_offer(node.ep, 1);
    weft_plugin_2_shm.ops->close(node.ep);
    return reads;
}

static uint32_t ring_bytes(uint32_t ranks, uint32_t cpus)
{
    uint32_t bytes;

    open_with(ranks, cpus);
    bytes = shm_bulk_bytes(&node.ep->geometry);
    weft_plugin_2_shm.ops->close(node.ep);
    return bytes;
}

/* Whether senders fence, so that sleeping is cheap. */
static bool senders_fence(uint32_t ranks, uint32_t cpus)
{
    bool fence;

    open_with(ranks, cpus);
    fence = !node.ep->barrier;
    weft_plugin_2_shm.ops->close(node.ep);
    return fence;
}

static void receivers_read_where_more_than_four_share_a_cpu(void **state)
{
    assert_true(reads_announced(9, 2));
    assert_false(reads_announced(8, 2));
}

/* One end of a pair seldom copies while the other does. */
static void rings_are_small_where_ranks_share_cpus(void **state)
{
    assert_int_equal(ring_bytes(3, 2), 256 << 10);
    assert_int_equal(ring_bytes(2, 2), wf_shm_ring_bytes(2, false));
}

/* This test's own mask is of no account. */
static void a_rank_bound_to_one_cpu_of_many_is_not_oversubscribed(void **state)
{
    assert_false(reads_announced(4096, 4096));
}

static void senders_fence_where_ranks_outnumber_cpus(void **state)
{
    assert_true(senders_fence(3, 2));
    assert_true(senders_fence(4096, 4095));
}

static void elsewhere_the_sleeper_fences_for_both(void **state)
{
    open_with(4096, 4096);
    assert_int_equal(node.ep->barrier, node.ep->registered);
    weft_plugin_2_shm.ops->close(node.ep);
}

/* ---- many that have sent ------------------------------------------------- */

enum { SENDERS = 13, SHORT = 2 | 4 };

static struct fake_node senders[SENDERS];

static void connect_both(struct fake_node *sender)
{
    fake_introduce(&node, sender);
    assert_int_equal(fake_add(sender, 0), WEFT_OK);
    while (node.loc[sender->id].got == 0) {
        if (sender->loc[0].sent == 0)
            fake_send(sender, 0, 8, SHORT);
        fake_progress(sender);
        fake_progress(&node);
    }
}

/* How many of them one call with this budget hears of. */
static int heard_at_once(int budget)
{
    int heard;

    open_with(SENDERS + 1, 2);
    for (uint32_t i = 0; i < SENDERS; i++) {
        memset(&senders[i], 0, sizeof senders[i]);
        assert_int_equal(fake_open(&senders[i], i + 1, SENDERS + 1, 7, NULL),
                         WEFT_OK);
        connect_both(&senders[i]);
    }
    fake_progress(&node);
    for (uint32_t i = 0; i < SENDERS; i++)
        assert_true(fake_send(&senders[i], 0, 8, SHORT) >= 0);
    heard = weft_plugin_2_shm.ops->progress(node.ep, budget);
    for (uint32_t i = 0; i < SENDERS; i++)
        fake_close(&senders[i], &node);
    fake_close(&node, NULL);
    return heard;
}

static void a_full_poll_reads_every_peer(void **state)
{
    assert_int_equal(heard_at_once(1024), SENDERS);
}

static void another_poll_reads_some_peers(void **state)
{
    assert_in_range(heard_at_once(64), 1, SENDERS - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(receivers_read_where_more_than_four_share_a_cpu),
        cmocka_unit_test(rings_are_small_where_ranks_share_cpus),
        cmocka_unit_test(a_rank_bound_to_one_cpu_of_many_is_not_oversubscribed),
        cmocka_unit_test(senders_fence_where_ranks_outnumber_cpus),
        cmocka_unit_test(elsewhere_the_sleeper_fences_for_both),
        cmocka_unit_test(a_full_poll_reads_every_peer),
        cmocka_unit_test(another_poll_reads_some_peers)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
