/* sctp: these tests check datagrams and messages as bytes. Valid ones become
 * containers, in the order of their headers; invalid ones end the link and
 * nothing else.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "sctp_fake.h"

enum { LONG = 1000, STREAM = STREAM_BULK + 3 };

static uint8_t pattern[LONG];

static int prepare_case(void **state)
{
    for (int i = 0; i < LONG; i++)
        pattern[i] = (uint8_t)(i * 7 + 1);
    return 0;
}

static bool announce_peer(struct fake *f, int stream, uint32_t plen,
                          uint64_t number)
{
    uint8_t h[24];

    fake_header(h, plen, number);
    return fake_deliver(f, STREAM_ORDER, KIND_ANNOUNCE | (uint32_t)stream, h,
                        sizeof h);
}

static void deliver_more(struct fake *f, int stream, int from, int to)
{
    assert_true(fake_deliver(f, stream, KIND_PAYLOAD, pattern + from,
                             (size_t)(to - from)));
}

static void short_one(struct fake *f, int stream, uint64_t number)
{
    uint8_t h[24 + 5];

    fake_header(h, 5, number);
    memcpy(h + 24, "hello", 5);
    assert_true(fake_deliver(f, stream, KIND_WHOLE, h, sizeof h));
}

/* ---- datagrams ----------------------------------------------------------- */

static void heads_come_back_as_they_were(void **state)
{
    static const uint8_t types[] = {IP_HELLO, IP_RESET, TYPE_PACKET, TYPE_ECHO};

    for (size_t i = 0; i < sizeof types; i++) {
        struct wf_sctp_datagram d = {.type = types[i],
                                     .to = 0x12345678,
                                     .from = 0xfedcba98,
                                     .check = 77,
                                     .value = 0x80000001,
                                     .offer = 0x40000002};
        struct wf_sctp_datagram got;
        uint8_t bytes[HEAD_WORD + 3];
        size_t n = wf_sctp_datagram_head(&d, bytes) + 3;
        assert_true(wf_sctp_datagram_read(&got, bytes, n));
        assert_int_equal(got.type, d.type);
        assert_int_equal(got.to, d.to);
        assert_int_equal(got.from, d.from);
        assert_int_equal(got.check, 77);
        assert_int_equal(got.value, d.type == TYPE_PACKET ? 0 : d.value);
        assert_int_equal(got.offer, d.type == TYPE_PACKET ? 0 : d.offer);
        assert_int_equal(got.n, 3);
    }
}

/* Also those that carry nothing at the time. */
static void every_path_is_probed(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    socklen_t n = sizeof at;
    uint8_t bytes[100];
    struct fake f;

    fake_open(&f);
    f.ep.fd[0] = fd;
    assert_int_equal(bind(fd, (struct sockaddr *)&at, n), 0);
    getsockname(fd, (struct sockaddr *)&at, &n);
    f.peer->paths = 2;
    for (int i = 0; i < 2; i++) {
        memcpy(&f.peer->path[i].to.to, &at, n);
        f.peer->path[i].to.to_len = n;
    }
    wf_sctp_probe_paths(f.peer, 5);
    for (int i = 0; i < 2; i++) {
        assert_true(recv(fd, bytes, sizeof bytes, 0) > 0);
        assert_int_equal(bytes[0], TYPE_PROBE);
        assert_int_equal(f.peer->path[i].asked, 5);
    }
    assert_int_equal(recv(fd, bytes, sizeof bytes, 0), -1);
    wf_sctp_probe_paths(f.peer, 7);
    assert_int_equal(f.peer->path[0].asked, 5); /* since then */
    close(fd);
    fake_close(&f);
}

static void foreign_datagrams_are_refused(void **state)
{
    struct wf_sctp_datagram d = {.type = TYPE_PROBE}, got;
    uint8_t bytes[HEAD_WORD];
    static const int wrong[][2] = {{0, 0}, {0, 6}, {0, 255},
                                   {1, 1}, {2, 0}, {3, 0}};

    wf_sctp_datagram_head(&d, bytes);
    for (size_t n = 0; n < HEAD_WORD; n++)
        assert_false(wf_sctp_datagram_read(&got, bytes, n));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint8_t was = bytes[wrong[i][0]];
        bytes[wrong[i][0]] = (uint8_t)wrong[i][1];
        assert_false(wf_sctp_datagram_read(&got, bytes, sizeof bytes));
        bytes[wrong[i][0]] = was;
    }
    assert_true(wf_sctp_datagram_read(&got, bytes, sizeof bytes));
}

