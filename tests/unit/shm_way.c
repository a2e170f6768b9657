/* plugins/shm: which way large payloads are copied.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "shm_two_nodes.h"

enum { MB = 1 << 20 };

static struct shm_line line;
static struct shm_in in;

static void begin_case(void)
{
    in = (struct shm_in){.line = &line};
    wf_shm_way_init(&in);
}

static uint32_t read_told_way(void)
{
    return atomic_load_explicit(&line.way, memory_order_relaxed);
}

static enum shm_way find_used_way(void)
{
    return read_told_way() % SHM_WAYS;
}

/* A message of a MB, whose sender has heard: what it took to copy it in and
 * out. Whether it was timed. */
static bool message_in(const uint64_t into[SHM_WAYS],
                       const uint64_t out[SHM_WAYS])
{
    wf_shm_way_count_message(&in, MB);
    enum shm_way way = find_used_way();
    bool timed = read_told_way() & SHM_TIMED;
    if (timed)
        wf_shm_way_add_time(&in, wf_shm_way_pack_time(way, into[way]), MB,
                            out[way]);
    return timed;
}

static bool send_message(const uint64_t ns[SHM_WAYS])
{
    const uint64_t half[] = {ns[0] / 2, ns[1] / 2};
    return message_in(half, half);
}

/* Messages until one is timed, then until one is not. */
static int count_untimed(const uint64_t ns[SHM_WAYS])
{
    int n = 0;
    while (!send_message(ns))
        n++;
    return n;
}

static int count_timed(const uint64_t ns[SHM_WAYS])
{
    int n = 1; /* the one that count_untimed() has seen */
    while (send_message(ns))
        n++;
    return n;
}

/* Nanoseconds by memcpy and around the caches. */
static void the_faster_way_stays(void **state)
{
    const uint64_t around[] = {30000, 20000}, copy[] = {20000, 30000};
    (void)state;
    begin_case();
    assert_int_equal(find_used_way(), SHM_BY_MEMCPY);
    count_untimed(around);
    count_timed(around);
    assert_int_equal(find_used_way(), SHM_NONTEMPORAL);
    count_untimed(copy);
    count_timed(copy);
    assert_int_equal(find_used_way(), SHM_BY_MEMCPY);
}

static void stores_around_the_caches_have_to_be_clearly_faster(void **state)
{
    const uint64_t ns[] = {20000, 19000};
    (void)state;
    begin_case();
    count_untimed(ns);
    count_timed(ns);
    assert_int_equal(find_used_way(), SHM_BY_MEMCPY);
}

static void a_trial_is_short_beside_what_follows(void **state)
{
    const uint64_t ns[] = {20000, 25000};
    (void)state;
    begin_case();
    count_untimed(ns);
    int tried = count_timed(ns);
    assert_true(tried >= 12 && tried <= 20);
    assert_true(count_untimed(ns) >= 12 * tried);
}

/* Where the second way takes several times as long: it gets no second turn, and
 * no whole first one. */
static void a_hopeless_way_is_not_tried_to_the_end(void **state)
{
    const uint64_t ns[] = {20000, 90000};
    (void)state;
    begin_case();
    count_untimed(ns);
    assert_true(count_timed(ns) <= 4 + 2 + 1);
    assert_int_equal(find_used_way(), SHM_BY_MEMCPY);
    assert_true(count_untimed(ns) >= 200);
}

/* A message that was interrupted costs its way one turn of two. */
static void one_pause_does_not_decide(void **state)
{
    const uint64_t ns[] = {20000, 30000}, paused[] = {5000000, 30000};
    (void)state;
    begin_case();
    while (!(read_told_way() & SHM_TIMED))
        wf_shm_way_count_message(&in, MB);
    assert_int_equal(find_used_way(), SHM_BY_MEMCPY);
    send_message(paused);
    count_timed(ns);
    assert_int_equal(find_used_way(), SHM_BY_MEMCPY);
}

static void copies_of_the_former_way_are_not_counted(void **state)
{
    const uint64_t ns[] = {20000, 30000};
    (void)state;
    begin_case();
    count_untimed(ns);
    while (find_used_way() == SHM_BY_MEMCPY)
        send_message(ns);
    for (int i = 0; i < 100; i++) /* the sender has not heard */
        wf_shm_way_add_time(&in, wf_shm_way_pack_time(SHM_BY_MEMCPY, 1), MB, 1);
    assert_int_equal(find_used_way(), SHM_NONTEMPORAL);
    count_timed(ns);
    assert_int_equal(find_used_way(), SHM_BY_MEMCPY);
}

/* Where both sides send at once each has copied all of it before the other
 * looks. */
static void the_time_of_the_sender_counts(void **state)
{
    const uint64_t into[] = {20000, 60000}, out[] = {20000, 15000};
    (void)state;
    begin_case();
    while (!message_in(into, out))
        continue;
    while (message_in(into, out))
        continue;
    assert_int_equal(find_used_way(), SHM_BY_MEMCPY);
}

static void hopeless_trials_become_rare(void **state)
{
    const uint64_t ns[] = {20000, 90000}, even[] = {20000, 20000};
    (void)state;
    begin_case();
    count_untimed(ns);
    count_timed(ns);
    int first = count_untimed(ns);
    count_timed(ns);
    assert_true(count_untimed(ns) >= 3 * first / 2);
    count_timed(even);
    assert_true(count_untimed(ns) <= first);
}

