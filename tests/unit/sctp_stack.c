/* sctp: associations over a network that loses, doubles and overtakes, in time
 * that passes as fast as we say. Every message arrives once, each stream in its
 * order; the stack is shared, ends with its last user, and starts again.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sctp_pair.h"

enum {
    MESSAGES = 1500,
    LONGEST = 20000,
    STEPS_LIMIT = 20000 /* steps of a millisecond */
};

/* Message i of a stream: its length and bytes follow from both. */
static size_t compose_message(uint8_t *out, uint32_t stream, uint32_t i)
{
    size_t n = 8 + (stream * 7919 + i * 104729) % (i % 3 ? 200 : LONGEST - 8);

    memcpy(out, &stream, 4);
    memcpy(out + 4, &i, 4);
    for (size_t k = 8; k < n; k++)
        out[k] = (uint8_t)(k * 31 + stream + i);
    return n;
}

static void send_some(struct end *e)
{
    uint8_t bytes[LONGEST];

    while (e->up && e->sent < MESSAGES) {
        struct wf_sctp_message m = {.stream = (uint16_t)(e->sent % 7),
                                    .kind = 5};
        int rc;
        m.n = compose_message(bytes, m.stream, e->next_out[m.stream]);
        rc = wf_sctp_user_send(&e->assoc, &m, bytes, m.stream >= SCTP_HEADERS);
        if (rc == WEFT_EAGAIN)
            return;
        assert_int_equal(rc, WEFT_OK);
        e->next_out[m.stream]++;
        e->sent++;
    }
}

static void check_result(struct end *e, const struct wf_sctp_message *m,
                  const uint8_t *bytes)
{
    uint8_t want[LONGEST];

    assert_true(m->stream < SCTP_STREAMS);
    assert_int_equal(m->kind, 5);
    assert_int_equal(m->n,
                     compose_message(want, m->stream, e->next_in[m->stream]++));
    assert_memory_equal(bytes, want, m->n);
    e->got++;
}

static void receive_message(struct end *e)
{
    uint8_t bytes[1 << 16];
    struct wf_sctp_message m;

    for (;;) {
        switch (wf_sctp_user_receive(&e->assoc, bytes, sizeof bytes, &m)) {
        case SCTP_NOTHING:
            return;
        case SCTP_UP:
            e->up = true;
            break;
        case SCTP_DOWN:
        case SCTP_LOST:
        case SCTP_PATH:
            fail_msg("the association went down");
            break;
        case SCTP_MESSAGE:
            if (m.n)
                check_result(e, &m, bytes);
        }
    }
}

static void take_step(struct end *a, struct end *b)
{
    struct end *both[] = {a, b};

    for (int i = 0; i < 2; i++) {
        deliver_packets(both[i]);
        receive_message(both[i]);
        send_some(both[i]);
        wf_sctp_user_make_room(&both[i]->assoc);
    }
    wf_sctp_stack_tick(clock_forward_ms());
}

static bool is_busy(struct end *e)
{
    return e->got < MESSAGES || wf_sctp_user_unacked(&e->assoc) > 0;
}

/* Two ends exchange all messages. Returns whether both had to send some
 * again. */
static bool talk_to_peers(const struct network *net)
{
    struct wf_sctp_user_settings setup = {.mtu = net->mtu,
                                          .window = 256 << 10,
                                          .room = 4 << 20,
                                          .check = net->check};
    struct end *a = calloc(1, sizeof *a), *b = calloc(1, sizeof *b);

    connect_ends(a, b, &setup, net);
    for (int i = 0; i < STEPS_LIMIT && (is_busy(a) || is_busy(b)); i++)
        take_step(a, b);
    assert_int_equal(a->got, MESSAGES);
    assert_int_equal(b->got, MESSAGES);
    assert_int_equal(wf_sctp_user_unacked(&a->assoc), 0);
    assert_int_equal(wf_sctp_user_take_retransmitted(&a->assoc), a->again);
    assert_int_equal(wf_sctp_user_take_retransmitted(&b->assoc), b->again);
    bool both_lost = a->again && b->again;
    close_ends(a, b);
    return both_lost;
}

static void messages_arrive_in_order_on_a_good_network(void **state)
{
    enter_stack();
    talk_to_peers(&(struct network){.mtu = 60000});
    wf_sctp_stack_leave();
}

static void messages_arrive_in_order_on_a_bad_network(void **state)
{
    enter_stack();
    assert_true(talk_to_peers(
        &(struct network){.mtu = 1400, .check = true, .trouble = 20}));
    assert_true(talk_to_peers(&(struct network){.mtu = 9000, .trouble = 50}));
    wf_sctp_stack_leave();
}

/* A window that what waits for one lost packet fills, and that packet comes
 * again: with these seeds it was not let in, ever. */