/* ---- containers ---------------------------------------------------------- */

static void payload_lands_while_others_pass(void **state)
{
    struct fake f;

    fake_open(&f);
    assert_true(announce_peer(&f, STREAM, LONG, 1));
    assert_true(announce_peer(&f, STREAM + 1, 10, 2));
    deliver_more(&f, STREAM, 0, 400);
    short_one(&f, STREAM_ORDER, 3);
    short_one(&f, STREAM_URGENT, 4);
    deliver_more(&f, STREAM + 1, 0, 10);
    assert_int_equal(f.finished, 1);
    deliver_more(&f, STREAM, 400, LONG);
    assert_int_equal(f.finished, 2);
    assert_int_equal(f.failed, 0);
    assert_int_equal(f.shown, 4);
    assert_int_equal(f.ep.count.rx_containers, 4);
    assert_int_equal(f.ep.count.rx_bytes, LONG + 10 + 5 + 5);
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(f.first[i], i + 1);
    assert_memory_equal(f.sink[0].memory, pattern, LONG);
    assert_memory_equal(f.sink[1].memory, pattern, 10);
    assert_int_equal(f.peer->ip.state, PEER_OPEN);
    fake_close(&f);
}

static void payload_waits_for_its_announcement(void **state)
{
    struct fake f;

    fake_open(&f);
    deliver_more(&f, STREAM, 0, 100);
    deliver_more(&f, STREAM + 1, 0, 50);
    deliver_more(&f, STREAM, 100, 300);
    deliver_more(&f, STREAM, 0, 70); /* of the next one on this stream */
    assert_int_equal(f.shown, 0);
    assert_true(announce_peer(&f, STREAM, 300, 1));
    assert_int_equal(f.finished, 1);
    assert_memory_equal(f.sink[0].memory, pattern, 300);
    assert_true(announce_peer(&f, STREAM, 70, 2));
    assert_true(announce_peer(&f, STREAM + 1, 50, 3));
    assert_int_equal(f.finished, 3);
    assert_memory_equal(f.sink[1].memory, pattern, 70);
    assert_memory_equal(f.sink[2].memory, pattern, 50);
    assert_int_equal(f.peer->early_bytes, 0);
    deliver_more(&f, STREAM, 0,
                 10); /* the list still works when it was emptied */
    assert_true(announce_peer(&f, STREAM, 10, 4));
    assert_int_equal(f.finished, 4);
    fake_close(&f);
}

static void unwanted_payload_is_dropped(void **state)
{
    struct fake f;

    fake_open(&f);
    f.rx_answer = WEFT_SKIP;
    assert_true(announce_peer(&f, STREAM, LONG, 1));
    deliver_more(&f, STREAM, 0, LONG);
    f.rx_answer = WEFT_OK;
    f.shorten = 600;
    assert_true(announce_peer(&f, STREAM, LONG, 2));
    deliver_more(&f, STREAM, 0, 300);
    deliver_more(&f, STREAM, 300, LONG);
    assert_int_equal(f.finished, 1);
    assert_int_equal(f.failed, 0);
    assert_memory_equal(f.sink[1].memory, pattern, 400);
    f.shorten = LONG;
    assert_true(announce_peer(&f, STREAM, LONG, 3)); /* wants nothing of it */
    assert_int_equal(f.finished, 2);
    deliver_more(&f, STREAM, 0, LONG);
    assert_int_equal(f.peer->ip.state, PEER_OPEN);
    fake_close(&f);
}

static void without_memory_a_message_is_asked_for_again(void **state)
{
    struct fake f;
    uint8_t h[24];

    fake_open(&f);
    f.rx_answer = WEFT_EAGAIN;
    assert_false(announce_peer(&f, STREAM, 40, 1));
    fake_header(h, 0, 2);
    assert_false(fake_deliver(&f, STREAM_ORDER, KIND_WHOLE, h, sizeof h));
    f.rx_answer = WEFT_OK;
    assert_true(announce_peer(&f, STREAM, 40, 1));
    deliver_more(&f, STREAM, 0, 40);
    assert_int_equal(f.finished, 1);
    fake_close(&f);
}

static void the_end_gives_back_what_is_under_way(void **state)
{
    struct fake f;

    fake_open(&f);
    assert_true(announce_peer(&f, STREAM, LONG, 1));
    assert_true(announce_peer(&f, STREAM, LONG, 2));
    deliver_more(&f, STREAM, 0, 400);
    deliver_more(&f, STREAM + 1, 0, 400);
    wf_sctp_rx_cancel(f.peer, WEFT_ELINK);
    assert_int_equal(f.finished, 2);
    assert_int_equal(f.failed, 2);
    fake_close(&f);
}

