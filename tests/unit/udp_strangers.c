/* udp-reliable beside people who do not belong to the job: noise, forged and
 * recorded packets, and calls that lead nowhere. Nothing of it is delivered,
 * nothing ends the link, and those who hold the key get in all the same.
 *
 * Forged datagrams are sent by the own socket of the victim's partner: no
 * address gives them away.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/auth_key.h"
#include "udp_rig.h"

#include <errno.h>
#include <unistd.h>

enum { SIZE = 1200 };

static struct rig_side all[RIG_SIDES];
static uint64_t seed = 88172645463325252u;

static uint64_t throw_dice(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static void random_bytes(uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(throw_dice() >> 11);
}

static void make_pair(int mac)
{
    struct wf_udp_cfg cfg = rig_defaults();

    cfg.mac = mac;
    rig_open_with(all, 0, "secret", &cfg);
    rig_open_with(all, 1, "secret", &cfg);
    rig_send(all, 2, 0, 1, 10);
    rig_send(all, 2, 1, 0, 10);
    RIG_UNTIL(all, 2, all[0].peer[1].got == 1 && all[1].peer[0].got == 1);
}

/* Everything sent has arrived, and the link is the first one. */
static void end_of_pair(void)
{
    RIG_UNTIL(all, 2,
              all[0].peer[1].got == all[1].peer[0].sent &&
                  all[1].peer[0].got == all[0].peer[1].sent);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(all[i].peer[!i].downs, 0);
        assert_int_equal(all[i].ep->count.connections, 1);
        rig_close(&all[i]);
    }
}

static void throw_datagram(int fd, const struct rig_side *to, const void *p,
                           size_t n)
{
    socklen_t len;
    struct sockaddr_storage sa = address_of(to, &len);

    while (sendto(fd, p, n, 0, (struct sockaddr *)&sa, len) < 0)
        assert_true(errno == ECONNREFUSED || errno == EAGAIN);
}

static int open_stranger(void)
{
    int fd = socket(all[0].ep->ip.use[0].addr.family == 4 ? AF_INET : AF_INET6,
                    SOCK_DGRAM | SOCK_NONBLOCK, 0);

    assert_true(fd >= 0);
    return fd;
}

/* 10 MB, every other one dressed as a packet of the link. */
static void noise_during_a_job_reaches_no_rank(void **state)
{
    uint8_t p[SIZE];
    int fd;

    make_pair(CHECKSUM_AUTO);
    fd = open_stranger();
    for (int i = 0; i < (10 << 20) / SIZE; i++) {
        size_t n = throw_dice() % sizeof p;
        random_bytes(p, n);
        if (i % 2 && n > PACKET_HEAD) {
            p[0] = (uint8_t)(UDP_HELLO + throw_dice() % UDP_RESET);
            p[1] = 1;
            p[3] = 0;
            memcpy(p + 4, &all[0].peer[1].peer->link, 4);
            if (i % 4 == 1)
                wf_udp_packet_set_checksum(p, n, NULL, 0);
        }
        throw_datagram(fd, &all[i % 3 == 0], p, n);
        if (i % 64 == 0)
            rig_send(all, 2, i % 128 == 0, i % 128 != 0,
                     1 + throw_dice() % 60000);
        rig_turn(all, 2);
    }
    close(fd);
    end_of_pair();
}

/* A packet as the partner would make it, but for the key. */
static size_t forge_datagram(const struct rig_side *from, uint8_t type,
                             uint8_t *p)
{
    weft_peer *by = from->peer[from == &all[0]].peer;
    struct wf_udp_packet k = {.type = type,
                              .flags = UDP_MAC,
                              .to = by->remote_link,
                              .number = (uint32_t)by->flow.number,
                              .next = by->flow.whole,
                              .seen = (uint32_t)by->flow.seen,
                              .room = 1 << 20,
                              .offset = by->flow.sent};
    size_t n;

    if (type == UDP_RESET)
        k.number = by->link;
    n = wf_udp_packet_pack(&k, p);
    memset(p + n, 0, WEFT_HDR + PACKET_MAC);
    p[n] = 1; /* a container of no payload */
    n += type == UDP_DATA ? WEFT_HDR : 0;
    random_bytes(p + n, PACKET_MAC);
    n += PACKET_MAC;
    if (type == UDP_RESET || type == UDP_ACCEPT)
        wf_udp_packet_set_checksum(p, n, NULL, 0);
    return n;
}

static void forged_packets_are_not_believed(void **state)
{
    static const uint8_t types[] = {UDP_DATA, UDP_ACK, UDP_RESET, UDP_ACCEPT};
    uint8_t p[PACKET_MAX + WEFT_HDR + PACKET_MAC];

    make_pair(CHECKSUM_AUTO);
    for (int i = 0; i < 2000; i++) {
        struct rig_side *from = &all[i & 1], *to = &all[!(i & 1)];
        uint64_t strange = to->ep->calls.foreign_packets;
        size_t n = forge_datagram(from, types[i % 4], p);

        throw_datagram(from->ep->fd[0], to, p, n);
        RIG_UNTIL(all, 2, to->ep->calls.foreign_packets > strange);
        if (i % 50 == 0)
            rig_send(all, 2, (uint32_t)i / 50 % 2, (uint32_t)i / 50 % 2 ^ 1,
                     1 + throw_dice() % 20000);
    }
    end_of_pair();
}

