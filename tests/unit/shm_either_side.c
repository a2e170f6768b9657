/* plugins/shm: these tests check transfers that either side moves alone, or
 * both together.
 *
 * The progress of a side that computes is not called. A side that has a helper
 * thread says so: `stands_in`, NO_CPU where programs use all CPUs.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "shm_transfer.h"

static void a_sender_that_computes_is_not_needed(void **state)
{
    struct transfer t;
    (void)state;
    begin_transfer(&t, 0, BYTES);
    run_transfer(&t, &b, NULL);
    check_transfer(&t);
    assert_int_equal(read_count(&b, "read_bytes"), BYTES);
    end_transfer(&t);
}

/* It moves all, and the receiver only has to notice. */
static void a_receiver_that_computes_is_not_needed(void **state)
{
    struct transfer t;
    uint64_t limit = read_clock() + LIMIT_S * UINT64_C(1000000000);
    (void)state;
    b.stands_in = 1;
    begin_transfer(&t, 7, BYTES - 9);
    while (read_count(&a, "written_bytes") < BYTES - 9) {
        fake_progress(&a);
        assert_true(read_clock() < limit);
    }
    assert_false(has_ended(&t));
    assert_int_equal(OPS->arm(b.ep, NULL), WEFT_EAGAIN);
    run_transfer(&t, &b, NULL);
    check_transfer(&t);
    assert_int_equal(read_count(&b, "read_bytes"), 0);
    end_transfer(&t);
}

/* A program that left after its call: what it left in the ring stays there. */
static void unclaimed_pieces_are_few(void **state)
{
    struct transfer t;
    uint64_t limit = read_clock() + LIMIT_S * UINT64_C(1000000000);
    (void)state;
    begin_transfer(&t, 0, BYTES);
    while (read_count(&a, "written_bytes") < BYTES - (256 << 10)) {
        fake_progress(&a);
        assert_true(read_clock() < limit);
    }
    run_transfer(&t, &b, NULL);
    check_transfer(&t);
    end_transfer(&t);
}

static void both_sides_push_and_take(void **state)
{
    struct transfer t[SEVERAL];
    (void)state;
    for (int i = 0; i < SEVERAL; i++)
        begin_transfer(&t[i], 0, BYTES);
    for (int i = 0; i < SEVERAL; i++)
        run_transfer(&t[i], &a, &b);
    for (int i = 0; i < SEVERAL; i++) {
        check_transfer(&t[i]);
        end_transfer(&t[i]);
    }
}

/* The trial of the ways to copy ends where all that comes are pieces. The clock
 * stands: a side that had no processor for a while would else be passed by, and
 * pieces that do not come through the ring are not timed. */
static void pieces_are_timed(void **state)
{
    (void)state;
    struct shm_choice *c = &b.loc[0].peer->in.choice;
    b.ep->ring_pace = (struct shm_pace){100, 1 << 20}; /* no race with CMA */
    b.ep->cma_pace = (struct shm_pace){100, 1};
    fake_stands = read_clock();
    bool tried = false;
    for (int i = 0; i < 40 && (!tried || c->left <= 0); i++) {
        struct transfer t;
        begin_transfer(&t, 0, BYTES);
        run_transfer(&t, &a, &b);
        check_transfer(&t);
        end_transfer(&t);
        tried |= c->left <= 0;
    }
    assert_true(tried && c->left > 0);
    assert_int_equal(
        read_count(&a, "written_bytes") + read_count(&b, "read_bytes"), 0);
}

/* Messages of all sizes go between the pieces, in order. */
static void other_messages_pass(void **state)
{
    struct transfer t[SEVERAL];
    uint64_t seed = 5;
    (void)state;
    b.answer_random = true;
    for (int i = 0; i < SEVERAL; i++)
        begin_transfer(&t[i], 0, BYTES);
    for (int i = 0; !has_ended(&t[SEVERAL - 1]) || i < 300; i++) {
        seed = seed * 6364136223846793005u + 1;
        fake_send(&a, 1, (uint32_t)(seed >> 40) % 200000, (unsigned)i % 8);
        fake_progress(seed >> 33 & 1 ? &a : &b);
    }
    while (b.loc[0].got < a.loc[1].sent || b.loc[0].sinking)
        progress_both();
    for (int i = 0; i < SEVERAL; i++) {
        run_transfer(&t[i], &a, &b);
        check_transfer(&t[i]);
        end_transfer(&t[i]);
    }
}

/* The sender comes back in the middle, and goes again. */
static void a_side_that_comes_back_takes_part(void **state)
{
    struct transfer t;
    (void)state;
    for (unsigned round = 0; round < 30; round++) {
        memset(target, 0xee, sizeof target);
        begin_transfer(&t, round, BYTES - 100);
        for (unsigned i = 0; !has_ended(&t); i++)
            fake_progress(i >> (round % 7) & 1 ? &a : &b);
        check_transfer(&t);
        end_transfer(&t);
    }
}

