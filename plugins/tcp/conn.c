/* Connections, from the first byte until they carry containers.
 *
 *   dialler    CONNECTING ---> ANSWER ---> VERDICT ----------------> UP
 *                   hello sent    proof sent     ACCEPT received
 *   listener   HELLO ---> PROOF ---> authenticated ---ACCEPT sent--> UP
 *                 answer sent            |                           ^
 *                                        +--> PARKED: ours goes first
 *   any failure, and an unknown caller that is too slow: DEAD
 *
 *   CONNECTING -> ANSWER   [handle_connected]
 *   ANSWER     -> VERDICT  [step_handshake]
 *   HELLO      -> PROOF    [step_handshake]
 *   PROOF      -> PARKED   [step_handshake]
 *   PARKED     -> UP       [wf_tcp_link_up]
 *   VERDICT    -> UP       [handle_verdict]
 *   any        -> DEAD     [wf_tcp_conn_close]
 *
 *   CONNECTING, ANSWER, VERDICT  belong to a candidate of peer->dial.
 *   HELLO, PROOF   count in ep->pending; 64 bytes each way; peer is NULL.
 *   PARKED         authenticated; peer->parked; silent until my attempt is
 *                  decided.
 *   UP             peer->conn; not in ep->conns.
 *   DEAD           socket closed; freed when progress ends.
 *
 * INVARIANT  Until UP nothing is read beyond the message that is expected.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tcp.h"

static bool is_unknown_caller(const struct wf_tcp_conn *c)
{
    return c->state == TCP_HELLO || c->state == TCP_PROOF;
}

struct wf_tcp_conn *wf_tcp_conn_new(weft_ep *ep, int fd,
                                    enum wf_tcp_state state,
                                    const struct wf_ip_addr *remote)
{
    struct wf_tcp_conn *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    WEFT_ASSERT(fd >= 0 && state != TCP_DEAD && state != TCP_UP);
    c->kind = TCP_IS_CONN;
    c->fd = fd;
    c->state = state;
    c->remote = *remote;
    c->ep = ep;
    c->since = wf_tcp_now(ep);
    c->link = &ep->conns;
    c->next = ep->conns;
    if (c->next)
        c->next->link = &c->next;
    ep->conns = c;
    ep->calling += !is_unknown_caller(c);
    return c;
}

static void unlink_conn(struct wf_tcp_conn *c)
{
    if (!c->link)
        return;
    c->ep->calling -= !is_unknown_caller(c);
    WEFT_ASSERT(*c->link == c);
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
    c->link = NULL;
    c->next = NULL;
}

/* Takes a caller out of the pool of unknown callers, which makes room for
 * another. */
static void leave_pool(struct wf_tcp_conn *c)
{
    if (!is_unknown_caller(c))
        return;
    WEFT_ASSERT(c->ep->pending > 0);
    c->ep->pending--;
    wf_tcp_listen_pause(c->ep, false);
}

void wf_tcp_conn_close(struct wf_tcp_conn *c)
{
    weft_ep *ep = c->ep;
    if (c->state == TCP_DEAD)
        return;
    if (c->auth)
        ep->ip.host->auth_step(ep->ip.core, &c->auth, NULL, 0, NULL, NULL,
                               NULL);
    leave_pool(c);
    unlink_conn(c);
    ep->count.retransmissions += wf_tcp_retransmissions(c);
    close(c->fd); /* leaves epoll by itself: there is no copy */
    c->fd = -1;
    c->state = TCP_DEAD;
    if (c->peer && c->peer->parked == c)
        c->peer->parked = NULL;
    if (c->cand && c->cand->conn == c)
        c->cand->conn = NULL;
    c->next = ep->dead;
    ep->dead = c;
}

/* Frees the closed connections. That is not done at once, because events of the
 * same epoll call may still point at them. */
void wf_tcp_conn_free_dead(weft_ep *ep)
{
    while (ep->dead) {
        struct wf_tcp_conn *c = ep->dead;
        ep->dead = c->next;
        free(c);
    }
}

/* Gives a connection to its peer when the handshake is over. */
void wf_tcp_conn_settle(struct wf_tcp_conn *c, weft_peer *p)
{
    WEFT_ASSERT(c->state != TCP_DEAD && c->state != TCP_UP && c->fd >= 0);
    unlink_conn(c);
    c->state = TCP_UP;
    c->peer = p;
    if (c->cand)
        c->cand->conn = NULL;
    c->cand = NULL;
}

void wf_tcp_conn_set_interest(struct wf_tcp_conn *c, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = c};
    int op = c->events ? events ? EPOLL_CTL_MOD : EPOLL_CTL_DEL : EPOLL_CTL_ADD;
    if (events == c->events)
        return;
    c->events = events;
    epoll_ctl(is_unknown_caller(c) ? c->ep->lobby : c->ep->ip.epfd, op, c->fd,
              &e);
}

/* Chooses the congestion control. BBR paces, which halves the bandwidth between
 * close neighbours. Reno does the least work per segment, which shows in the
 * latency of a single byte. */