/* ---- nonsense ------------------------------------------------------------ */

struct bad {
    const char *what;
    int stream;
    uint32_t kind;
    uint32_t plen;
    size_t n; /* bytes of the message */
};

static void invalid_bytes_break_the_link(void **state)
{
    static const struct bad bad[] = {
        {"no whole header", STREAM_ORDER, KIND_WHOLE, 0, 23},
        {"payload missing", STREAM_ORDER, KIND_WHOLE, 6, 29},
        {"more than it says", STREAM_ORDER, KIND_WHOLE, 4, 29},
        {"header among payload", STREAM, KIND_WHOLE, 5, 29},
        {"announced with payload", STREAM_ORDER, KIND_ANNOUNCE | STREAM, 5, 29},
        {"announced nothing", STREAM_ORDER, KIND_ANNOUNCE | STREAM, 0, 24},
        {"announced on headers", STREAM_ORDER, KIND_ANNOUNCE | STREAM_URGENT, 5,
         24},
        {"announced beyond", STREAM_ORDER, KIND_ANNOUNCE | SCTP_STREAMS, 5, 24},
        {"of no kind", STREAM_ORDER, 0x7777, 0, 24},
        {"payload among headers", STREAM_URGENT, KIND_PAYLOAD, 0, 24},
        {"payload beyond", SCTP_STREAMS, KIND_PAYLOAD, 0, 24}};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint8_t bytes[64] = {0};
        struct fake f;
        fake_open(&f);
        fake_header(bytes, bad[i].plen, 1);
        fake_deliver(&f, bad[i].stream, bad[i].kind, bytes, bad[i].n);
        if (f.peer->ip.state != PEER_BROKEN || f.shown)
            fail_msg("%s: the link stands", bad[i].what);
        assert_int_equal(f.peer->ip.why_status, WEFT_EPROTO);
        assert_non_null(f.peer->ip.why);
        fake_close(&f);
    }
}

static void more_payload_than_announced_breaks_the_link(void **state)
{
    struct fake f;

    fake_open(&f);
    assert_true(announce_peer(&f, STREAM, 300, 1));
    deliver_more(&f, STREAM, 0, 200);
    deliver_more(&f, STREAM, 200, 301);
    assert_int_equal(f.peer->ip.state, PEER_BROKEN);
    assert_int_equal(f.finished, 0);
    fake_close(&f);
}

static void payload_that_nobody_announces_is_bounded(void **state)
{
    struct fake f;
    size_t sent = 0;

    fake_open(&f);
    while (f.peer->ip.state == PEER_OPEN && sent < 4u * SCTP_EARLY_MAX) {
        deliver_more(&f, STREAM, 0, LONG);
        sent += LONG;
    }
    assert_int_equal(f.peer->ip.state, PEER_BROKEN);
    assert_true(sent <= SCTP_EARLY_MAX + LONG);
    fake_close(&f);
}

static void goodbye_is_heard_and_other_frames_are_not(void **state)
{
    struct fake f;
    uint8_t h[24];

    fake_open(&f);
    fake_header(h, 0, 0);
    h[0] = SCTP_GOODBYE;
    assert_true(fake_deliver(&f, STREAM_ORDER, KIND_WHOLE, h, sizeof h));
    assert_true(f.peer->ip.leaving);
    assert_int_equal(f.peer->ip.state, PEER_OPEN);
    h[0] = 0xf7;
    assert_true(fake_deliver(&f, STREAM_ORDER, KIND_WHOLE, h, sizeof h));
    assert_int_equal(f.peer->ip.state, PEER_BROKEN);
    fake_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_come_back_as_they_were),
        cmocka_unit_test(every_path_is_probed),
        cmocka_unit_test(foreign_datagrams_are_refused),
        cmocka_unit_test(payload_lands_while_others_pass),
        cmocka_unit_test(payload_waits_for_its_announcement),
        cmocka_unit_test(unwanted_payload_is_dropped),
        cmocka_unit_test(without_memory_a_message_is_asked_for_again),
        cmocka_unit_test(the_end_gives_back_what_is_under_way),
        cmocka_unit_test(invalid_bytes_break_the_link),
        cmocka_unit_test(more_payload_than_announced_breaks_the_link),
        cmocka_unit_test(payload_that_nobody_announces_is_bounded),
        cmocka_unit_test(goodbye_is_heard_and_other_frames_are_not)};
    return cmocka_run_group_tests(tests, prepare_case, NULL);
}