/* Where both have a thread in their place, the reader's works. */
static void one_of_two_helpers_moves(void **state)
{
    struct transfer t;
    (void)state;
    a.stands_in = b.stands_in = 1;
    begin_transfer(&t, 0, BYTES);
    run_transfer(&t, &a, &b);
    check_transfer(&t);
    assert_int_equal(read_count(&b, "read_bytes"), BYTES);
    end_transfer(&t);
}

/* A sender that computes, with nobody in its place: whoever stands in for the
 * receiver does not go to sleep before it has found that out, and reads. */
static void a_helper_does_not_sleep_while_undecided(void **state)
{
    struct transfer t;
    (void)state;
    b.stands_in = 1;
    begin_transfer(&t, 0, BYTES);
    while (!has_ended(&t)) {
        assert_int_equal(OPS->arm(b.ep, NULL), WEFT_EAGAIN);
        fake_progress(&b);
    }
    check_transfer(&t);
    assert_int_equal(read_count(&b, "read_bytes"), BYTES);
    end_transfer(&t);
}

/* A sender's stand-in sleeps, and is not woken for what the receiver can do. */
static void a_helper_sleeps_while_the_other_side_moves(void **state)
{
    struct transfer t;
    (void)state;
    a.stands_in = 1;
    while (OPS->arm(a.ep, NULL) == WEFT_EAGAIN)
        fake_progress(&a);
    uint64_t rang = read_count(&b, "bells_rung");
    begin_transfer(&t, 0, BYTES);
    assert_int_equal(read_count(&b, "bells_rung"), rang);
    for (int i = 0; i < 100; i++)
        fake_progress(&a);
    assert_int_equal(OPS->arm(a.ep, NULL), WEFT_OK);
    run_transfer(&t, &b, NULL);
    check_transfer(&t);
    assert_int_equal(read_count(&a, "written_bytes"), 0);
    assert_int_equal(read_count(&b, "read_bytes"), BYTES);
    end_transfer(&t);
}

/* A receiver's helper thread sleeps because the sender is at work. When the
 * sender goes, its own helper takes over. A thread that is slow here may miss
 * the moment: try again. */
static void the_last_one_awake_moves(void **state)
{
    struct transfer t;
    uint64_t limit = read_clock() + LIMIT_S * UINT64_C(1000000000);
    bool asleep = false;
    (void)state;
    b.stands_in = 1;
    while (!asleep) {
        a.stands_in = 0;
        assert_true(read_clock() < limit);
        begin_transfer(&t, 0, BYTES);
        fake_progress(&a);
        asleep = !has_ended(&t) && OPS->arm(b.ep, NULL) == WEFT_OK;
        a.stands_in = 1;
        while (asleep && OPS->arm(a.ep, NULL) == WEFT_EAGAIN)
            fake_progress(&a);
        run_transfer(&t, &b, NULL);
        check_transfer(&t);
        end_transfer(&t);
    }
    assert_true(read_count(&a, "written_bytes") >= BYTES);
}

static void let_sleep(struct fake_node *n)
{
    while (OPS->arm(n->ep, NULL) == WEFT_EAGAIN)
        fake_progress(n);
}

/* Both programs compute, on all CPUs that there are: those in their place go to
 * sleep, and move nothing though they are asked to look. */
static void begin_without_a_cpu(struct transfer *t)
{
    a.stands_in = b.stands_in = NO_CPU;
    begin_transfer(t, 0, BYTES);
    for (int i = 0; i < 100; i++)
        progress_both();
    let_sleep(&a);
    let_sleep(&b);
    let_sleep(&a);
    assert_false(has_ended(t));
    assert_int_equal(read_count(&b, "read_bytes"), 0);
    assert_int_equal(read_count(&a, "written_bytes"), 0);
}

static void without_a_cpu_the_receiver_that_comes_moves(void **state)
{
    struct transfer t;
    (void)state;
    begin_without_a_cpu(&t);
    b.stands_in = 0;
    run_transfer(&t, &b, NULL);
    check_transfer(&t);
    assert_int_equal(read_count(&b, "read_bytes"), BYTES);
    end_transfer(&t);
}

/* And the one in the receiver's place is called when that is done. */
static void without_a_cpu_the_sender_that_comes_moves(void **state)
{
    struct transfer t;
    uint64_t limit = read_clock() + LIMIT_S * UINT64_C(1000000000), rang;
    (void)state;
    begin_without_a_cpu(&t);
    rang = read_count(&a, "bells_rung");
    a.stands_in = 0;
    while (read_count(&a, "written_bytes") < BYTES) {
        fake_progress(&a);
        assert_true(read_clock() < limit);
    }
    assert_int_equal(read_count(&a, "bells_rung"), rang + 1);
    run_transfer(&t, &b, NULL);
    check_transfer(&t);
    assert_int_equal(read_count(&b, "read_bytes"), 0);
    end_transfer(&t);
}

/* A message of which the receiver has taken the front has to be pushed by the
 * sender or its helper. */
static void without_a_cpu_a_begun_transfer_is_finished(void **state)
{
    struct transfer t;
    (void)state;
    begin_transfer(&t, 0, BYTES);
    fake_progress(&a);
    a.stands_in = NO_CPU;
    run_transfer(&t, &b, &a);
    check_transfer(&t);
    end_transfer(&t);
}