static void choose_congestion(struct wf_tcp_conn *c)
{
    const struct wf_tcp_cfg *cfg = &c->ep->cfg;
    static const char *const better[] = {"reno", "cubic"};
    char now[16] = "";
    socklen_t n = sizeof now;
    bool near = wf_ip_is_loopback(&c->remote);

    if (strcmp(cfg->congestion, "auto") != 0) {
        setsockopt(c->fd, IPPROTO_TCP, TCP_CONGESTION, cfg->congestion,
                   (socklen_t)strlen(cfg->congestion));
        return;
    }
    for (int i = 0; i < c->ep->ip.n; i++)
        near = near || wf_ip_is_same_subnet(&c->ep->ip.use[i].addr, &c->remote);
    if (!near || getsockopt(c->fd, IPPROTO_TCP, TCP_CONGESTION, now, &n) < 0 ||
        strncmp(now, "bbr", 3) != 0)
        return;
    for (int i = 0; i < 2; i++)
        if (setsockopt(c->fd, IPPROTO_TCP, TCP_CONGESTION, better[i],
                       (socklen_t)strlen(better[i])) == 0)
            return;
}

static void set_keepalive(const struct wf_tcp_conn *c)
{
    int on = 1, s = (int)(c->ep->cfg.detect / 1000000000u);
    int idle = s / 2 > 0 ? s / 2 : 1, every = s / 6 > 0 ? s / 6 : 1;
    int tries = (s - idle) / every > 1 ? (s - idle) / every : 2;
    if (s == 0)
        return;
    setsockopt(c->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(c->fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(c->fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
    setsockopt(c->fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof tries);
    /* alive.c watches unacknowledged data */
}

void wf_tcp_conn_tune(struct wf_tcp_conn *c)
{
    int on = 1;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    choose_congestion(c);
    set_keepalive(c);
}

/* ---- the handshake --------------------------------------------------- */

static void fail_conn(struct wf_tcp_conn *c, int status, int error,
                      const char *what)
{
    if (c->dialled)
        wf_tcp_dial_failed(c, status, error, what);
    else
        wf_tcp_conn_close(c);
}

/* Handles a connection that the other side has closed during the handshake. A
 * dialler tries again, because a busy listener makes room by refusing slow
 * callers. */
static void handle_hang_up(struct wf_tcp_conn *c, const char *what)
{
    if (c->dialled && c->in_n == TCP_FRAME && c->in[0] == TCP_SHORTAGE)
        wf_tcp_dial_shortage(c, c->in[1]);
    else if (c->dialled)
        wf_tcp_dial_retry(c, what);
    else
        wf_tcp_conn_close(c);
}

/* Writes the rest of c->out. Returns false if the connection is gone. */
static bool write_out(struct wf_tcp_conn *c)
{
    WEFT_ASSERT(c->out_n <= sizeof c->out && c->out_off <= c->out_n);
    while (c->out_off < c->out_n) {
        ssize_t n = send(c->fd, c->out + c->out_off, c->out_n - c->out_off,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (n < 0) {
            handle_hang_up(c, "closed during the handshake");
            return false;
        }
        c->out_off += (uint32_t)n;
    }
    wf_tcp_conn_set_interest(c, c->out_off < c->out_n ? EPOLLIN | EPOLLOUT
                                                      : EPOLLIN);
    return true;
}

/* Says whether the caller has ended the call, because the one from here was
 * taken: then it does not matter that it comes from a job which was left
 * meanwhile. */
static bool has_hung_up(const struct wf_tcp_conn *c)
{
    char byte;

    return !c->dialled && recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void refuse_conn(struct wf_tcp_conn *c, int rc)
{
    weft_ep *ep = c->ep;
    char who[64];
    const char *what = wf_ip_refusal_text(rc);
    bool warns = rc == WEFT_EAUTH && !ep->auth_warned && !has_hung_up(c);

    /* best effort: tell the other side why */
    if (c->out_n)
        (void)!send(c->fd, c->out, c->out_n, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (rc == WEFT_ENOMEM && !c->dialled)
        wf_tcp_send_shortage(c->fd, TCP_NO_MEMORY);
    ep->count.refused++;
    wf_ip_print_address(&c->remote, who, sizeof who);
    ep->ip.host->log(ep->ip.core, warns ? 1 : 3, "%s %s: %s",
                     c->dialled ? "connection to" : "refused a call from", who,
                     what);
    if (warns)
        ep->auth_warned = true;
    fail_conn(c, rc, rc == WEFT_ENOMEM ? ENOMEM : 0, what);
}

/* Takes one step of the key handshake, with the message in c->in. */
static void step_handshake(struct wf_tcp_conn *c, const void *in, uint32_t whom)
{
    weft_ep *ep = c->ep;
    size_t n = 0;
    int rc = ep->ip.host->auth_step(ep->ip.core, &c->auth, in, in ? c->in_n : 0,
                                    c->out, &n, &whom);
    c->in_n = 0;
    c->out_off = 0;
    c->out_n = (uint32_t)n;
    if (rc != WEFT_OK && rc != WEFT_EAGAIN) {
        refuse_conn(c, rc);
        return;
    }
    if (rc == WEFT_OK && !c->dialled) {
        leave_pool(c);
        wf_tcp_conn_set_interest(c, 0); /* in the lobby */
        c->state = TCP_PARKED;
        ep->calling++;
        wf_tcp_conn_set_interest(c, EPOLLIN);
        wf_tcp_take_caller(c, whom);
        return;
    }
    if (rc == WEFT_OK) {
        c->state = TCP_VERDICT;
        wf_tcp_dial_end(c->peer, c); /* this candidate it is */
    } else {
        c->state = c->dialled ? TCP_ANSWER : TCP_PROOF;
    }
    write_out(c);
}

static void handle_connected(struct wf_tcp_conn *c)
{
    int error = 0;
    socklen_t n = sizeof error;
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &n) < 0)
        error = errno;
    if (error) {
        wf_tcp_dial_failed(c, WEFT_ELINK, error, NULL);
        return;
    }
    c->since = wf_tcp_now(c->ep);
    step_handshake(c, NULL, c->peer->ip.id);
}

static void handle_verdict(struct wf_tcp_conn *c)
{
    uint8_t type = c->in[0];
    weft_peer *p = c->peer;
    if (type == TCP_SHORTAGE) {
        wf_tcp_dial_shortage(c, c->in[1]);
        return;
    }
    if (type != TCP_ACCEPT) {
        fail_conn(c, WEFT_EPROTO, 0, "not a Weft process");
        return;
    }
    c->in_n = 0;
    wf_tcp_dial_end(p, c);
    wf_tcp_link_up(p, c);
}

/* Reads until c->in has one complete message. Returns whether it has. */
static bool read_in(struct wf_tcp_conn *c, uint32_t want)
{
    WEFT_ASSERT(want <= sizeof c->in);
    while (c->in_n < want) {
        ssize_t n = recv(c->fd, c->in + c->in_n, want - c->in_n, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return false;
        if (n <= 0) {
            handle_hang_up(c, "closed during the handshake");
            return false;
        }
        c->in_n += (uint32_t)n;
    }
    return true;
}

void wf_tcp_conn_event(struct wf_tcp_conn *c, uint32_t events)
{
    if (c->state == TCP_CONNECTING) {
        if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
            handle_connected(c);
        return;
    }
    if (events & EPOLLOUT && !write_out(c))
        return;
    if (!(events & (EPOLLIN | EPOLLERR | EPOLLHUP)))
        return;
    if (c->state == TCP_PARKED) {
        wf_tcp_conn_close(c); /* it may neither send nor close */
        return;
    }
    if (!read_in(c, c->state == TCP_VERDICT ? TCP_FRAME : WEFT_AUTH_MSG))
        return;
    if (c->state == TCP_VERDICT)
        handle_verdict(c);
    else
        step_handshake(c, c->in, 0);
}

/* ---- time ------------------------------------------------------------- */

/* The time at which this connection expires; 0: never. */
static uint64_t deadline_of(const struct wf_tcp_conn *c)
{
    const struct wf_tcp_cfg *cfg = &c->ep->cfg;
    switch (c->state) {
    case TCP_CONNECTING:
        return c->since + cfg->connect_timeout;
    case TCP_HELLO:
    case TCP_PROOF:
        return c->since + cfg->handshake_timeout;
    case TCP_ANSWER:
    case TCP_VERDICT:
        return c->warned ? 0 : c->since + cfg->connect_timeout;
    default:
        return 0;
    }
}

static void expire_conn(struct wf_tcp_conn *c)
{
    char who[64];
    if (c->state == TCP_CONNECTING) {
        wf_tcp_dial_failed(c, WEFT_ELINK, ETIMEDOUT, NULL);
    } else if (c->dialled) {
        /* A process that computes answers late, which is no failure. */
        c->warned = true;
        wf_ip_print_address(&c->remote, who, sizeof who);
        c->ep->ip.host->log(c->ep->ip.core, 2,
                            "process %u at %s has taken the call but does not "
                            "answer yet: it is busy, or another program "
                            "listens there",
                            c->peer->ip.id, who);
    } else {
        wf_tcp_conn_close(c);
    }
}

void wf_tcp_conn_timers(weft_ep *ep, uint64_t now)
{
    struct wf_tcp_conn *c = ep->conns;
    while (c) {
        struct wf_tcp_conn *next = c->next;
        uint64_t at = deadline_of(c);
        if (at && at <= now) {
            expire_conn(c);
            next = ep->conns; /* closing one may close others */
        }
        c = next;
    }
}

uint64_t wf_tcp_conn_deadline(const weft_ep *ep)
{
    uint64_t first = wf_tcp_lobby_deadline(ep);
    for (const struct wf_tcp_conn *c = ep->conns; c; c = c->next) {
        uint64_t at = deadline_of(c);
        if (at && (!first || at < first))
            first = at;
    }
    return first;
}
