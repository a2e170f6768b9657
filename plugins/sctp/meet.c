/* Associations of the kernel find their link.
 *
 *   dialler                                 listener
 *   connects, all associations of the link  accepts: a guest
 *   all are up: MEET on each      ------->  which link, which association?
 *                                 <-------  WELCOME
 *   all are welcome: GO on each,  ------->  up, with the first message
 *   and whatever it has; up
 *
 * The handshake over UDP has said who wants whom, and that he has the job key.
 * MEET and WELCOME prove that it was he who came: a code made with the key out
 * of what both said there. Nothing of anybody is read before, and the dialler
 * sends nothing before all his associations are welcome: up to then he may begin
 * again, or go over to UDP (agree.c), and the listener drops what he had. The
 * listener sends nothing before the first message that follows his WELCOME: else
 * that could be overtaken by another stream.
 *
 * GUESTS  A caller who is not known yet has one of GUESTS places, for
 * `handshake_timeout`, and only if it comes from an address of a peer that we
 * wait for. While all are taken the others wait in the kernel.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "sctp.h"

#define RETRY_NS    (50u * 1000000u)
#define PATIENCE_NS (2000u * 1000000u) /* where there is another way */
#define LOOK_NS     (100u * 1000000u)
enum { EVENTS = 32, WINDOW_MIN = 128 << 10 };

/* What an event of epoll is about: in the upper half, and in the lower which. */
enum { AT_SOCKET, AT_LISTENER, AT_GUEST, AT_STRAND };

/* ---- epoll --------------------------------------------------------------- */

static int watch_fd(weft_ep *ep, int how, int fd, uint32_t events,
                    uint32_t what, uint32_t which)
{
    struct epoll_event e = {.events = events,
                            .data.u64 = (uint64_t)what << 32 | which};

    return epoll_ctl(ep->epfd, how, fd, &e);
}

static uint32_t wanted(const weft_peer *p, const struct wf_sctp_strand *s)
{
    bool waits = p->up && s->sock->blocked && (p->want_ready || p->outs > 0);

    return (wf_sctp_readable(p, s->number) ? EPOLLIN : 0) |
           (waits ? EPOLLOUT : 0);
}

void wf_sctp_wait_for(weft_peer *p)
{
    for (int i = 0; i < STRANDS && p->kernel; i++) {
        struct wf_sctp_strand *s = p->strand[i];
        uint32_t events = s && s->sock ? wanted(p, s) : 0;
        if (!s || !s->sock || s->sock->waits_for == events)
            continue;
        s->sock->waits_for = events;
        watch_fd(p->ep, EPOLL_CTL_MOD, s->sock->fd, events,
                 (uint32_t)(AT_STRAND + i), p->link);
    }
}

/* ---- strands ------------------------------------------------------------- */

static struct wf_sctp_strand *add(weft_peer *p, int number, int how, int fd)
{
    struct wf_sctp_strand *s = calloc(1, sizeof *s);

    if (!s || !(s->sock = wf_sctp_sock_new(fd)) ||
        watch_fd(p->ep, how, fd, EPOLLIN, (uint32_t)(AT_STRAND + number),
                 p->link) < 0) {
        if (s)
            wf_sctp_sock_free(s->sock);
        free(s);
        return NULL;
    }
    s->sock->waits_for = EPOLLIN;
    s->peer = p;
    s->number = (uint8_t)number;
    p->strand[number] = s;
    return s;
}

static struct wf_sctp_kernel_setup setup(weft_ep *ep, uint32_t share)
{
    return (struct wf_sctp_kernel_setup){
        .ip = &ep->ip,
        .window = wf_sctp_share((uint32_t)ep->cfg.window, share, WINDOW_MIN),
        .room = wf_sctp_share(SCTP_SEND_ROOM, share, SCTP_SEND_MIN),
        .packet = (uint32_t)ep->cfg.packet,
        .heartbeat = ep->cfg.heartbeat};
}

