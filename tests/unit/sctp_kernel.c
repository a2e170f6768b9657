/* sctp: associations of the kernel, on a fake kernel (tests/fake/fake_sctp.c):
 * what it shows becomes messages and events, and only who proves himself gets
 * to a link.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/sctp.h>

#include <cmocka.h>

#include "sctp_fake.h"

#include "../fake/fake_sctp.c"

enum { LIBRARY = 1 << 16, TIMEOUT_MS = 2000, MS = 1000000 };

/* ---- what the kernel shows ----------------------------------------------- */

static struct wf_sctp_sock *here;
static int there;

static int open_pair(void **state)
{
    int fd[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fd), 0);
    adopt(fd[0], 0);
    there = fd[1];
    here = wf_sctp_sock_new(fd[0]);
    assert_non_null(here);
    return 0;
}

static int close_pair(void **state)
{
    close(here->fd);
    wf_sctp_sock_free(here);
    if (there >= 0)
        close(there);
    unsetenv("FAKE_SCTP_PIECES");
    return 0;
}

static void show_frame(uint32_t type, uint16_t stream, const void *data,
                       size_t n)
{
    uint8_t bytes[FRAME_MAX];
    struct frame head = {.type = type, .stream = stream, .ppid = htonl(9)};

    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, data, n);
    assert_int_equal(send(there, bytes, sizeof head + n, 0), sizeof head + n);
}

static enum wf_sctp_event next(struct wf_sctp_message *m, void *buf)
{
    return wf_sctp_kernel_receive(here, buf, SCTP_MESSAGE_MAX, m);
}

static void pieces_become_messages(void **state)
{
    static uint8_t sent[1000], got[SCTP_MESSAGE_MAX];
    struct wf_sctp_message m;

    for (size_t i = 0; i < sizeof sent; i++)
        sent[i] = (uint8_t)(i * 3);
    setenv("FAKE_SCTP_PIECES", "400", 1);
    show_frame(FRAME_MESSAGE, 5, sent, sizeof sent);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(next(&m, got), SCTP_MESSAGE);
        assert_int_equal(m.n, 0);
    }
    assert_int_equal(next(&m, got), SCTP_MESSAGE);
    assert_int_equal(m.n, sizeof sent);
    assert_int_equal(m.stream, 5);
    assert_int_equal(m.kind, 9);
    assert_memory_equal(got, sent, sizeof sent);
    assert_int_equal(next(&m, got), SCTP_NOTHING);
    show_frame(FRAME_MESSAGE, 5, sent, 10);
    assert_int_equal(next(&m, got), SCTP_MESSAGE);
    assert_int_equal(m.n, 10);
}

static void an_endless_message_is_the_end(void **state)
{
    static uint8_t sent[SCTP_MESSAGE_MAX + 1], got[SCTP_MESSAGE_MAX];
    struct wf_sctp_message m;
    enum wf_sctp_event event = SCTP_MESSAGE;
    int big = 1 << 20;

    setsockopt(there, SOL_SOCKET, SO_SNDBUF, &big, sizeof big);
    setenv("FAKE_SCTP_PIECES", "4000", 1);
    show_frame(FRAME_MESSAGE, 3, sent, sizeof sent);
    while (event == SCTP_MESSAGE) {
        event = next(&m, got);
        assert_int_equal(m.n, 0);
    }
    assert_int_equal(event, SCTP_DOWN);
}

static void no_stream_of_ours_is_the_end(void **state)
{
    static uint8_t got[SCTP_MESSAGE_MAX];
    struct wf_sctp_message m;

    show_frame(FRAME_MESSAGE, SCTP_STREAMS, "x", 1);
    assert_int_equal(next(&m, got), SCTP_DOWN);
}

static void show_change(uint16_t what)
{
    struct sctp_assoc_change c = {.sac_type = SCTP_ASSOC_CHANGE,
                                  .sac_length = sizeof c,
                                  .sac_state = what};

    show_frame(FRAME_NOTE, 0, &c, sizeof c);
}

