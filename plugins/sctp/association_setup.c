/* Sets up associations of the kernel: they find their link.
 *
 *   dialler                                 listener
 *   connects, all associations of the link  accepts: a caller
 *   all are connected: IDENTIFY   ------->  which link, which association?
 *   on each                       <-------  ACCEPT
 *   all are accepted: START on    ------->  up, by the first message
 *   each, and then its messages; up
 *
 * The handshake over UDP has told each side that the other wants this link and
 * has the job key. The tokens of IDENTIFY and ACCEPT prove that the association
 * comes from the same process: they contain a code made with the key from what
 * both sides said in the handshake. No other message is read before. The
 * dialler sends nothing before all its associations are accepted: until then it
 * may begin again, or go over to UDP (agree.c), and the listener drops the
 * associations that it had. The listener sends nothing before the first message
 * that follows its ACCEPT: else a message on another stream could overtake the
 * ACCEPT.
 *
 * CALLERS  A caller whose link is not known yet has one of CALLERS_MAX places,
 * for `handshake_timeout`, and only if it comes from an address of a peer that
 * is expected. While all places are taken, other callers wait in the kernel.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "sctp.h"

#define RETRY_NS       (50u * 1000000u)
#define SETUP_LIMIT_NS (2000u * 1000000u) /* where UDP is possible, too */
#define POLL_NS        (100u * 1000000u)
enum { EVENTS = 32, WINDOW_MIN = 128 << 10 };

/* The upper half of an event's data says what the event is about, and the lower
 * half which of them. AT_ASSOC + i is association i; the lower half is its
 * link. */
enum { AT_SOCKET, AT_LISTENER, AT_CALLER, AT_ASSOC };

/* ---- epoll --------------------------------------------------------------- */

static int watch_fd(weft_ep *ep, int how, int fd, uint32_t events,
                    uint32_t what, uint32_t which)
{
    struct epoll_event e = {.events = events,
                            .data.u64 = (uint64_t)what << 32 | which};

    return epoll_ctl(ep->ip.epfd, how, fd, &e);
}

static uint32_t wanted_events(const weft_peer *p, const struct wf_sctp_assoc *s)
{
    bool waits = p->up && s->sock->blocked && (p->ip.want_ready || p->outs > 0);

    return (wf_sctp_is_readable(p, s->number) ? EPOLLIN : 0) |
           (waits ? EPOLLOUT : 0);
}

void wf_sctp_update_epoll(weft_peer *p)
{
    for (int i = 0; i < ASSOCS_MAX && p->kernel; i++) {
        struct wf_sctp_assoc *s = p->assoc[i];
        uint32_t events = s && s->sock ? wanted_events(p, s) : 0;
        if (!s || !s->sock || s->sock->waits_for == events)
            continue;
        s->sock->waits_for = events;
        watch_fd(p->ep, EPOLL_CTL_MOD, s->sock->fd, events,
                 (uint32_t)(AT_ASSOC + i), p->link);
    }
}

/* ---- associations -------------------------------------------------------- */

static struct wf_sctp_assoc *add_kernel_assoc(weft_peer *p, int number, int how,
                                              int fd)
{
    struct wf_sctp_assoc *s = calloc(1, sizeof *s);

    if (!s || !(s->sock = wf_sctp_sock_new(fd)) ||
        watch_fd(p->ep, how, fd, EPOLLIN, (uint32_t)(AT_ASSOC + number),
                 p->link) < 0) {
        if (s)
            wf_sctp_sock_free(s->sock);
        free(s);
        return NULL;
    }
    s->sock->waits_for = EPOLLIN;
    s->peer = p;
    s->number = (uint8_t)number;
    p->assoc[number] = s;
    return s;
}

static struct wf_sctp_kernel_settings kernel_settings(weft_ep *ep,
                                                      uint32_t share)
{
    return (struct wf_sctp_kernel_settings){
        .ip = &ep->ip,
        .window = wf_sctp_share_of((uint32_t)ep->cfg.window, share, WINDOW_MIN),
        .room = wf_sctp_share_of(SCTP_SEND_ROOM, share, SCTP_SEND_MIN),
        .packet = (uint32_t)ep->cfg.packet,
        .heartbeat = ep->cfg.heartbeat};
}