static void awaited_messages_find_room(void **state)
{
    static const uint32_t seeds[] = {69, 81, 129, 139, 145, 199};

    enter_stack();
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        assert_true(talk_to_peers(&(struct network){
            .mtu = 60000, .trouble = 30, .seed = seeds[i]}));
    wf_sctp_stack_leave();
}

/* Chunks that are sent again share packets where they fit; a header before a
 * payload that just does not fit must not make a packet that is too long. */
static void retransmitted_packets_fit(void **state)
{
    enum { MTU = 1400 };
    struct wf_sctp_user_settings setup = {
        .mtu = MTU, .window = 256 << 10, .room = 4 << 20};
    struct end *a = calloc(1, sizeof *a), *b = calloc(1, sizeof *b);

    come_up(a, b, &setup);
    for (size_t n = MTU - 80; n <= MTU - 60; n += 4) {
        int got = 0;
        b->lost = 1000;
        send_message(a, 0, 24);
        send_message(a, 2, n);
        b->lost = 0;
        for (int i = 0; i < STEPS && got < 2; i++, pass_time()) {
            deliver_packets(b);
            got += count_heard(b);
            deliver_packets(a);
            count_heard(a);
        }
        assert_int_equal(got, 2);
    }
    close_ends(a, b);
    wf_sctp_stack_leave();
}

/* Messages of several packets, of which each alone is no use, overtake each
 * other where both ends can do that, and arrive as well where one cannot. */
static void interleaving_is_agreed_upon(void **state)
{
    struct wf_sctp_user_settings setup = {
        .mtu = 1400, .window = 256 << 10, .room = 4 << 20};

    for (int plain = 0; plain < 2; plain++) {
        struct end *a = calloc(1, sizeof *a), *b = calloc(1, sizeof *b);
        int got = 0;
        a->plain = b->plain = plain;
        come_up(a, b, &setup);
        send_message(a, 2, 16 << 10);
        send_message(a, 3, 16 << 10);
        for (int i = 0; i < STEPS && got < 2; i++, pass_time()) {
            deliver_packets(b);
            got += count_heard(b);
            deliver_packets(a);
        }
        assert_int_equal(got, 2);
        assert_true(plain ? b->data > 0 : b->idata > 0);
        assert_int_equal(plain ? b->idata : b->data, 0);
        close_ends(a, b);
        wf_sctp_stack_leave();
    }
}

/* Only one end has it, the one or the other: both do without, in both
 * directions, and messages of streams whose packets alternate are whole. */
static void interleaving_needs_both_sides(void **state)
{
    struct wf_sctp_user_settings setup = {
        .mtu = 1400, .window = 256 << 10, .room = 4 << 20};

    for (int first = 0; first < 2; first++) {
        struct end *a = calloc(1, sizeof *a), *b = calloc(1, sizeof *b);
        int got = 0;
        (first ? a : b)->old = true;
        come_up(a, b, &setup);
        for (uint16_t stream = 2; stream < 6; stream++) {
            send_message(a, stream, 16 << 10);
            send_message(b, stream, 16 << 10);
        }
        send_message(a, 0, 24);
        send_message(b, 0, 24);
        for (int i = 0; i < STEPS && got < 10; i++, pass_time()) {
            deliver_packets(a);
            deliver_packets(b);
            got += count_heard(a) + count_heard(b);
        }
        assert_int_equal(got, 10);
        assert_int_equal(a->idata + b->idata, 0);
        assert_true(a->data > 0 && b->data > 0);
        close_ends(a, b);
        wf_sctp_stack_leave();
    }
}

#if __has_include(<usrsctp.h>)
/* A process that computes does not answer, however long that takes. Here
 * everything is sent again more often than the stack's own limits allow. */
static void silence_ends_no_association(void **state)
{
    struct wf_sctp_user_settings setup = {
        .mtu = 1400, .window = 256 << 10, .room = 4 << 20};
    struct sctp_rtoinfo soon = {
        .srto_initial = 10, .srto_max = 10, .srto_min = 10};
    struct end *a = calloc(1, sizeof *a), *b = calloc(1, sizeof *b);
    char why[300];
    int got = 0;

    come_up(a, b, &setup);
    assert_int_equal(wf_sctp_load_library(why, sizeof why)
                         ->setsockopt(a->assoc.so, IPPROTO_SCTP, SCTP_RTOINFO,
                                      &soon, sizeof soon),
                     0);
    b->lost = 1000;
    send_message(a, 0, 1000);
    for (int i = 0; i < STEPS && b->missed < 100; i++, pass_time())
        assert_int_equal(count_heard(a), 0);
    b->lost = 0;
    for (int i = 0; i < STEPS && !got; i++, pass_time()) {
        deliver_packets(b);
        got = count_heard(b);
    }
    assert_int_equal(got, 1);
    close_ends(a, b);
    wf_sctp_stack_leave();
}
#else
static void silence_ends_no_association(void **state)
{
    skip();
}
#endif

