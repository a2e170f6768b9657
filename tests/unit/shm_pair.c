/* plugins/shm: what two connected endpoints promise each other.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "shm_two_nodes.h"

/* Send from x to y until accepted, with both sides making progress. */
static void must_send(struct fake_node *x, struct fake_node *y, uint32_t len,
                      unsigned style)
{
    for (int i = 0; i < 1000000; i++) {
        int rc = fake_send(x, y->id, len, style);
        if (rc >= 0)
            return;
        assert_int_equal(rc, WEFT_EAGAIN);
        progress_both();
    }
    fail_msg("a message of %u bytes was never accepted", len);
}

static void settle_all(struct fake_node *x, struct fake_node *y)
{
    for (int i = 0; i < 1000000; i++) {
        struct weft_loc *l = &y->loc[x->id];
        if (l->got == x->loc[y->id].sent && !l->sinking)
            return;
        progress_both();
    }
    fail_msg("messages are missing");
}

static int start_case(void **state)
{
    (void)state;
    fake_pair(&a, &b, NULL);
    return 0;
}

static int start_tiny(void **state)
{
    struct fake_config c = {16, 4096, 4096, 4, 0, 0, 0};
    (void)state;
    fake_pair(&a, &b, &c);
    return 0;
}

static int stop_case(void **state)
{
    (void)state;
    fake_close(&a, &b);
    for (int i = 0; i < 1000; i++)
        fake_progress(&b);
    assert_int_equal(b.loc[0].down, 0); /* goodbye is not a failure */
    fake_close(&b, NULL);
    return 0;
}

static void every_size_arrives_whole(void **state)
{
    (void)state;
    for (unsigned style = 0; style < 8; style++)
        for (uint32_t len = 0; len <= FAKE_MAX;
             len = len < 300 ? len + 1 : len + len / 3 + 1) {
            must_send(&a, &b, len, style);
            settle_all(&a, &b);
        }
    must_send(&a, &b, FAKE_MAX, 2);
    settle_all(&a, &b);
    assert_int_equal(a.loc[1].tx_bad, 0);
}

static void every_answer_of_the_core_is_obeyed(void **state)
{
    (void)state;
    b.answer_random = true;
    a.answer_random = true;
    unsigned seed = 42;
    for (int i = 0; i < 6000; i++) {
        unsigned r = (unsigned)rand_r(&seed);
        uint32_t len = r % 7 == 0   ? r % 300000
                       : r % 3 == 0 ? r % 40000
                                    : r % 90;
        if (r & 1024)
            must_send(&a, &b, len, r >> 12);
        else
            must_send(&b, &a, len, r >> 12);
        if (r % 5 == 0)
            progress_both();
    }
    settle_all(&a, &b);
    settle_all(&b, &a);
}

static void refusal_is_followed_by_tx_ready(void **state)
{
    (void)state;
    must_send(&a, &b, 8, 6);
    settle_all(&a, &b);
    int n = 0;
    while (fake_send(&a, 1, 8, 6) == WEFT_DONE)
        n++;
    assert_true(n >= 15);
    int before = a.loc[1].ready;
    fake_progress(&a);
    assert_int_equal(a.loc[1].ready, before);
    settle_all(&a, &b);
    fake_progress(&a);
    assert_int_equal(a.loc[1].ready, before + 1);
    must_send(&a, &b, 4000, 6);
    settle_all(&a, &b);
}

static void urgent_control_passes_bulk(void **state)
{
    (void)state;
    must_send(&a, &b, 8, 6);
    settle_all(&a, &b);
    assert_int_equal(fake_send(&a, 1, 1u << 20, 2), WEFT_OK);
    assert_int_equal(fake_send(&a, 1, 8, 2), WEFT_EAGAIN);
    struct fake_tx *t = fake_tx_new(&a.loc[1], 999, 0, 0);
    fake_header(&t->hdr, 999, 0, false, true);
    t->tx.flags = WEFT_TX_URGENT;
    assert_int_equal(OPS->send(a.loc[1].peer, &t->tx), WEFT_DONE);
    fake_tx_free(t);
    b.answer = SINK_ONE;
    fake_progress(&b);
    assert_int_equal(b.urgent_seen, 1);
    assert_true(b.loc[0].sinking);
    settle_all(&a, &b);
}