/* The receiver's buffer has room for less. */
static void less_than_the_offer_is_moved(void **state)
{
    struct transfer t;
    (void)state;
    for (uint64_t len = 1; len < BYTES; len = len * 7 + 3) {
        memset(target, 0xee, sizeof target);
        begin_transfer(&t, 5, len);
        run_transfer(&t, &a, &b);
        check_transfer(&t);
        end_transfer(&t);
    }
}

/* A message that is not offered, or no more, is not pushed; the reader copies
 * it, or fails. */
/* Nothing refers to its memory any more, and the next one is moved. */
static void an_offer_that_ends_leaves_the_others(void **state)
{
    (void)state;
    const struct shm_pushes *asked = &a.loc[1].peer->pushes;
    struct transfer t[2];
    begin_transfer(&t[0], 0, BYTES / 2 - 64);
    begin_transfer(&t[1], BYTES / 2, BYTES / 2);
    while (asked->n < 2)
        fake_progress(&a);
    OPS->mr_dereg(a.ep, t[0].mr);
    assert_null(asked->at[asked->first % SHM_FETCHES].mr);
    assert_ptr_equal(asked->at[(asked->first + 1) % SHM_FETCHES].mr, t[1].mr);
    run_transfer(&t[0], &b, &a);
    run_transfer(&t[1], &b, &a);
    check_transfer(&t[0]);
    check_transfer(&t[1]);
    OPS->rkey_close(b.loc[0].peer, t[0].key);
    end_transfer(&t[1]);
}

static void memory_that_is_not_offered_is_not_pushed(void **state)
{
    struct transfer t;
    (void)state;
    begin_transfer(&t, 0, BYTES);
    OPS->mr_dereg(a.ep, t.mr);
    for (int i = 0; i < 1000; i++)
        fake_progress(&a);
    assert_int_equal(read_count(&a, "written_bytes"), 0);
    run_transfer(&t, &b, NULL);
    check_transfer(&t);
    OPS->rkey_close(b.loc[0].peer, t.key);
    assert_int_equal(a.loc[1].down + b.loc[0].down, 0);
}

static void memory_that_cannot_be_read_is_an_error(void **state)
{
    struct transfer t;
    (void)state;
    begin_transfer(&t, 0, BYTES);
    end_transfer(&t);
    struct transfer u = {0};
    unsigned char key[64];
    size_t n = sizeof key;
    run_transfer(&t, &b, NULL);
    assert_int_equal(OPS->mr_reg(a.ep, source, BYTES, &u.mr), WEFT_OK);
    assert_int_equal(OPS->mr_pack(a.ep, u.mr, key, &n), WEFT_OK);
    assert_int_equal(OPS->rkey_open(b.loc[0].peer, key, n, &u.key), WEFT_OK);
    u.rma = (weft_get){.one = {target, BYTES},
                       .raddr = 4096,
                       .rkey = u.key};
    assert_int_equal(OPS->get(b.loc[0].peer, &u.rma), WEFT_OK);
    run_transfer(&u, &a, &b);
    assert_true((int)u.rma.priv[5] - 1000 < 0);
    end_transfer(&u);
}

static void a_lost_peer_ends_its_transfers(void **state)
{
    struct transfer t[SEVERAL];
    (void)state;
    for (int i = 0; i < SEVERAL; i++)
        begin_transfer(&t[i], 0, BYTES);
    for (int i = 0; i < 3; i++)
        progress_both();
    assert_int_equal(OPS->peer_del(b.loc[0].peer, 1), WEFT_OK);
    for (int i = 0; i < SEVERAL; i++)
        assert_true(has_ended(&t[i]));
    for (int i = 0; i < SEVERAL; i++)
        end_transfer(&t[i]);
    b.loc[0].peer = NULL;
    for (int i = 0; i < 3000; i++)
        fake_progress(&a);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, start_case, end_pair)
    const struct CMUnitTest tests[] = {
        CASE(a_sender_that_computes_is_not_needed),
        CASE(a_receiver_that_computes_is_not_needed),
        CASE(unclaimed_pieces_are_few),
        CASE(both_sides_push_and_take),
        CASE(pieces_are_timed),
        CASE(other_messages_pass),
        CASE(a_side_that_comes_back_takes_part),
        CASE(one_of_two_helpers_moves),
        CASE(a_helper_does_not_sleep_while_undecided),
        CASE(a_helper_sleeps_while_the_other_side_moves),
        CASE(the_last_one_awake_moves),
        CASE(without_a_cpu_the_receiver_that_comes_moves),
        CASE(without_a_cpu_the_sender_that_comes_moves),
        CASE(without_a_cpu_a_begun_transfer_is_finished),
        CASE(less_than_the_offer_is_moved),
        CASE(an_offer_that_ends_leaves_the_others),
        CASE(memory_that_is_not_offered_is_not_pushed),
        CASE(memory_that_cannot_be_read_is_an_error),
        CASE(a_lost_peer_ends_its_transfers)};
    return cmocka_run_group_tests_name("shm either side", tests, NULL, NULL);
}