int wf_sctp_kernel_open(weft_ep *ep)
{
    struct wf_sctp_kernel_setup s = setup(ep, (uint32_t)ep->cfg.associations);

    ep->listener = -1;
    if (!ep->kernel)
        return WEFT_OK;
    ep->kernel_port = ep->port;
    ep->listener = wf_sctp_kernel_listen(&s, &ep->kernel_port);
    if (ep->listener >= 0 &&
        watch_fd(ep, EPOLL_CTL_ADD, ep->listener, EPOLLIN, AT_LISTENER, 0) == 0)
        return WEFT_OK;
    ep->kernel_port = 0;
    ep->host->log(ep->core, ep->joined ? 1 : 0,
                  "SCTP of the kernel cannot listen: %s%s", wf_ip_error(errno),
                  ep->joined ? "; libusrsctp is used" : "");
    return ep->joined ? WEFT_OK : WEFT_ESYS;
}

void wf_sctp_kernel_close(weft_ep *ep)
{
    for (int i = 0; i < GUESTS; i++)
        if (ep->guest[i].until)
            wf_sctp_kernel_abort(ep->guest[i].sock->fd),
                wf_sctp_sock_free(ep->guest[i].sock);
    if (ep->listener >= 0)
        close(ep->listener);
}

/* ---- the dialler --------------------------------------------------------- */

static int addresses(const weft_peer *p, struct wf_ip_addr to[IP_ADDRS_MAX])
{
    int n = 0;

    for (int i = 0; i < p->paths; i++)
        if (wf_ip_from_sockaddr((const struct sockaddr *)&p->path[i].to.to,
                                &to[n]) == WEFT_OK)
            to[n++].port = p->kernel_port;
    return n;
}

static bool call(weft_peer *p)
{
    struct wf_sctp_kernel_setup s = setup(p->ep, (uint32_t)p->calls);
    struct wf_ip_addr to[IP_ADDRS_MAX];
    int n = addresses(p, to);

    for (int i = 0; i < p->calls; i++) {
        int fd = wf_sctp_kernel_connect(&s, to, n);
        if (fd < 0)
            return false;
        if (!add(p, i, EPOLL_CTL_ADD, fd)) {
            close(fd);
            return false;
        }
    }
    return true;
}

/* Not now; soon again, or another way. */
void wf_sctp_meet_failed(weft_peer *p, const char *why)
{
    uint64_t now = wf_sctp_now(p->ep);
    uint64_t patience = p->library ? PATIENCE_NS : p->ep->cfg.connect_timeout;

    wf_sctp_strands_close(p);
    p->made = p->welcome = 0;
    p->retry_at = now + RETRY_NS;
    if (now - p->meet_since >= patience)
        wf_sctp_fall_back(p, why);
}

int wf_sctp_meet(weft_peer *p)
{
    p->strands = (int)p->ep->cfg.associations;
    p->spread = (struct wf_sctp_spread){.now = p->strands};
    p->strands_up = p->made = p->welcome = 0;
    p->unread = 0;
    p->meet_since = p->looked_at = wf_sctp_now(p->ep);
    p->retry_at = 0;
    if (p->dialled && !call(p))
        wf_sctp_meet_failed(p, wf_ip_error(errno));
    return p->party.state == PARTY_OPEN ? WEFT_OK : WEFT_ELINK;
}

/* One is up; MEET when all are. */
void wf_sctp_made(struct wf_sctp_strand *s)
{
    weft_peer *p = s->peer;

    if (!p->dialled || ++p->made < p->calls)
        return;
    for (int i = 0; i < p->calls; i++) {
        wf_sctp_kernel_rank(p->strand[i]->sock);
        wf_sctp_show(p->strand[i], KIND_MEET);
    }
}

/* Has the dialler still nothing but an attempt? */
bool wf_sctp_trying(const weft_peer *p)
{
    return p->kernel && p->dialled && p->welcome < p->calls;
}

/* When it is due again. */
uint64_t wf_sctp_meet_watch(weft_peer *p, uint64_t now)
{
    uint64_t patience = p->library ? PATIENCE_NS : p->ep->cfg.connect_timeout;

    if (!wf_sctp_trying(p))
        return 0;
    if (now - p->looked_at > 2 * LOOK_NS) /* it was we who did nothing */
        p->meet_since += now - p->looked_at - LOOK_NS;
    p->looked_at = now;
    if (now - p->meet_since >= patience) {
        wf_sctp_fall_back(p, "no answer");
        return now + 1;
    }
    if (p->retry_at && now >= p->retry_at) {
        p->retry_at = 0;
        if (!call(p))
            wf_sctp_meet_failed(p, wf_ip_error(errno));
    }
    return p->retry_at ? p->retry_at : now + LOOK_NS;
}