int wf_sctp_kernel_open(weft_ep *ep)
{
    struct wf_sctp_kernel_settings s =
        kernel_settings(ep, (uint32_t)ep->cfg.associations);

    ep->listener = -1;
    if (!ep->kernel)
        return WEFT_OK;
    ep->kernel_port = ep->ip.port;
    ep->listener = wf_sctp_kernel_listen(&s, &ep->kernel_port);
    if (ep->listener >= 0 &&
        watch_fd(ep, EPOLL_CTL_ADD, ep->listener, EPOLLIN, AT_LISTENER, 0) == 0)
        return WEFT_OK;
    ep->kernel_port = 0;
    ep->ip.host->log(ep->ip.core, ep->joined ? 1 : 0,
                     "SCTP of the kernel cannot listen: %s%s",
                     wf_ip_error_text(errno),
                     ep->joined ? "; libusrsctp is used" : "");
    return ep->joined ? WEFT_OK : WEFT_ESYS;
}

void wf_sctp_kernel_close(weft_ep *ep)
{
    for (int i = 0; i < CALLERS_MAX; i++)
        if (ep->caller[i].until)
            wf_sctp_kernel_abort(ep->caller[i].sock->fd),
                wf_sctp_sock_free(ep->caller[i].sock);
    if (ep->listener >= 0)
        close(ep->listener);
}

/* ---- the dialler --------------------------------------------------------- */

static int list_addresses(const weft_peer *p,
                          struct wf_ip_addr to[IP_ADDRS_MAX])
{
    int n = 0;

    for (int i = 0; i < p->paths; i++)
        if (wf_ip_from_sockaddr((const struct sockaddr *)&p->path[i].to.to,
                                &to[n]) == WEFT_OK)
            to[n++].port = p->kernel_port;
    return n;
}

static bool connect_assocs(weft_peer *p)
{
    struct wf_sctp_kernel_settings s =
        kernel_settings(p->ep, (uint32_t)p->to_connect);
    struct wf_ip_addr to[IP_ADDRS_MAX];
    int n = list_addresses(p, to);

    for (int i = 0; i < p->to_connect; i++) {
        int fd = wf_sctp_kernel_connect(&s, to, n);
        if (fd < 0)
            return false;
        if (!add_kernel_assoc(p, i, EPOLL_CTL_ADD, fd)) {
            close(fd);
            return false;
        }
    }
    return true;
}

void wf_sctp_setup_fail(weft_peer *p, const char *why)
{
    uint64_t now = wf_sctp_now_ns(p->ep);
    uint64_t limit = p->library ? SETUP_LIMIT_NS : p->ep->cfg.connect_timeout;

    wf_sctp_assocs_close(p);
    p->connected = p->accepted = 0;
    p->retry_at = now + RETRY_NS;
    if (now - p->setup_since >= limit)
        wf_sctp_fall_back_to_udp(p, why);
}

int wf_sctp_setup_begin(weft_peer *p)
{
    p->assocs_needed = (int)p->ep->cfg.associations;
    p->spread = (struct wf_sctp_spread){.now = p->assocs_needed};
    p->assocs_up = p->connected = p->accepted = 0;
    p->unread = 0;
    p->setup_since = p->polled_at = wf_sctp_now_ns(p->ep);
    p->retry_at = 0;
    if (p->dialled && !connect_assocs(p))
        wf_sctp_setup_fail(p, wf_ip_error_text(errno));
    return p->ip.state == PEER_OPEN ? WEFT_OK : WEFT_ELINK;
}

void wf_sctp_setup_connected(struct wf_sctp_assoc *s)
{
    weft_peer *p = s->peer;

    if (!p->dialled || ++p->connected < p->to_connect)
        return;
    for (int i = 0; i < p->to_connect; i++) {
        wf_sctp_kernel_rank_streams(p->assoc[i]->sock);
        wf_sctp_send_token(p->assoc[i], KIND_IDENTIFY);
    }
}

bool wf_sctp_setup_is_pending(const weft_peer *p)
{
    return p->kernel && p->dialled && p->accepted < p->to_connect;
}

uint64_t wf_sctp_setup_watch(weft_peer *p, uint64_t now)
{
    uint64_t limit = p->library ? SETUP_LIMIT_NS : p->ep->cfg.connect_timeout;

    if (!wf_sctp_setup_is_pending(p))
        return 0;
    if (now - p->polled_at > 2 * POLL_NS) /* this process was idle meanwhile */
        p->setup_since += now - p->polled_at - POLL_NS;
    p->polled_at = now;
    if (now - p->setup_since >= limit) {
        wf_sctp_fall_back_to_udp(p, "no answer");
        return now + 1;
    }
    if (p->retry_at && now >= p->retry_at) {
        p->retry_at = 0;
        if (!connect_assocs(p))
            wf_sctp_setup_fail(p, wf_ip_error_text(errno));
    }
    return p->retry_at ? p->retry_at : now + POLL_NS;
}

