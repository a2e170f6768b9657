/* sctp: these tests set up associations of the kernel on a fake kernel
 * (tests/fake/fake_sctp.c): only a peer that proves its identity gets a link,
 * and both sides choose the same stack.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <arpa/inet.h>
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

static uint64_t compute_mac(weft_core *c, uint64_t nonce, const struct iovec *v,
                            int n)
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
    ep->ip.host = &host;
    ep->ip.core = (weft_core *)s;
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
    ep->ip.epfd = epoll_create1(0);
    ep->kernel = true;
    assert_int_equal(wf_sctp_kernel_open(ep), WEFT_OK);
    assert_true(ep->kernel_port > 0);
    wf_sctp_make_offer(ep);
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
    struct wf_ip_id *id = wf_ip_new_id(&ep->calls);

    id->party = &p->party;
    p->link = id->id;
    p->ip.book = calloc(1, sizeof *p->ip.book);
    p->up = false;
    p->paths = 1;
    p->path[0].to.to_len = wf_ip_to_sockaddr(&at, &p->path[0].to.to);
    p->packet = 1400;
    p->exit.fd = -1;
    ep->open = p;
    p->listed = true;
    assert_int_equal(wf_sctp_agree_on_stack(p, &c), WEFT_OK);
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
    assert_int_equal(wf_sctp_setup_begin(b->f.peer), WEFT_OK);
    assert_int_equal(wf_sctp_setup_begin(a->f.peer), WEFT_OK);
}

static void close_side(struct side *s)
{
    weft_ep *ep = &s->f.ep;

    wf_sctp_assocs_close(s->f.peer);
    wf_sctp_kernel_close(ep);
    close(ep->ip.epfd);
    free(ep->message);
    free(ep->scratch);
    free(s->f.peer->ip.book);
    wf_ip_calls_free(&ep->calls);
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

static int prepare_case(void **state)
{
    host = fake_host;
    host.now_ns = clock_of;
    host.peer_up = peer_up;
    host.mac64 = compute_mac;
    now = 1000u * MS;
    return 0;
}

static void run_rounds(int n)
{
    while (n-- > 0) {
        wf_sctp_poll(&a->f.ep, 64);
        wf_sctp_poll(&b->f.ep, 64);
        wf_sctp_watch_peer(a->f.peer, now);
        wf_sctp_watch_peer(b->f.peer, now);
        wf_sctp_callers_watch(&a->f.ep, now);
        wf_sctp_callers_watch(&b->f.ep, now);
    }
}

static void say_hello(struct side *from)
{
    uint8_t h[24 + 5];

    fake_header(h, 5, 1);
    memcpy(h + 24, "hello", 5);
    assert_int_equal(
        wf_sctp_tx_short(from->f.peer, (weft_hdr *)h, "hello", 5, 0),
        WEFT_DONE);
}

static void two_sides_connect(void **state)
{
    open_two(1, 1);
    run_rounds(10);
    assert_int_equal(a->ups, 1);
    assert_int_equal(b->ups, 1);
    assert_int_equal(b->f.ep.callers, 0);
    say_hello(a);
    say_hello(b);
    run_rounds(2);
    assert_int_equal(a->f.shown, 1);
    assert_int_equal(b->f.shown, 1);
}

/* The listener wants three, the dialler two. */
static void the_larger_number_of_associations_is_used(void **state)
{
    open_two(2, 3);
    run_rounds(10);
    assert_int_equal(a->ups, 1);
    assert_int_equal(b->ups, 1);
    for (int i = 0; i < ASSOCS_MAX; i++) {
        assert_true((a->f.peer->assoc[i] != NULL) == (i < 3));
        assert_true((b->f.peer->assoc[i] != NULL) == (i < 3));
    }
}