/* ---- both ---------------------------------------------------------------- */

static void met(struct wf_sctp_strand *s)
{
    s->met = true;
    wf_sctp_strand_up(s);
}

/* GO is the first of the messages after it: nothing else leaves before. */
static void show(struct wf_sctp_strand *s, uint32_t kind)
{
    wf_sctp_show(s, kind);
    if (kind == KIND_GO && !s->owes)
        met(s);
}

/* All are, at last. */
static void go(weft_peer *p)
{
    for (int i = 0; i < p->calls; i++)
        show(p->strand[i], KIND_GO);
}

bool wf_sctp_show_owed(weft_peer *p)
{
    bool owing = p->owing;

    p->owing = false;
    for (int i = 0; i < STRANDS && owing; i++)
        if (p->strand[i] && p->strand[i]->owes)
            show(p->strand[i], p->strand[i]->owes);
    return p->owing;
}

/* The association of a dialler who begins again. */
void wf_sctp_unmeet(struct wf_sctp_strand *s)
{
    weft_peer *p = s->peer;

    wf_sctp_kernel_abort(s->sock->fd);
    wf_sctp_sock_free(s->sock);
    p->strand[s->number] = NULL;
    p->unread &= ~(1u << s->number);
    free(s);
}

/* A message where none was expected but that of the handshake. True: it was. */
bool wf_sctp_meeting(struct wf_sctp_strand *s, const struct wf_sctp_message *m,
                     const uint8_t *data)
{
    weft_peer *p = s->peer;

    if (!p->dialled) {
        met(s);
        return m->kind == KIND_GO;
    }
    if (p->made < p->calls || m->kind != KIND_WELCOME ||
        !wf_sctp_is_pass(p, KIND_WELCOME, s->number, data, m->n))
        wf_sctp_link_break(p, WEFT_EPROTO,
                           "who took the association with process %u is "
                           "somebody else",
                           p->party.id);
    else if (++p->welcome == p->calls)
        go(p);
    return true;
}

/* ---- the listener -------------------------------------------------------- */

static bool of_peer(const weft_peer *p, const struct wf_ip_addr *from)
{
    struct wf_ip_addr to[IP_ADDRS_MAX];
    int n = addresses(p, to);

    for (int i = 0; i < n; i++)
        if (wf_ip_same(&to[i], from))
            return true;
    for (int i = 0; i < p->party.book->n; i++)
        if (wf_ip_same(&p->party.book->addr[i], from))
            return true;
    return false;
}

static bool expected(const weft_ep *ep, const struct wf_ip_addr *from)
{
    for (const weft_peer *p = ep->open; p; p = p->open_next)
        if (p->party.state == PARTY_OPEN && p->kernel && !p->dialled &&
            of_peer(p, from))
            return true;
    return false;
}

static void dismiss(weft_ep *ep, struct wf_sctp_guest *g, bool stays)
{
    if (!stays)
        wf_sctp_kernel_abort(g->sock->fd);
    wf_sctp_sock_free(g->sock);
    *g = (struct wf_sctp_guest){0};
    if (ep->guests-- == GUESTS)
        watch_fd(ep, EPOLL_CTL_MOD, ep->listener, EPOLLIN, AT_LISTENER, 0);
}

static bool receive_guest(weft_ep *ep, int fd, uint64_t now)
{
    uint32_t i = 0;

    while (ep->guest[i].until)
        i++;
    ep->guest[i].sock = wf_sctp_sock_new(fd);
    if (!ep->guest[i].sock)
        return false;
    if (watch_fd(ep, EPOLL_CTL_ADD, fd, EPOLLIN, AT_GUEST, i) < 0) {
        wf_sctp_sock_free(ep->guest[i].sock);
        return false;
    }
    ep->guest[i].until = now + ep->cfg.handshake_timeout;
    ep->guests++;
    return true;
}

static void on_listener(weft_ep *ep)
{
    uint64_t now = wf_sctp_now(ep);

    while (ep->guests < GUESTS) {
        struct wf_ip_addr from;
        int fd = wf_sctp_kernel_accept(ep->listener, &from);
        if (fd < 0)
            return;
        if (expected(ep, &from) && receive_guest(ep, fd, now))
            continue;
        ep->calls.strange++;
        wf_sctp_kernel_abort(fd);
    }
    watch_fd(ep, EPOLL_CTL_MOD, ep->listener, 0, AT_LISTENER, 0);
}