static void show_path(int what, const char *at)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sctp_paddr_change c = {.spc_type = SCTP_PEER_ADDR_CHANGE,
                                  .spc_length = sizeof c,
                                  .spc_state = what};

    inet_pton(AF_INET, at, &in.sin_addr);
    memcpy(&c.spc_aaddr, &in, sizeof in);
    show_frame(FRAME_NOTE, 0, &c, sizeof c);
}

static void news_become_events(void **state)
{
    static uint8_t got[SCTP_MESSAGE_MAX];
    struct wf_sctp_message m;

    show_change(SCTP_COMM_UP);
    show_path(SCTP_ADDR_UNREACHABLE, "10.1.2.3");
    show_path(SCTP_ADDR_AVAILABLE, "10.1.2.4");
    show_path(SCTP_ADDR_CONFIRMED, "10.1.2.4");
    show_change(SCTP_COMM_LOST);
    assert_int_equal(next(&m, got), SCTP_UP);
    assert_int_equal(next(&m, got), SCTP_PATH);
    assert_false(here->works);
    assert_int_equal(here->about.ip[3], 3);
    assert_int_equal(next(&m, got), SCTP_PATH);
    assert_true(here->works);
    assert_int_equal(here->about.ip[3], 4);
    assert_int_equal(next(&m, got), SCTP_MESSAGE);
    assert_int_equal(m.n, 0);
    assert_int_equal(next(&m, got), SCTP_DOWN);
    close(there);
    there = -1;
    assert_int_equal(next(&m, got), SCTP_DOWN);
}

static void a_full_buffer_says_so_and_bulk_leaves_some(void **state)
{
    static uint8_t bytes[8 << 10];
    struct wf_sctp_message m = {.stream = 4, .kind = 2, .n = sizeof bytes};
    int rc;

    while ((rc = wf_sctp_kernel_send(here, &m, bytes, true)) == WEFT_OK)
        assert_false(here->blocked);
    assert_int_equal(rc, WEFT_EAGAIN);
    assert_true(here->blocked);
    assert_true(wf_sctp_kernel_unacked(here) > 0);
    m.n = 100;
    assert_int_equal(wf_sctp_kernel_send(here, &m, bytes, false), WEFT_OK);
    close(there);
    there = -1;
    assert_int_equal(wf_sctp_kernel_send(here, &m, bytes, false), WEFT_ELINK);
}

/* ---- two who meet -------------------------------------------------------- */

struct side {
    struct fake f; /* first: it is the core */
    int ups;
    uint64_t key;
};

static struct side *a, *b;
static uint64_t now;
static weft_host host;

static uint64_t clock_of(weft_core *c)
{
    return now;
}

static void peer_up(weft_core *c, weft_loc *loc)
{
    ((struct side *)c)->ups++;
}

static uint64_t mac(weft_core *c, uint64_t nonce, const struct iovec *v, int n)
{
    uint64_t h = nonce ^ ((struct side *)c)->key;

    for (int i = 0; i < n; i++)
        for (size_t k = 0; k < v[i].iov_len; k++)
            h = (h ^ ((const uint8_t *)v[i].iov_base)[k]) * 0x100000001b3u;
    return h;
}

static struct side *open_side(int associations)
{
    struct side *s = calloc(1, sizeof *s);
    weft_ep *ep = &s->f.ep;

    fake_open(&s->f);
    s->f.rx_answer = WEFT_OK;
    ep->host = &host;
    ep->core = (weft_core *)s;
    ep->cfg.associations = associations;
    ep->cfg.window = 1 << 20;
    ep->cfg.heartbeat = 1000u * MS;
    ep->cfg.handshake_timeout = TIMEOUT_MS * (uint64_t)MS;
    ep->cfg.connect_timeout = 10 * TIMEOUT_MS * (uint64_t)MS;
    ep->calls.room = 1 << 20;
    ep->message = malloc(SCTP_RBUF);
    ep->scratch = malloc(SCTP_RBUF);
    ep->ip.n = 1;
    ep->ip.use[0].addr =
        (struct wf_ip_addr){.family = 4, .prefix = 8, .ip = {127, 0, 0, 1}};
    ep->epfd = epoll_create1(0);
    ep->kernel = true;
    assert_int_equal(wf_sctp_kernel_open(ep), WEFT_OK);
    assert_true(ep->kernel_port > 0);
    wf_sctp_offer(ep);
    return s;
}