/* ---- both ---------------------------------------------------------------- */

static void mark_set_up(struct wf_sctp_assoc *s)
{
    s->set_up = true;
    wf_sctp_assoc_mark_up(s);
}

/* Sends a token. START also marks the association as set up: its messages
 * follow it, and none leaves before. */
static void send_setup_token(struct wf_sctp_assoc *s, uint32_t kind)
{
    wf_sctp_send_token(s, kind);
    if (kind == KIND_START && !s->owed_token)
        mark_set_up(s);
}

static void start_assocs(weft_peer *p)
{
    for (int i = 0; i < p->to_connect; i++)
        send_setup_token(p->assoc[i], KIND_START);
}

bool wf_sctp_send_owed_tokens(weft_peer *p)
{
    bool owing = p->owes_tokens;

    p->owes_tokens = false;
    for (int i = 0; i < ASSOCS_MAX && owing; i++)
        if (p->assoc[i] && p->assoc[i]->owed_token)
            send_setup_token(p->assoc[i], p->assoc[i]->owed_token);
    return p->owes_tokens;
}

void wf_sctp_setup_drop(struct wf_sctp_assoc *s)
{
    weft_peer *p = s->peer;

    wf_sctp_kernel_abort(s->sock->fd);
    wf_sctp_sock_free(s->sock);
    p->assoc[s->number] = NULL;
    p->unread &= ~(1u << s->number);
    free(s);
}

bool wf_sctp_setup_receive(struct wf_sctp_assoc *s,
                           const struct wf_sctp_message *m, const uint8_t *data)
{
    weft_peer *p = s->peer;

    if (!p->dialled) {
        mark_set_up(s);
        return m->kind == KIND_START;
    }
    if (p->connected < p->to_connect || m->kind != KIND_ACCEPT ||
        !wf_sctp_token_is_valid(p, KIND_ACCEPT, s->number, data, m->n))
        wf_ip_break_link(&p->ip, WEFT_EPROTO,
                         "the association with process %u was accepted "
                         "by another process",
                         p->ip.id);
    else if (++p->accepted == p->to_connect)
        start_assocs(p);
    return true;
}

/* ---- the listener -------------------------------------------------------- */

static bool is_address_of(const weft_peer *p, const struct wf_ip_addr *from)
{
    struct wf_ip_addr to[IP_ADDRS_MAX];
    int n = list_addresses(p, to);

    for (int i = 0; i < n; i++)
        if (wf_ip_is_same(&to[i], from))
            return true;
    for (int i = 0; i < p->ip.book->n; i++)
        if (wf_ip_is_same(&p->ip.book->addr[i], from))
            return true;
    return false;
}

static bool is_expected(const weft_ep *ep, const struct wf_ip_addr *from)
{
    for (const weft_peer *p = ep->open; p; p = p->open_next)
        if (p->ip.state == PEER_OPEN && p->kernel && !p->dialled &&
            is_address_of(p, from))
            return true;
    return false;
}

static void dismiss_caller(weft_ep *ep, struct wf_sctp_caller *g, bool stays)
{
    if (!stays)
        wf_sctp_kernel_abort(g->sock->fd);
    wf_sctp_sock_free(g->sock);
    *g = (struct wf_sctp_caller){0};
    if (ep->callers-- == CALLERS_MAX)
        watch_fd(ep, EPOLL_CTL_MOD, ep->listener, EPOLLIN, AT_LISTENER, 0);
}

static bool admit_caller(weft_ep *ep, int fd, uint64_t now)
{
    uint32_t i = 0;

    while (ep->caller[i].until)
        i++;
    ep->caller[i].sock = wf_sctp_sock_new(fd);
    if (!ep->caller[i].sock)
        return false;
    if (watch_fd(ep, EPOLL_CTL_ADD, fd, EPOLLIN, AT_CALLER, i) < 0) {
        wf_sctp_sock_free(ep->caller[i].sock);
        return false;
    }
    ep->caller[i].until = now + ep->cfg.handshake_timeout;
    ep->callers++;
    return true;
}

/* Accepts associations that come from addresses of expected peers. */
static void on_listener(weft_ep *ep)
{
    uint64_t now = wf_sctp_now_ns(ep);

    while (ep->callers < CALLERS_MAX) {
        struct wf_ip_addr from;
        int fd = wf_sctp_kernel_accept(ep->listener, &from);
        if (fd < 0)
            return;
        if (is_expected(ep, &from) && admit_caller(ep, fd, now))
            continue;
        ep->calls.foreign_packets++;
        wf_sctp_kernel_abort(fd);
    }
    watch_fd(ep, EPOLL_CTL_MOD, ep->listener, 0, AT_LISTENER, 0);
}