static void a_time_out_of_range_still_names_its_way(void **state)
{
    (void)state;
    for (enum shm_way way = 0; way < SHM_WAYS; way++) {
        uint32_t says = wf_shm_way_pack_time(way, UINT64_MAX);
        assert_int_equal(says % SHM_WAYS, way);
        assert_true(shm_is_copy_timed(says));
        assert_true(shm_is_copy_timed(wf_shm_way_pack_time(way, 0)));
        assert_false(shm_is_copy_timed((uint32_t)way));
    }
}

/* ---- between two endpoints ----------------------------------------------- */

/* A sender to whom memcpy into the ring is a burden. */
static int find_burdened(weft_tx *tx, uint64_t off, struct iovec *v, int max)
{
    if (a.loc[1].peer->out.way == SHM_BY_MEMCPY)
        fake_later += 5000000;
    return fake_tx_seg(tx, off, v, max);
}

/* A megabyte, of which seg says where it lies. */
static void send_from(struct weft_loc *l,
                      int (*seg)(weft_tx *, uint64_t, struct iovec *, int))
{
    struct fake_tx *t = fake_tx_new(l, l->sent + 1, MB, 1);
    t->tx.seg = seg;
    fake_header(&t->hdr, l->sent + 1, MB, false, false);
    int rc = weft_plugin_2_shm.ops->send(l->peer, &t->tx);
    assert_true(rc == WEFT_OK || rc == WEFT_DONE);
    l->sent++;
    l->lent += rc == WEFT_OK;
    if (rc == WEFT_DONE)
        fake_tx_free(t);
}

static void send_slowly(void)
{
    struct weft_loc *l = &a.loc[1];
    send_from(l, find_burdened);
    while (b.loc[0].got < l->sent || l->lent > l->tx_back)
        progress_both();
}

/* All of it was in the ring when the receiver looked for the first time. */
static void the_receiver_learns_what_it_cost_the_sender(void **state)
{
    (void)state;
    fake_pair(&a, &b, NULL);
    fake_connect(&a, &b, 8, 6);
    struct shm_choice *c = &b.loc[0].peer->in.choice;
    int messages = 0;
    while (c->way == SHM_BY_MEMCPY && messages++ < 100)
        send_slowly();
    while (c->left <= 0 && messages++ < 100)
        send_slowly();
    assert_int_equal(c->way, SHM_NONTEMPORAL);
    assert_true(messages < 100);
    close_both();
}

/* ---- how long the pieces are --------------------------------------------- */

static int copies;

/* All that is left in one, so each copy asks once. */
static int find_counted(weft_tx *tx, uint64_t off, struct iovec *v, int max)
{
    struct fake_tx *t = (struct fake_tx *)(void *)tx;
    (void)max;
    copies++;
    v[0] = (struct iovec){t->payload + off, tx->len - off};
    return 1;
}

static void send_counted(struct fake_node *from, uint32_t to)
{
    send_from(&from->loc[to], find_counted);
}

static void until_all_is_there(void)
{
    struct weft_loc *to_b = &a.loc[1], *to_a = &b.loc[0];
    while (to_a->got < to_b->sent || to_b->got < to_a->sent ||
           to_b->lent > to_b->tx_back || to_a->lent > to_a->tx_back)
        progress_both();
}

static void a_receiver_that_also_sends_gets_long_pieces(void **state)
{
    const struct fake_config config = {.ring = 256, .cell = 64 << 10,
                                       .chunk = 16 << 10, .chunks = 128};
    (void)state;
    fake_pair(&a, &b, &config);
    fake_connect(&a, &b, 8, 6);
    until_all_is_there();
    for (int i = 0; i < 34; i++) { /* the large rings begin */
        send_counted(&a, 1);
        send_counted(&b, 0);
        until_all_is_there();
    }
    a.loc[1].peer->in.choice.left = INT64_MAX; /* no trials, which need */
    b.loc[0].peer->in.choice.left = INT64_MAX; /* short ones */
    for (int i = 0; i < 9; i++) { /* at every place in the bulk ring */
        copies = 0;
        send_counted(&b, 0);
        assert_int_equal(copies, 64);
        copies = 0;
        send_counted(&a, 1); /* finds something of b */
        assert_in_range(copies, 2, 24);
        assert_true(fake_send(&a, 1, 20000 + 64 * (uint32_t)i, 0) >= 0);
        until_all_is_there();
    }
    close_both();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_faster_way_stays),
        cmocka_unit_test(stores_around_the_caches_have_to_be_clearly_faster),
        cmocka_unit_test(a_trial_is_short_beside_what_follows),
        cmocka_unit_test(a_hopeless_way_is_not_tried_to_the_end),
        cmocka_unit_test(one_pause_does_not_decide),
        cmocka_unit_test(copies_of_the_former_way_are_not_counted),
        cmocka_unit_test(the_time_of_the_sender_counts),
        cmocka_unit_test(hopeless_trials_become_rare),
        cmocka_unit_test(a_time_out_of_range_still_names_its_way),
        cmocka_unit_test(the_receiver_learns_what_it_cost_the_sender),
        cmocka_unit_test(a_receiver_that_also_sends_gets_long_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