/* As after a handshake that `dialled` began. */
static void link_to(struct side *s, struct side *other, bool dialled)
{
    weft_ep *ep = &s->f.ep;
    weft_peer *p = s->f.peer;
    struct wf_ip_call c = {.offer = other->f.ep.calls.offer,
                           .room = 1 << 20,
                           .dialled = dialled,
                           .salt = 77};
    struct wf_ip_addr at = {.family = 4, .ip = {127, 0, 0, 1}};
    struct wf_ip_id *id = wf_ip_id_new(&ep->calls);

    id->party = &p->party;
    p->link = id->id;
    p->party.book = calloc(1, sizeof *p->party.book);
    p->up = false;
    p->paths = 1;
    p->path[0].to.to_len = wf_ip_to_sockaddr(&at, &p->path[0].to.to);
    p->packet = 1400;
    p->exit.fd = -1;
    ep->open = p;
    p->listed = true;
    assert_int_equal(wf_sctp_agree(p, &c), WEFT_OK);
}

static void open_two(int associations_a, int associations_b)
{
    a = open_side(associations_a);
    b = open_side(associations_b);
    link_to(a, b, true);
    link_to(b, a, false);
    a->f.peer->remote_link = b->f.peer->link;
    b->f.peer->remote_link = a->f.peer->link;
    assert_true(a->f.peer->kernel && b->f.peer->kernel);
    assert_int_equal(wf_sctp_meet(b->f.peer), WEFT_OK);
    assert_int_equal(wf_sctp_meet(a->f.peer), WEFT_OK);
}

static void close_side(struct side *s)
{
    weft_ep *ep = &s->f.ep;

    wf_sctp_strands_close(s->f.peer);
    wf_sctp_kernel_close(ep);
    close(ep->epfd);
    free(ep->message);
    free(ep->scratch);
    free(s->f.peer->party.book);
    wf_ip_call_end(&ep->calls);
    fake_close(&s->f);
    free(s);
}

static int close_two(void **state)
{
    close_side(a);
    close_side(b);
    unsetenv("FAKE_SCTP_MUTE");
    return 0;
}

static int prepare(void **state)
{
    host = fake_host;
    host.now_ns = clock_of;
    host.peer_up = peer_up;
    host.mac64 = mac;
    now = 1000u * MS;
    return 0;
}

static void rounds(int n)
{
    while (n-- > 0) {
        wf_sctp_poll(&a->f.ep, 64);
        wf_sctp_poll(&b->f.ep, 64);
        wf_sctp_watch(a->f.peer, now);
        wf_sctp_watch(b->f.peer, now);
        wf_sctp_guests_watch(&a->f.ep, now);
        wf_sctp_guests_watch(&b->f.ep, now);
    }
}

static void say_hello(struct side *from)
{
    uint8_t h[24 + 5];

    fake_header(h, 5, 1);
    memcpy(h + 24, "hello", 5);
    assert_int_equal(wf_sctp_tx_short(from->f.peer, (weft_hdr *)h, "hello", 5),
                     WEFT_DONE);
}

static void two_meet(void **state)
{
    open_two(1, 1);
    rounds(10);
    assert_int_equal(a->ups, 1);
    assert_int_equal(b->ups, 1);
    assert_int_equal(b->f.ep.guests, 0);
    say_hello(a);
    say_hello(b);
    rounds(2);
    assert_int_equal(a->f.shown, 1);
    assert_int_equal(b->f.shown, 1);
}

/* The listener wants three, the dialler two. */
static void there_are_as_many_as_the_greedier_wants(void **state)
{
    open_two(2, 3);
    rounds(10);
    assert_int_equal(a->ups, 1);
    assert_int_equal(b->ups, 1);
    for (int i = 0; i < STRANDS; i++) {
        assert_true((a->f.peer->strand[i] != NULL) == (i < 3));
        assert_true((b->f.peer->strand[i] != NULL) == (i < 3));
    }
}