/* The link and association that this pass is for, if it is genuine. */
static weft_peer *host_of(weft_ep *ep, const uint8_t *data, size_t n)
{
    struct wf_ip_id *id =
        n == SCTP_PASS ? wf_ip_id_find(&ep->calls, wf_sctp_pass_word(data, 1))
                       : NULL;
    weft_peer *p = id && id->party ? id->party->peer : NULL;
    uint32_t number = n == SCTP_PASS ? wf_sctp_pass_word(data, 3) : STRANDS;

    if (!p || p->party.state != PARTY_OPEN || !p->kernel || p->dialled ||
        number >= STRANDS || (p->strand[number] && p->strand[number]->met) ||
        !wf_sctp_is_pass(p, KIND_MEET, number, data, n))
        return NULL;
    return p;
}

/* He stays, as an association of his link. */
static bool settle(weft_ep *ep, const struct wf_sctp_guest *g,
                   const uint8_t *data, size_t n)
{
    weft_peer *p = host_of(ep, data, n);
    int number = p ? (int)wf_sctp_pass_word(data, 3) : 0;
    struct wf_sctp_strand *s;

    if (p && p->strand[number])
        wf_sctp_unmeet(p->strand[number]);
    s = p ? add(p, number, EPOLL_CTL_MOD, g->sock->fd) : NULL;
    if (!s)
        return false;
    wf_sctp_kernel_rank(s->sock);
    wf_sctp_show(s, KIND_WELCOME);
    return true;
}

static void on_guest(weft_ep *ep, uint32_t i)
{
    struct wf_sctp_guest *g = &ep->guest[i];
    struct wf_sctp_message m;
    enum wf_sctp_event event = SCTP_UP;

    while (g->until && (event == SCTP_UP || event == SCTP_PATH)) {
        event = wf_sctp_kernel_receive(g->sock, ep->message, SCTP_RBUF, &m);
        if (event == SCTP_NOTHING)
            return;
    }
    if (!g->until || (event == SCTP_MESSAGE && m.n == 0))
        return; /* not of interest; maybe the next */
    if (event == SCTP_MESSAGE && m.kind == KIND_MEET &&
        settle(ep, g, ep->message, m.n)) {
        dismiss(ep, g, true);
        return;
    }
    ep->calls.strange++;
    dismiss(ep, g, false);
}

uint64_t wf_sctp_guests_watch(weft_ep *ep, uint64_t now)
{
    uint64_t first = 0;

    for (int i = 0; i < GUESTS && ep->guests; i++) {
        if (ep->guest[i].until && now >= ep->guest[i].until) {
            ep->calls.strange++;
            dismiss(ep, &ep->guest[i], false);
        }
        wf_ip_sooner(&first, ep->guest[i].until);
    }
    return first;
}

/* ---- events -------------------------------------------------------------- */

static void on_strand(weft_ep *ep, int number, uint32_t link, uint32_t events)
{
    struct wf_ip_id *id = wf_ip_id_find(&ep->calls, link);
    weft_peer *p = id && id->party ? id->party->peer : NULL;

    if (!p || p->party.state != PARTY_OPEN || number >= STRANDS ||
        !p->strand[number] || !p->strand[number]->sock)
        return;
    if (events & EPOLLOUT)
        p->strand[number]->sock->blocked = false;
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
        p->unread |= 1u << number;
        wf_sctp_take(p);
    }
    wf_sctp_flush(p);
    wf_sctp_wait_for(p);
}

int wf_sctp_poll(weft_ep *ep, int budget)
{
    struct epoll_event e[EVENTS];
    int n = epoll_wait(ep->epfd, e, budget < EVENTS ? budget : EVENTS, 0);

    for (int i = 0; i < n; i++) {
        uint32_t what = (uint32_t)(e[i].data.u64 >> 32);
        uint32_t which = (uint32_t)e[i].data.u64;
        if (what == AT_SOCKET)
            wf_sctp_read(ep, (int)which, budget);
        else if (what == AT_LISTENER)
            on_listener(ep);
        else if (what == AT_GUEST)
            on_guest(ep, which);
        else
            on_strand(ep, (int)what - AT_STRAND, which, e[i].events);
    }
    return n > 0 ? n : 0;
}
