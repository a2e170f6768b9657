/* plugins/shm: when the answer to a message is looked for.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "shm_two_nodes.h"

enum { BYTES = 8, STYLE = 2 | 4, PROMPT = 32 };

static void send_to(struct fake_node *x, struct fake_node *y)
{
    fake_connect(x, y, BYTES, STYLE);
}

static weft_peer *peer_of(void)
{
    return a.loc[b.id].peer;
}

/* a looks for a message of b that is not the next one, if there is one. */
static int look_at(void)
{
    weft_want w = {.h0 = 0, .mask = UINT64_MAX};

    return wf_shm_recv_words(peer_of(), &w);
}

static void ask_peer(void)
{
    send_to(&a, &b);
    fake_receive_all(&b, &a);
}

static void ask_and_be_answered_at_once(void)
{
    ask_peer();
    send_to(&b, &a);
    assert_int_equal(look_at(), WEFT_EAGAIN);
    fake_receive_all(&a, &b);
}

static void ask_and_look_too_early(void)
{
    ask_peer();
    assert_int_equal(look_at(), WEFT_OK);
    send_to(&b, &a);
    fake_receive_all(&a, &b);
}

/* Connected: each has sent the other a message, and the last has been looked
 * for. */
static int start_case(void **state)
{
    (void)state;
    connect_by_words(BYTES, STYLE);
    look_at();
    peer_of()->in.pre_poll_pauses = peer_of()->in.prompt_answers = 0;
    return 0;
}

static void a_poll_that_is_too_early_delays_the_next_one(void **state)
{
    (void)state;
    ask_and_look_too_early();
    assert_int_equal(peer_of()->in.pre_poll_pauses, 1);
    ask_and_look_too_early();
    assert_int_equal(peer_of()->in.pre_poll_pauses, 2);
    ask_and_look_too_early();
    assert_int_equal(peer_of()->in.pre_poll_pauses, 2);
}

static void only_the_first_poll_for_an_answer_counts(void **state)
{
    (void)state;
    ask_peer();
    for (int i = 0; i < 10; i++)
        assert_int_equal(look_at(), WEFT_OK);
    assert_int_equal(peer_of()->in.pre_poll_pauses, 1);
}

static void messages_that_are_no_answers_change_no_delay(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(look_at(), WEFT_OK);
        send_to(&b, &a);
        fake_receive_all(&a, &b);
    }
    assert_int_equal(peer_of()->in.pre_poll_pauses, 0);
}

static void prompt_answers_are_polled_for_sooner(void **state)
{
    (void)state;
    ask_and_look_too_early();
    ask_and_look_too_early();
    for (int i = 0; i < PROMPT - 1; i++)
        ask_and_be_answered_at_once();
    assert_int_equal(peer_of()->in.pre_poll_pauses, 2);
    ask_and_be_answered_at_once();
    assert_int_equal(peer_of()->in.pre_poll_pauses, 1);
    for (int i = 0; i < 2 * PROMPT; i++)
        ask_and_be_answered_at_once();
    assert_int_equal(peer_of()->in.pre_poll_pauses, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_poll_that_is_too_early_delays_the_next_one, start_case,
            end_pair),
        cmocka_unit_test_setup_teardown(
            only_the_first_poll_for_an_answer_counts, start_case, end_pair),
        cmocka_unit_test_setup_teardown(
            messages_that_are_no_answers_change_no_delay, start_case,
            end_pair),
        cmocka_unit_test_setup_teardown(prompt_answers_are_polled_for_sooner,
                                        start_case, end_pair)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