/* It sends what is no pass; it is gone, and the link waits on. */
static void a_stranger_is_dismissed(void **state)
{
    struct wf_sctp_kernel_setup s;
    struct wf_sctp_message m = {.kind = KIND_MEET, .n = 24};
    struct wf_ip_addr at = {.family = 4, .ip = {127, 0, 0, 1}};
    struct wf_sctp_sock *sock;
    uint8_t pass[24] = {'W', 'S', 'K', '1'}, buf[100];

    setenv("FAKE_SCTP_MUTE", "1", 1);
    open_two(1, 1);
    rounds(1);
    wf_sctp_strands_close(a->f.peer);
    unsetenv("FAKE_SCTP_MUTE");
    s = (struct wf_sctp_kernel_setup){.ip = &a->f.ep.ip};
    at.port = b->f.ep.kernel_port;
    memcpy(pass + 4, &b->f.peer->link, 4);
    memcpy(pass + 8, &a->f.peer->link, 4);
    sock = wf_sctp_sock_new(wf_sctp_kernel_connect(&s, &at, 1));
    assert_int_equal(wf_sctp_kernel_send(sock, &m, pass, false), WEFT_OK);
    wf_sctp_poll(&b->f.ep, 64);
    wf_sctp_poll(&b->f.ep, 64);
    assert_int_equal(b->f.ep.guests, 0);
    assert_true(b->f.ep.calls.strange > 0);
    assert_null(b->f.peer->strand[0]);
    while (wf_sctp_kernel_receive(sock, buf, sizeof buf, &m) != SCTP_DOWN)
        ;
    assert_int_equal(b->f.peer->party.state, PARTY_OPEN);
    close(sock->fd);
    wf_sctp_sock_free(sock);
}

static void who_says_nothing_is_dismissed(void **state)
{
    struct wf_sctp_kernel_setup s;
    struct wf_ip_addr at = {.family = 4, .ip = {127, 0, 0, 1}};
    int fd[GUESTS + 1];

    open_two(1, 1);
    wf_sctp_strands_close(a->f.peer);
    wf_sctp_poll(&b->f.ep, 64);
    s = (struct wf_sctp_kernel_setup){.ip = &a->f.ep.ip};
    at.port = b->f.ep.kernel_port;
    for (int i = 0; i <= GUESTS; i++)
        fd[i] = wf_sctp_kernel_connect(&s, &at, 1);
    for (int i = 0; i < 5; i++)
        wf_sctp_poll(&b->f.ep, 64);
    assert_int_equal(b->f.ep.guests, GUESTS);
    now += TIMEOUT_MS * (uint64_t)MS;
    wf_sctp_guests_watch(&b->f.ep, now);
    assert_int_equal(b->f.ep.guests, 0);
    wf_sctp_poll(&b->f.ep, 64); /* the one that waited */
    assert_int_equal(b->f.ep.guests, 1);
    for (int i = 0; i <= GUESTS; i++)
        close(fd[i]);
}

/* Another job's key: its WELCOME proves nothing. */
static void a_wrong_key_breaks_the_link(void **state)
{
    open_two(1, 1);
    b->key = 1;
    rounds(10);
    assert_int_equal(a->ups, 0);
    assert_int_equal(b->ups, 0);
    assert_true(b->f.ep.calls.strange > 0);
}

/* The listener lets go of who is slow; he comes again. */
static void who_is_dismissed_comes_again(void **state)
{
    open_two(2, 1);
    wf_sctp_poll(&b->f.ep, 64);
    assert_int_equal(b->f.ep.guests, 2);
    now += TIMEOUT_MS * (uint64_t)MS;
    wf_sctp_guests_watch(&b->f.ep, now);
    assert_int_equal(b->f.ep.guests, 0);
    rounds(3);
    assert_int_equal(a->f.peer->party.state, PARTY_OPEN);
    assert_int_equal(b->f.peer->party.state, PARTY_OPEN);
    now += 100u * MS;
    rounds(10);
    assert_int_equal(a->ups, 1);
    assert_int_equal(b->ups, 1);
    say_hello(a);
    rounds(2);
    assert_int_equal(b->f.shown, 1);
}