/* Each packet on the way to rank 1, five times, and once more much later. */
static void replayed_packets_are_taken_once(void **state)
{
    static uint8_t old[64][SIZE];
    ssize_t length[64] = {0};
    static uint8_t p[UDP_RBUF];

    make_pair(CHECKSUM_ON);
    for (int i = 0; i < 500; i++) {
        struct rig_tx *t =
            rig_make(all[0].peer[1].sent++, 10 + throw_dice() % 900, 0);
        ssize_t n;

        assert_int_equal(
            RIG_PLUGIN.ops->send(all[0].peer[1].peer, &t->tx), WEFT_DONE);
        rig_free(t);
        n = recv(all[1].ep->fd[all[1].ep->hot ? UDP_HOT : 0], p, sizeof p,
                 MSG_PEEK | MSG_DONTWAIT);
        for (int k = 0; n > 0 && k < 5; k++)
            throw_datagram(all[0].ep->fd[0], &all[1], p, (size_t)n);
        if (length[i % 64] > 0)
            throw_datagram(all[0].ep->fd[0], &all[1], old[i % 64],
                  (size_t)length[i % 64]);
        length[i % 64] = n <= SIZE ? n : 0;
        if (n > 0 && n <= SIZE)
            memcpy(old[i % 64], p, (size_t)n);
        rig_turn(all, 2);
    }
    end_of_pair();
}

/* Without the key, and with a hello that was overheard: neither takes more than
 * the pool of callers, nor keeps a caller out. */
static void ten_thousand_calls_leave_room_for_one(void **state)
{
    struct wf_udp_packet k = {.type = UDP_HELLO, .room = 1 << 20};
    uint8_t p[PACKET_HEAD + WEFT_AUTH_MSG], hello[WEFT_AUTH_MSG];
    weft_auth *auth = NULL;
    size_t n;
    uint32_t whom = 1;
    int fd;

    rig_open_sides(all, 3, "secret");
    fd = open_stranger();
    wf_auth_advance(all[2].key, 2, &auth, NULL, 0, hello, &n, &whom);
    wf_auth_advance(all[2].key, 2, &auth, NULL, 0, NULL, NULL, NULL);
    for (uint32_t i = 0; i < 10000; i++) {
        k.number = i + 1;
        wf_udp_packet_pack(&k, p);
        memcpy(p + PACKET_HEAD, hello, sizeof hello);
        if (i % 2)
            random_bytes(p + PACKET_HEAD, WEFT_AUTH_MSG);
        wf_udp_packet_set_checksum(p, sizeof p, NULL, 0);
        throw_datagram(fd, &all[1], p, sizeof p);
        if (i % 16 == 0)
            rig_turn(all, 2);
        assert_true(all[1].ep->calls.pending <= IP_PENDING_MAX);
    }
    assert_true(all[1].ep->calls.pending > 0);
    rig_send(all, 2, 0, 1, 100);
    RIG_UNTIL(all, 2, all[1].peer[0].got == 1);
    close(fd);
    rig_close_sides(all);
}

static void call_with_a_wrong_key(int fd, uint32_t number)
{
    struct wf_udp_packet k = {
        .type = UDP_HELLO, .room = 1 << 20, .number = number};
    uint8_t p[PACKET_HEAD + WEFT_AUTH_MSG] = {0}, hello[WEFT_AUTH_MSG];
    static struct wf_auth_key *wrong;
    weft_auth *auth = NULL;
    size_t n;
    uint32_t whom = 1;

    if (!wrong)
        wf_auth_key_create("wrong", 5, "job", &wrong);
    wf_auth_advance(wrong, 2, &auth, NULL, 0, hello, &n, &whom);
    wf_auth_advance(wrong, 2, &auth, NULL, 0, NULL, NULL, NULL);
    wf_udp_packet_pack(&k, p);
    memcpy(p + PACKET_HEAD, hello, sizeof hello);
    wf_udp_packet_set_checksum(p, sizeof p, NULL, 0);
    throw_datagram(fd, &all[0], p, sizeof p);
    rig_progress(&all[0]);
}

/* Work for strangers is done as often as the clock allows, not as often as they
 * ask. */
static void handshakes_of_strangers_time_out(void **state)
{
    enum { CALLS = 1000, PAUSES = 10 };
    uint64_t heard;
    int fd;

    make_pair(CHECKSUM_AUTO);
    fd = open_stranger();
    rig_stop_clock(&all[0]);
    all[0].skew += IP_UNKNOWN_CALLERS_NS;
    for (uint32_t i = 0; i < CALLS; i++)
        call_with_a_wrong_key(fd, i);
    heard = all[0].ep->calls.refused;
    assert_int_equal(heard, IP_UNKNOWN_CALLERS);
    for (uint32_t i = 0; i < CALLS; i++) {
        if (i % (CALLS / PAUSES) == 0)
            all[0].skew += IP_PAUSE_NS;
        call_with_a_wrong_key(fd, i);
    }
    assert_int_equal(all[0].ep->calls.refused, heard + PAUSES * IP_BUNDLE);
    close(fd);
    all[0].host.now_ns = rig_now; /* what it adds now is a jump */
    all[0].skew = 0;
    end_of_pair();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_during_a_job_reaches_no_rank),
        cmocka_unit_test(forged_packets_are_not_believed),
        cmocka_unit_test(replayed_packets_are_taken_once),
        cmocka_unit_test(ten_thousand_calls_leave_room_for_one),
        cmocka_unit_test(handshakes_of_strangers_time_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
