/* udp-reliable: these tests send calls through a network that delays, loses and
 * repeats them: a late datagram ends no attempt. They also check links whose
 * peer is gone before its messages were read.
 *
 *   side 0 <--> between <--> side 1     each knows only the one in the middle
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "udp_rig.h"

#include <unistd.h>

#define SECOND UINT64_C(1000000000)

struct datagram {
    uint8_t bytes[2048];
    size_t n;
};

static struct rig_side all[RIG_SIDES];
static int between;

/* Side 0 knows side 1 by the address of the one in between. */
static void introduce_peers(void)
{
    struct rig_peer *p = &all[0].peer[1];
    struct sockaddr_storage sa;
    socklen_t len;
    struct wf_ip_book book;
    uint8_t blob[IP_BLOB_MAX];
    size_t n = sizeof blob;

    assert_int_equal(RIG_PLUGIN.ops->address(all[1].ep, blob, &n), WEFT_OK);
    assert_int_equal(wf_ip_unpack_book(blob, n, &book), WEFT_OK);
    sa = address_of(&all[1], &len);
    between = socket(sa.ss_family, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    book.addr[0].port = 0;
    len = wf_ip_to_sockaddr(&book.addr[0], &sa);
    assert_int_equal(bind(between, (struct sockaddr *)&sa, len), 0);
    assert_int_equal(getsockname(between, (struct sockaddr *)&sa, &len), 0);
    assert_int_equal(wf_ip_from_sockaddr((struct sockaddr *)&sa, &book.addr[0]),
                     WEFT_OK);
    book.n = 1;
    n = sizeof blob;
    assert_int_equal(wf_ip_pack_book(&book, blob, &n), WEFT_OK);
    p->me = &all[0];
    p->other = &all[1];
    assert_int_equal(RIG_PLUGIN.ops->peer_add(all[0].ep, (weft_loc *)p, 1, blob,
                                              n, &p->peer),
                     WEFT_OK);
}

static void begin_case(void)
{
    rig_open_sides(all, 2, "secret");
    introduce_peers();
    assert_int_equal(RIG_PLUGIN.ops->connect(all[0].peer[1].peer), WEFT_OK);
}

static void end_case(void)
{
    close(between);
    rig_close_sides(all);
}

/* The next datagram of one of them; -1: there is none. */
static int listen_in(struct datagram *d)
{
    struct sockaddr_storage from, zero;
    socklen_t len = sizeof from, n;
    ssize_t got = recvfrom(between, d->bytes, sizeof d->bytes, 0,
                           (struct sockaddr *)&from, &len);
    struct wf_ip_addr who;

    if (got < 0)
        return -1;
    d->n = (size_t)got;
    wf_ip_from_sockaddr((struct sockaddr *)&from, &who);
    n = wf_ip_to_sockaddr(&who, &from);
    zero = address_of(&all[0], &len);
    return n == len && memcmp(&from, &zero, n) == 0 ? 0 : 1;
}

static bool has_said(int who, uint8_t type, struct datagram *d)
{
    rig_progress(&all[who]);
    for (int from; (from = listen_in(d)) >= 0;)
        if (from == who && d->bytes[0] == type)
            return true;
    return false;
}

/* Pass only the datagrams of that type of one side; all others are lost. */
static struct datagram hear_peer(int who, uint8_t type)
{
    struct datagram d;

    RIG_UNTIL(all, 0, has_said(who, type, &d));
    return d;
}

static void tell_peer(int who, const struct datagram *d)
{
    socklen_t len;
    struct sockaddr_storage sa = address_of(&all[who], &len);
    uint64_t before = all[who].ep->count.packets_in;

    assert_int_equal(
        sendto(between, d->bytes, d->n, 0, (struct sockaddr *)&sa, len), d->n);
    RIG_UNTIL(&all[who], 1, all[who].ep->count.packets_in > before);
}

/* Pass everything on until they are connected. */
static void pass_on(void)
{
    struct datagram d;
    int from;

    for (uint64_t by = rig_seconds() + 30; !all[0].peer[1].ups;) {
        rig_turn(all, 2);
        while ((from = listen_in(&d)) >= 0)
            tell_peer(!from, &d);
        assert_true(rig_seconds() <= by);
        assert_int_equal(all[0].peer[1].downs, 0);
    }
}

static void two_processes_connect_through_a_bad_network(void **state)
{
    begin_case();
    pass_on();
    assert_int_equal(all[1].peer[0].ups, 1);
    end_case();
}

/* The listener forgets the call, and finds an old copy of its first word. */
static void an_answer_to_an_earlier_call_is_ignored(void **state)
{
    struct datagram hello, answer, proof, reset;

    begin_case();
    hello = hear_peer(0, UDP_HELLO);
    tell_peer(1, &hello);
    answer = hear_peer(1, UDP_ANSWER);
    tell_peer(0, &answer);
    proof = hear_peer(0, UDP_PROOF);
    all[1].skew += 3 * SECOND;
    rig_progress(&all[1]);
    tell_peer(1, &proof);
    reset = hear_peer(1, UDP_RESET);
    tell_peer(0, &reset);
    tell_peer(1, &hello);
    answer = hear_peer(1, UDP_ANSWER);
    tell_peer(0, &answer);
    pass_on();
    assert_int_equal(all[0].warnings, 0);
    end_case();
}

/* A peer that has forgotten the link says so when it is spoken to. */
static void a_link_that_the_other_side_forgot_ends_at_once(void **state)
{
    rig_open_sides(all, 2, "secret");
    rig_send(all, 2, 0, 1, 10);
    RIG_UNTIL(all, 2, all[1].peer[0].got == 1);
    for (int i = 0; i < 2; i++) { /* nothing is found out by waiting */
        all[i].skew = rig_now((weft_core *)&all[i]);
        all[i].host.now_ns = rig_skew_only;
    }
    RIG_PLUGIN.ops->peer_del(all[1].peer[0].peer, 1);
    all[1].peer[0].peer = NULL;
    rig_send(all, 0, 0, 1, 10);
    for (int i = 0; i < 10000 && !all[0].peer[1].downs; i++)
        rig_turn(all, 2);
    assert_int_equal(all[0].peer[1].downs, 1);
    rig_close_sides(all);
}

/* The answer was lost. */
static void a_repeated_call_is_answered_again(void **state)
{
    struct datagram hello, answer;

    begin_case();
    for (int i = 0; i < 3; i++) {
        hello = hear_peer(0, UDP_HELLO);
        tell_peer(1, &hello);
        answer = hear_peer(1, UDP_ANSWER);
    }
    tell_peer(0, &answer);
    pass_on();
    assert_int_equal(all[1].peer[0].ups, 1);
    end_case();
}

/* The core has no memory for it; meanwhile the peer has left. */
static void messages_of_a_peer_that_left_are_read_to_the_end(void **state)
{
    struct rig_peer *from = &all[1].peer[0];

    rig_open_sides(all, 2, "secret");
    rig_send(all, 2, 0, 1, 10);
    RIG_UNTIL(all, 2, from->got == 1);
    all[1].refusing = true;
    for (int i = 0; i < 5; i++)
        rig_send(all, 2, 0, 1, 100);
    RIG_UNTIL(all, 2, RIG_PLUGIN.ops->drain(all[0].ep) == WEFT_OK);
    rig_close(&all[0]);
    wf_udp_handle_gone(from->peer, WEFT_EPEER, "nobody receives there");
    rig_turn(all, 2);
    all[1].refusing = false;
    RIG_PLUGIN.ops->rx_resume(from->peer);
    RIG_UNTIL(all, 2, from->got == 6);
    RIG_UNTIL(all, 2, from->peer->ip.state == PEER_LEFT);
    assert_int_equal(from->downs, 0);
    rig_close(&all[1]);
}

/* Behind the addresses that are in use may stand one that could not be had. */
static void an_address_of_a_family_that_we_lack_is_not_called(void **state)
{
    struct wf_ip_book book = {.n = 1};
    struct rig_peer *p = &all[0].peer[1];
    uint8_t blob[IP_BLOB_MAX];
    size_t n = sizeof blob;
    struct wf_ip_endpoint *here;

    rig_open(all, 0, "secret");
    here = &all[0].ep->ip;
    assert_in_range(here->n, 1, IP_ADDRS_MAX - 1);
    for (int i = 0; i < here->n; i++)
        here->use[i].addr.family = 4;
    here->use[here->n].addr.family = 6;
    book.addr[0] = (struct wf_ip_addr){.family = 6, .port = 7, .ip[15] = 1};
    assert_int_equal(wf_ip_pack_book(&book, blob, &n), WEFT_OK);
    p->me = &all[0];
    assert_int_equal(RIG_PLUGIN.ops->peer_add(all[0].ep, (weft_loc *)p, 1, blob,
                                              n, &p->peer),
                     WEFT_OK);
    RIG_PLUGIN.ops->connect(p->peer);
    assert_int_equal(p->peer->party.calls, 0);
    rig_close(&all[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_processes_connect_through_a_bad_network),
        cmocka_unit_test(an_answer_to_an_earlier_call_is_ignored),
        cmocka_unit_test(a_repeated_call_is_answered_again),
        cmocka_unit_test(a_link_that_the_other_side_forgot_ends_at_once),
        cmocka_unit_test(messages_of_a_peer_that_left_are_read_to_the_end),
        cmocka_unit_test(an_address_of_a_family_that_we_lack_is_not_called)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