/* One of two associations is lost after it was welcome. */
static void welcome_is_not_yet_met(void **state)
{
    open_two(2, 1);
    wf_sctp_poll(&b->f.ep, 64); /* accepts */
    wf_sctp_poll(&a->f.ep, 64); /* MEET */
    wf_sctp_poll(&b->f.ep, 64); /* WELCOME */
    assert_non_null(b->f.peer->strand[0]);
    assert_non_null(b->f.peer->strand[1]);
    wf_sctp_meet_failed(a->f.peer, "a test");
    rounds(2);
    assert_null(b->f.peer->strand[0]);
    assert_int_equal(b->f.peer->party.state, PARTY_OPEN);
    now += 100u * MS;
    rounds(10);
    assert_int_equal(a->ups, 1);
    assert_int_equal(b->ups, 1);
}

/* A pause of ours is no silence of his. */
static void who_paused_does_not_give_up(void **state)
{
    setenv("FAKE_SCTP_MUTE", "1", 1);
    open_two(1, 1);
    now += 100 * TIMEOUT_MS * (uint64_t)MS;
    unsetenv("FAKE_SCTP_MUTE");
    wf_sctp_watch(a->f.peer, now);
    assert_int_equal(a->f.peer->party.state, PARTY_OPEN);
    rounds(10);
    assert_int_equal(a->ups, 1);
}

/* Nobody answers, and there is no other way. */
static void without_an_answer_the_link_breaks(void **state)
{
    setenv("FAKE_SCTP_MUTE", "1", 1);
    open_two(1, 1);
    rounds(3);
    assert_int_equal(a->f.peer->party.state, PARTY_OPEN);
    for (int i = 0; i < 10 * TIMEOUT_MS / 100; i++) {
        now += 100u * MS;
        rounds(1);
    }
    assert_int_equal(a->f.peer->party.state, PARTY_BROKEN);
    assert_int_equal(a->f.peer->why_status, WEFT_ELINK);
    assert_non_null(strstr(a->f.peer->why, "does not reach"));
}

/* ---- which stack --------------------------------------------------------- */

static void both_draw_the_same_conclusion(void **state)
{
    enum { PORT = 4711 };
    static const struct {
        uint32_t one, other;
        bool kernel, library;
    } cases[] = {{PORT, PORT, true, false},
                 {PORT | LIBRARY, PORT | LIBRARY, true, true},
                 {PORT | LIBRARY, LIBRARY, false, true},
                 {LIBRARY, LIBRARY, false, true},
                 {PORT, LIBRARY, false, false},
                 {PORT | LIBRARY, PORT, true, false}};

    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        uint32_t mine = i & 1 ? cases[i / 2].one : cases[i / 2].other;
        uint32_t his = i & 1 ? cases[i / 2].other : cases[i / 2].one;
        struct wf_ip_call c = {.offer = his};
        struct fake f;
        fake_open(&f);
        f.ep.calls.offer = mine;
        f.peer->packet = 1400;
        assert_int_equal(wf_sctp_agree(f.peer, &c) == WEFT_OK,
                         cases[i / 2].kernel || cases[i / 2].library);
        assert_int_equal(f.peer->kernel, cases[i / 2].kernel);
        assert_int_equal(f.peer->library, cases[i / 2].library);
        if (f.peer->party.state == PARTY_BROKEN)
            assert_non_null(strstr(f.peer->why, "no common SCTP"));
        fake_close(&f);
    }
}

int main(void)
{
#define PAIR(test) cmocka_unit_test_setup_teardown(test, open_pair, close_pair)
#define TWO(test)  cmocka_unit_test_teardown(test, close_two)
    const struct CMUnitTest tests[] = {
        PAIR(pieces_become_messages),
        PAIR(an_endless_message_is_the_end),
        PAIR(no_stream_of_ours_is_the_end),
        PAIR(news_become_events),
        PAIR(a_full_buffer_says_so_and_bulk_leaves_some),
        TWO(two_meet),
        TWO(there_are_as_many_as_the_greedier_wants),
        TWO(a_stranger_is_dismissed),
        TWO(who_says_nothing_is_dismissed),
        TWO(a_wrong_key_breaks_the_link),
        TWO(who_is_dismissed_comes_again),
        TWO(welcome_is_not_yet_met),
        TWO(who_paused_does_not_give_up),
        TWO(without_an_answer_the_link_breaks),
        cmocka_unit_test(both_draw_the_same_conclusion)};

    return cmocka_run_group_tests(tests, prepare, NULL);
}
