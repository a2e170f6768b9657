/* plugins/shm: short messages in a row, whose slots the receiver hands over.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "shm_two_nodes.h"

enum { STYLE = 2 | 4, ROW = 3, ALL = 40 /* bytes: the slot is full */ };

static void send_to(struct fake_node *x, struct fake_node *y)
{
    fake_connect(x, y, ALL, STYLE);
}

/* Connected: each has sent the other a message. */
static int start_case(void **state)
{
    (void)state;
    connect_by_words(ALL, STYLE);
    return 0;
}

static struct shm_slot *next_of(struct fake_node *y, struct fake_node *x)
{
    return y->loc[x->id].peer->in.next;
}

/* Has the receiver written to the slot of message i? The payload's last byte is
 * the slot's. */
static bool is_handed_over(const struct shm_slot *first, int i)
{
    unsigned char sent = fake_byte((uint64_t)i + 2, ALL - 1);
    unsigned char now = first[i].body[sizeof first->body - 1];

    assert_true(sent != 0);
    return now != sent;
}

static void slots_are_handed_over_from_the_fourth_message_on(void **state)
{
    struct shm_slot *first = next_of(&b, &a);

    (void)state;
    for (int i = 0; i < 2 * ROW; i++)
        send_to(&a, &b);
    fake_receive_all(&b, &a);
    assert_ptr_equal(next_of(&b, &a), first + 2 * ROW);
    for (int i = 0; i < 2 * ROW; i++)
        assert_int_equal(is_handed_over(first, i), i >= ROW);
}

static void answered_messages_are_not_handed_over(void **state)
{
    struct shm_slot *first = next_of(&b, &a);

    (void)state;
    for (int i = 0; i < 2 * ROW; i++) {
        send_to(&a, &b);
        fake_receive_all(&b, &a);
        send_to(&b, &a);
        fake_receive_all(&a, &b);
    }
    assert_ptr_equal(next_of(&b, &a), first + 2 * ROW);
    for (int i = 0; i < 2 * ROW; i++)
        assert_false(is_handed_over(first, i));
}

/* fake_rx looks at each byte. */
static void a_returned_slot_is_not_written(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) {
        send_to(&a, &b);
        if (i % 5 == 4) /* by then some are under way */
            fake_progress(&b);
    }
    fake_receive_all(&b, &a);
    assert_int_equal(b.deliveries, 1 + 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            slots_are_handed_over_from_the_fourth_message_on, start_case,
            end_pair),
        cmocka_unit_test_setup_teardown(answered_messages_are_not_handed_over,
                                        start_case, end_pair),
        cmocka_unit_test_setup_teardown(a_returned_slot_is_not_written,
                                        start_case, end_pair)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