/* Returns the peer whose link and association the token names, or NULL if the
 * token is not genuine. */
static weft_peer *find_claimed_link(weft_ep *ep, const uint8_t *data, size_t n)
{
    struct wf_ip_id *id =
        n == SCTP_TOKEN ? wf_ip_find_id(&ep->calls, wf_sctp_token_word(data, 1))
                        : NULL;
    weft_peer *p = id && id->party ? id->party->peer : NULL;
    uint32_t number =
        n == SCTP_TOKEN ? wf_sctp_token_word(data, 3) : ASSOCS_MAX;

    if (!p || p->ip.state != PEER_OPEN || !p->kernel || p->dialled ||
        number >= ASSOCS_MAX ||
        (p->assoc[number] && p->assoc[number]->set_up) ||
        !wf_sctp_token_is_valid(p, KIND_IDENTIFY, number, data, n))
        return NULL;
    return p;
}

/* Makes the caller an association of its link and accepts it. */
static bool attach_caller(weft_ep *ep, const struct wf_sctp_caller *g,
                          const uint8_t *data, size_t n)
{
    weft_peer *p = find_claimed_link(ep, data, n);
    int number = p ? (int)wf_sctp_token_word(data, 3) : 0;
    struct wf_sctp_assoc *s;

    if (p && p->assoc[number])
        wf_sctp_setup_drop(p->assoc[number]);
    s = p ? add_kernel_assoc(p, number, EPOLL_CTL_MOD, g->sock->fd) : NULL;
    if (!s)
        return false;
    wf_sctp_kernel_rank_streams(s->sock);
    wf_sctp_send_token(s, KIND_ACCEPT);
    return true;
}

static void on_caller(weft_ep *ep, uint32_t i)
{
    struct wf_sctp_caller *g = &ep->caller[i];
    struct wf_sctp_message m;
    enum wf_sctp_event event = SCTP_UP;

    while (g->until && (event == SCTP_UP || event == SCTP_PATH)) {
        event = wf_sctp_kernel_receive(g->sock, ep->message, SCTP_RBUF, &m);
        if (event == SCTP_NOTHING)
            return;
    }
    if (!g->until || (event == SCTP_MESSAGE && m.n == 0))
        return; /* not of interest; the next may be */
    if (event == SCTP_MESSAGE && m.kind == KIND_IDENTIFY &&
        attach_caller(ep, g, ep->message, m.n)) {
        dismiss_caller(ep, g, true);
        return;
    }
    ep->calls.foreign_packets++;
    dismiss_caller(ep, g, false);
}

uint64_t wf_sctp_callers_watch(weft_ep *ep, uint64_t now)
{
    uint64_t first = 0;

    for (int i = 0; i < CALLERS_MAX && ep->callers; i++) {
        if (ep->caller[i].until && now >= ep->caller[i].until) {
            ep->calls.foreign_packets++;
            dismiss_caller(ep, &ep->caller[i], false);
        }
        wf_ip_set_sooner(&first, ep->caller[i].until);
    }
    return first;
}

/* ---- events -------------------------------------------------------------- */

static void on_assoc(weft_ep *ep, int number, uint32_t link, uint32_t events)
{
    struct wf_ip_id *id = wf_ip_find_id(&ep->calls, link);
    weft_peer *p = id && id->party ? id->party->peer : NULL;

    if (!p || p->ip.state != PEER_OPEN || number >= ASSOCS_MAX ||
        !p->assoc[number] || !p->assoc[number]->sock)
        return;
    if (events & EPOLLOUT)
        p->assoc[number]->sock->blocked = false;
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
        p->unread |= 1u << number;
        wf_sctp_take_arrived(p);
    }
    wf_sctp_finish_sends(p);
    wf_sctp_update_epoll(p);
}

int wf_sctp_poll(weft_ep *ep, int budget)
{
    struct epoll_event e[EVENTS];
    int n = epoll_wait(ep->ip.epfd, e, budget < EVENTS ? budget : EVENTS, 0);

    for (int i = 0; i < n; i++) {
        uint32_t what = (uint32_t)(e[i].data.u64 >> 32);
        uint32_t which = (uint32_t)e[i].data.u64;
        if (what == AT_SOCKET)
            wf_sctp_read_socket(ep, (int)which, budget);
        else if (what == AT_LISTENER)
            on_listener(ep);
        else if (what == AT_CALLER)
            on_caller(ep, which);
        else
            on_assoc(ep, (int)what - AT_ASSOC, which, e[i].events);
    }
    return n > 0 ? n : 0;
}