/* It sends what is no pass; it is gone, and the link waits on. */
static void an_unknown_caller_is_closed(void **state)
{
    struct wf_sctp_kernel_settings s;
    struct wf_sctp_message m = {.kind = KIND_IDENTIFY, .n = 24};
    struct wf_ip_addr at = {.family = 4, .ip = {127, 0, 0, 1}};
    struct wf_sctp_sock *sock;
    uint8_t pass[24] = {'W', 'S', 'K', '1'}, buf[100];

    setenv("FAKE_SCTP_MUTE", "1", 1);
    open_two(1, 1);
    run_rounds(1);
    wf_sctp_assocs_close(a->f.peer);
    unsetenv("FAKE_SCTP_MUTE");
    s = (struct wf_sctp_kernel_settings){.ip = &a->f.ep.ip};
    at.port = b->f.ep.kernel_port;
    memcpy(pass + 4, &b->f.peer->link, 4);
    memcpy(pass + 8, &a->f.peer->link, 4);
    sock = wf_sctp_sock_new(wf_sctp_kernel_connect(&s, &at, 1));
    assert_int_equal(wf_sctp_kernel_send(sock, &m, pass, false), WEFT_OK);
    wf_sctp_poll(&b->f.ep, 64);
    wf_sctp_poll(&b->f.ep, 64);
    assert_int_equal(b->f.ep.callers, 0);
    assert_true(b->f.ep.calls.foreign_packets > 0);
    assert_null(b->f.peer->assoc[0]);
    while (wf_sctp_kernel_receive(sock, buf, sizeof buf, &m) != SCTP_DOWN)
        ;
    assert_int_equal(b->f.peer->ip.state, PEER_OPEN);
    close(sock->fd);
    wf_sctp_sock_free(sock);
}

static void a_silent_caller_is_closed(void **state)
{
    struct wf_sctp_kernel_settings s;
    struct wf_ip_addr at = {.family = 4, .ip = {127, 0, 0, 1}};
    int fd[CALLERS_MAX + 1];

    open_two(1, 1);
    wf_sctp_assocs_close(a->f.peer);
    wf_sctp_poll(&b->f.ep, 64);
    s = (struct wf_sctp_kernel_settings){.ip = &a->f.ep.ip};
    at.port = b->f.ep.kernel_port;
    for (int i = 0; i <= CALLERS_MAX; i++)
        fd[i] = wf_sctp_kernel_connect(&s, &at, 1);
    for (int i = 0; i < 5; i++)
        wf_sctp_poll(&b->f.ep, 64);
    assert_int_equal(b->f.ep.callers, CALLERS_MAX);
    now += TIMEOUT_MS * (uint64_t)MS;
    wf_sctp_callers_watch(&b->f.ep, now);
    assert_int_equal(b->f.ep.callers, 0);
    wf_sctp_poll(&b->f.ep, 64); /* the one that waited */
    assert_int_equal(b->f.ep.callers, 1);
    for (int i = 0; i <= CALLERS_MAX; i++)
        close(fd[i]);
}

/* Another job's key: its WELCOME proves nothing. */
static void a_wrong_key_breaks_the_link(void **state)
{
    open_two(1, 1);
    b->key = 1;
    run_rounds(10);
    assert_int_equal(a->ups, 0);
    assert_int_equal(b->ups, 0);
    assert_true(b->f.ep.calls.foreign_packets > 0);
}

/* The listener drops a peer that is slow, and the peer calls again. */
static void a_closed_caller_calls_again(void **state)
{
    open_two(2, 1);
    wf_sctp_poll(&b->f.ep, 64);
    assert_int_equal(b->f.ep.callers, 2);
    now += TIMEOUT_MS * (uint64_t)MS;
    wf_sctp_callers_watch(&b->f.ep, now);
    assert_int_equal(b->f.ep.callers, 0);
    run_rounds(3);
    assert_int_equal(a->f.peer->ip.state, PEER_OPEN);
    assert_int_equal(b->f.peer->ip.state, PEER_OPEN);
    now += 100u * MS;
    run_rounds(10);
    assert_int_equal(a->ups, 1);
    assert_int_equal(b->ups, 1);
    say_hello(a);
    run_rounds(2);
    assert_int_equal(b->f.shown, 1);
}

/* One of two associations is lost after it was welcome. */
static void an_accepted_association_is_not_yet_connected(void **state)
{
    open_two(2, 1);
    wf_sctp_poll(&b->f.ep, 64); /* accepts */
    wf_sctp_poll(&a->f.ep, 64); /* MEET */
    wf_sctp_poll(&b->f.ep, 64); /* WELCOME */
    assert_non_null(b->f.peer->assoc[0]);
    assert_non_null(b->f.peer->assoc[1]);
    wf_sctp_setup_fail(a->f.peer, "a test");
    run_rounds(2);
    assert_null(b->f.peer->assoc[0]);
    assert_int_equal(b->f.peer->ip.state, PEER_OPEN);
    now += 100u * MS;
    run_rounds(10);
    assert_int_equal(a->ups, 1);
    assert_int_equal(b->ups, 1);
}

/* MEET, WELCOME, GO: each is refused once, and nobody else would miss it. Until
 * it has gone nobody is told that the link is up. */