static void the_stack_is_shared_and_starts_again(void **state)
{
    enter_stack();
    enter_stack();
    wf_sctp_stack_leave();
    talk_to_peers(&(struct network){.mtu = 1400});
    wf_sctp_stack_leave();
    enter_stack();
    talk_to_peers(&(struct network){.mtu = 1400});
    wf_sctp_stack_leave();
}

static void *talk_aside(void *none)
{
    talk_to_peers(&(struct network){.mtu = 60000, .trouble = 10});
    return NULL;
}

/* Lost data is owed until it has gone again. Data for which the peer has no
 * room is not: a peer that reads nothing acknowledges nothing more. */
static void unacknowledged_data_are_counted_while_there_is_room(void **state)
{
    struct wf_sctp_user_settings setup = {
        .mtu = 1400, .window = 256 << 10, .room = 4 << 20};
    struct end *a = calloc(1, sizeof *a), *b = calloc(1, sizeof *b);

    come_up(a, b, &setup);
    assert_false(wf_sctp_user_awaits_ack(&a->assoc));
    b->lost = 1000;
    send_message(a, 2, 1000);
    for (int i = 0; i < 3000; i++, pass_time())
        deliver_packets(a);
    assert_true(wf_sctp_user_awaits_ack(&a->assoc));
    b->lost = 0;
    a->assoc.progress = false;
    for (int i = 0; i < STEPS && wf_sctp_user_unacked(&a->assoc);
         i++, pass_time()) {
        deliver_packets(b);
        deliver_packets(a);
    }
    assert_true(a->assoc.progress);
    assert_false(wf_sctp_user_awaits_ack(&a->assoc));
    for (int i = 0; i < 100; i++)
        send_message(a, 2, 10000); /* and b reads none of it */
    for (int i = 0; i < 3000; i++, pass_time()) {
        deliver_packets(b);
        wf_sctp_user_make_room(&b->assoc);
        deliver_packets(a);
    }
    assert_true(wf_sctp_user_unacked(&a->assoc) > 0);
    assert_false(wf_sctp_user_awaits_ack(&a->assoc));
    close_ends(a, b);
    wf_sctp_stack_leave();
}

static void threads_share_the_stack(void **state)
{
    pthread_t aside;

    enter_stack();
    assert_int_equal(pthread_create(&aside, NULL, talk_aside, NULL), 0);
    talk_to_peers(&(struct network){.mtu = 1400, .check = true, .trouble = 10});
    pthread_join(aside, NULL);
    wf_sctp_stack_leave();
}

static void damaged_packets_are_dropped(void **state)
{
    struct wf_sctp_user_settings setup = {
        .mtu = 1400, .window = 1 << 20, .room = 4 << 20, .check = true};
    struct end *a = calloc(1, sizeof *a), *b = calloc(1, sizeof *b);

    enter_stack();
    a->other = b;
    b->other = a;
    b->mtu = setup.mtu;
    a->assoc.ctx = a;
    a->assoc.output = output_packet;
    assert_int_equal(wf_sctp_user_open(&a->assoc, &setup), WEFT_OK);
    assert_int_equal(b->packets, 1); /* the first packet of an association */
    for (size_t i = 0; i < b->wire[0].n; i++) {
        b->wire[0].bytes[i] ^= 0x10;
        wf_sctp_user_input(&a->assoc, b->wire[0].bytes, b->wire[0].n);
        wf_sctp_user_input(&a->assoc, b->wire[0].bytes, i);
        assert_int_equal(a->packets + b->packets, 1); /* no answer */
        b->wire[0].bytes[i] ^= 0x10;
    }
    close_end(a);
    while (b->packets)
        free(b->wire[--b->packets].bytes);
    free(a);
    free(b);
    wf_sctp_stack_leave();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_arrive_in_order_on_a_good_network),
        cmocka_unit_test(messages_arrive_in_order_on_a_bad_network),
        cmocka_unit_test(awaited_messages_find_room),
        cmocka_unit_test(retransmitted_packets_fit),
        cmocka_unit_test(interleaving_is_agreed_upon),
        cmocka_unit_test(interleaving_needs_both_sides),
        cmocka_unit_test(silence_ends_no_association),
        cmocka_unit_test(the_stack_is_shared_and_starts_again),
        cmocka_unit_test(unacknowledged_data_are_counted_while_there_is_room),
        cmocka_unit_test(threads_share_the_stack),
        cmocka_unit_test(damaged_packets_are_dropped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