/* As fake_send, by send_beside. */
static int send_beside(struct fake_node *x, struct fake_node *y, uint32_t len)
{
    struct weft_loc *l = &x->loc[y->id];
    uint64_t words[3];
    uint8_t payload[64];
    weft_hdr h;
    int rc;

    fake_header(&h, l->sent + 1, len, true, false);
    fake_fill(payload, l->sent + 1, len);
    memcpy(words, &h, sizeof words);
    rc = weft_plugin_2_shm.ops->send_beside(payload, words[0], l->peer,
                                            words[1], words[2]);
    l->sent += rc == WEFT_OK;
    return rc;
}

static void short_messages_go_beside_the_others(void **state)
{
    (void)state;
    assert_int_equal(send_beside(&a, &b, 8), WEFT_EAGAIN); /* no rings yet */
    must_send(&a, &b, 8, 6);
    settle_all(&a, &b);
    for (uint32_t i = 0; i < 3000; i++) { /* into the large ring, and round */
        if (i % 5 == 0)
            must_send(&a, &b, i % 5000, i);
        while (send_beside(&a, &b, i % 41) != WEFT_OK)
            settle_all(&a, &b);
    }
    assert_int_equal(send_beside(&a, &b, 41), WEFT_EAGAIN);
    settle_all(&a, &b);
    progress_both(); /* which ends what must_send() waited for */
    int n = 0;
    while (send_beside(&a, &b, 8) == WEFT_OK)
        n++;
    assert_true(n >= 15);
    int before = a.loc[1].ready;
    settle_all(&a, &b);
    fake_progress(&a);
    assert_int_equal(a.loc[1].ready, before); /* nobody waits for room */
    assert_int_equal(fake_send(&a, 1, 1u << 20, 2), WEFT_OK);
    assert_int_equal(send_beside(&a, &b, 8), WEFT_EAGAIN);
    settle_all(&a, &b);
    progress_both();
    assert_int_equal(send_beside(&a, &b, 8), WEFT_OK);
    settle_all(&a, &b);
}

static void paused_peer_holds_its_messages(void **state)
{
    (void)state;
    must_send(&a, &b, 8, 6);
    settle_all(&a, &b);
    b.answer = PAUSE;
    must_send(&a, &b, 8, 6);
    must_send(&a, &b, 2000, 2);
    uint64_t got = b.loc[0].got;
    for (int i = 0; i < 50; i++)
        OPS->progress(b.ep, 64);
    assert_int_equal(b.loc[0].got, got);
    assert_true(b.loc[0].paused);
    settle_all(&a, &b);
}

static void a_truncated_sink_gets_only_its_part(void **state)
{
    (void)state;
    b.answer = SINK_SHORT;
    for (uint32_t len = 3; len < FAKE_MAX; len = len * 3 + 1)
        must_send(&a, &b, len, 2);
    settle_all(&a, &b);
}

static void deletion_returns_what_is_lent(void **state)
{
    (void)state;
    must_send(&a, &b, 8, 6);
    settle_all(&a, &b);
    b.answer = SINK_ONE;
    assert_int_equal(fake_send(&a, 1, FAKE_MAX, 2), WEFT_OK);
    fake_progress(&b);
    assert_int_equal(OPS->peer_del(a.loc[1].peer, 0), WEFT_EAGAIN);
    assert_int_equal(OPS->peer_del(a.loc[1].peer, 1), WEFT_OK);
    assert_int_equal(a.loc[1].tx_bad, 1);
    for (int i = 0; i < 1000; i++)
        fake_progress(&b);
    assert_int_equal(b.loc[0].rx_bad, 1);
    assert_int_equal(b.loc[0].down, 1);
    assert_int_equal(b.loc[0].status, WEFT_EPEER);
    b.loc[0].down = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_size_arrives_whole, start_case,
                                        stop_case),
        cmocka_unit_test_setup_teardown(every_answer_of_the_core_is_obeyed,
                                        start_case, stop_case),
        {"every_answer_is_obeyed_with_the_smallest_rings",
         every_answer_of_the_core_is_obeyed, start_tiny, stop_case, NULL},
        cmocka_unit_test_setup_teardown(refusal_is_followed_by_tx_ready,
                                        start_case, stop_case),
        cmocka_unit_test_setup_teardown(urgent_control_passes_bulk, start_case,
                                        stop_case),
        cmocka_unit_test_setup_teardown(short_messages_go_beside_the_others,
                                        start_case, stop_case),
        cmocka_unit_test_setup_teardown(paused_peer_holds_its_messages,
                                        start_case, stop_case),
        cmocka_unit_test_setup_teardown(a_truncated_sink_gets_only_its_part,
                                        start_case, stop_case),
        cmocka_unit_test_setup_teardown(deletion_returns_what_is_lent,
                                        start_case, stop_case)};
    return cmocka_run_group_tests_name("shm pair", tests, NULL, NULL);
}