static void a_token_that_lacks_memory_is_sent_again(void **state)
{
    for (int step = 0; step < 3; step++) {
        if (step > 0)
            close_two(state);
        open_two(1, 1);
        wf_sctp_poll(&b->f.ep, 64); /* accepts */
        for (int i = 0; i < step; i++)
            wf_sctp_poll(&(i % 2 ? b : a)->f.ep, 64);
        fake_next.send_error = ENOBUFS;
        wf_sctp_poll(&(step % 2 ? b : a)->f.ep, 64);
        assert_int_equal(fake_next.send_error, 0);
        assert_int_equal(a->ups, 0); /* nothing may pass GO */
        run_rounds(10);
        assert_int_equal(a->ups, 1);
        assert_int_equal(b->ups, 1); /* though nobody has said anything else */
    }
}

/* A pause of this process does not count as silence of the peer. */
static void a_process_that_paused_does_not_give_up(void **state)
{
    setenv("FAKE_SCTP_MUTE", "1", 1);
    open_two(1, 1);
    now += 100 * TIMEOUT_MS * (uint64_t)MS;
    unsetenv("FAKE_SCTP_MUTE");
    wf_sctp_watch_peer(a->f.peer, now);
    assert_int_equal(a->f.peer->ip.state, PEER_OPEN);
    run_rounds(10);
    assert_int_equal(a->ups, 1);
}

/* A peer whose kernel has not been seen yet is asked whether it is there. */
static void the_path_is_probed_until_they_connect(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    socklen_t n = sizeof at;
    uint8_t bytes[100];
    int probes = 0;

    setenv("FAKE_SCTP_MUTE", "1", 1);
    open_two(1, 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, n), 0);
    getsockname(fd, (struct sockaddr *)&at, &n);
    a->f.ep.fd[0] = fd;
    memcpy(&a->f.peer->path[0].to.to, &at, n);
    for (int i = 0; i < 100; i++, now += 100u * MS) {
        wf_sctp_watch_peer(a->f.peer, now);
        probes +=
            recv(fd, bytes, sizeof bytes, 0) > 0 && bytes[0] == TYPE_PROBE;
    }
    assert_in_range(probes, 4, 5); /* each two seconds */
    close(fd);
}

/* Nobody answers, and there is no other way. */
static void without_an_answer_the_link_breaks(void **state)
{
    setenv("FAKE_SCTP_MUTE", "1", 1);
    open_two(1, 1);
    run_rounds(3);
    assert_int_equal(a->f.peer->ip.state, PEER_OPEN);
    for (int i = 0; i < 10 * TIMEOUT_MS / 100; i++) {
        now += 100u * MS;
        run_rounds(1);
    }
    assert_int_equal(a->f.peer->ip.state, PEER_BROKEN);
    assert_int_equal(a->f.peer->ip.why_status, WEFT_ELINK);
    assert_non_null(strstr(a->f.peer->ip.why, "does not reach"));
}

/* ---- which stack --------------------------------------------------------- */

static void both_sides_choose_the_same_stack(void **state)
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
        assert_int_equal(wf_sctp_agree_on_stack(f.peer, &c) == WEFT_OK,
                         cases[i / 2].kernel || cases[i / 2].library);
        assert_int_equal(f.peer->kernel, cases[i / 2].kernel);
        assert_int_equal(f.peer->library, cases[i / 2].library);
        if (f.peer->ip.state == PEER_BROKEN)
            assert_non_null(strstr(f.peer->ip.why, "no common SCTP"));
        fake_close(&f);
    }
}

int main(void)
{
#define TWO(test) cmocka_unit_test_teardown(test, close_two)
    const struct CMUnitTest tests[] = {
        TWO(two_sides_connect),
        TWO(the_larger_number_of_associations_is_used),
        TWO(an_unknown_caller_is_closed),
        TWO(a_silent_caller_is_closed),
        TWO(a_wrong_key_breaks_the_link),
        TWO(a_closed_caller_calls_again),
        TWO(an_accepted_association_is_not_yet_connected),
        TWO(a_token_that_lacks_memory_is_sent_again),
        TWO(a_process_that_paused_does_not_give_up),
        TWO(the_path_is_probed_until_they_connect),
        TWO(without_an_answer_the_link_breaks),
        cmocka_unit_test(both_sides_choose_the_same_stack)};

    return cmocka_run_group_tests(tests, prepare_case, NULL);
}
