/* sctp: associations that the stack refuses, and packets that go again.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sctp_pair.h"

/* A refusal of the stack leaves no association. */
static void an_address_that_is_taken_is_refused(void **state)
{
    struct wf_sctp_user_settings setup = {
        .mtu = 1400, .window = 256 << 10, .room = 4 << 20};
    struct end *a = calloc(1, sizeof *a), *b = calloc(1, sizeof *b);

    come_up(a, b, &setup);
    struct socket *first = a->assoc.so;
    assert_int_equal(wf_sctp_user_open(&a->assoc, &setup), WEFT_ENOMEM);
    assert_null(a->assoc.so);
    a->assoc.so = first;
    close_ends(a, b);
    wf_sctp_stack_leave();
}

/* Each packet acknowledges the one before it, and carries data behind that. */
static void alternating_peers_count_retransmissions(void **state)
{
    struct wf_sctp_user_settings setup = {
        .mtu = 1400, .window = 256 << 10, .room = 4 << 20};
    struct end *both[] = {calloc(1, sizeof **both), calloc(1, sizeof **both)};

    come_up(both[0], both[1], &setup);
    both[0]->lost = both[1]->lost = 300;
    for (int turn = 0; turn < 60; turn++) {
        struct end *speaker = both[turn % 2], *listener = both[1 - turn % 2];
        int got = 0;
        send_message(speaker, 0, 100);
        for (int i = 0; i < STEPS && !got; i++, pass_time()) {
            deliver_packets(listener);
            got = count_heard(listener);
            deliver_packets(speaker);
        }
        assert_int_equal(got, 1);
    }
    for (int i = 0; i < 2; i++) {
        assert_in_range(both[i]->again, 1, 1000);
        assert_int_equal(wf_sctp_user_retransmissions(&both[i]->assoc),
                         both[i]->again);
        assert_int_equal(wf_sctp_user_take_retransmitted(&both[i]->assoc),
                         both[i]->again);
        assert_int_equal(wf_sctp_user_retransmissions(&both[i]->assoc),
                         both[i]->again);
    }
    close_ends(both[0], both[1]);
    wf_sctp_stack_leave();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_that_is_taken_is_refused),
        cmocka_unit_test(alternating_peers_count_retransmissions)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
