/* Noticing that the peer of a connection is gone, by its signs of life:
 * ../ip/alive.h.
 *
 * IDLE     The kernel sends keepalives, so that progress() has nothing to
 *          watch; unless they are too coarse for `detect`, or the core wants to
 *          know sooner (wf_tcp_alive_silent).
 * SENDING  While segments are unacknowledged the other kernel owes an answer,
 *          whatever the process does. Signs of life are acknowledgements of
 *          what was not acknowledged before. An acknowledgement that repeats
 *          another counts only if the host answers this host's calls as well: a
 *          full receiver that drops what it has promised room for sends such,
 *          and so does one that this host does not reach any more. If a host
 *          does not answer calls it counts as long as the receiver is full. No
 *          dead process hides behind that: the kernel of a process that has
 *          ended resets the connection, and a kernel that acknowledges without
 *          receiving anything has no answer to its own segments or keepalives
 *          either, gives up within `detect`, and resets.
 * CALLED   Of a peer that is being called its host is asked, if the core wants
 *          to know. A kernel takes calls for a process that computes.
 * CLOSED   While the peer's window is closed the kernel probes up to two
 *          minutes apart, so the host is called. TCP_USER_TIMEOUT is not used:
 *          it would cut a receiver that computes for long.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>

#include "tcp.h"

enum {
    CERTAIN = 2,  /* unanswered repetitions in a row that count as silence */
    STANDING = 8, /* 1 / STANDING of the limit is what a call must stand */
    MS = 1000000
};
#define TICK_LEAST_NS 20000000u
#define COARSE_NS     15000000u
#define KERNEL_NS     6000000000u /* the least `detect` that keepalive serves */

/* The kernel's view of a connection. */
struct view {
    struct tcp_info info; /* an older kernel fills less of it */
    bool flying;          /* segments are unacknowledged */
    bool waiting;         /* there are bytes that may not be sent yet */
    uint64_t ack, data;   /* ns, when the last one came */
};

static bool read_view(const weft_peer *p, uint64_t now, struct view *v)
{
    socklen_t n = sizeof v->info;
    int unacked = 0;

    *v = (struct view){.info = {0}};
    if (ioctl(p->conn->fd, SIOCOUTQ, &unacked) < 0 ||
        getsockopt(p->conn->fd, IPPROTO_TCP, TCP_INFO, &v->info, &n) < 0)
        return false;
    v->flying = v->info.tcpi_unacked > 0;
    v->waiting = unacked > 0 && !v->flying;
    v->ack = now - (uint64_t)v->info.tcpi_last_ack_recv * MS;
    v->data = now - (uint64_t)v->info.tcpi_last_data_recv * MS;
    return true;
}

/* Counts the packets that the other host has received, also behind a gap, and
 * the bytes that came from it without one. A full cable stops neither, a dead
 * one both. */
uint64_t wf_tcp_traffic(weft_peer *p)
{
    struct view v;

    if (p->ip.state != PEER_OPEN || !read_view(p, 0, &v))
        return 0;
    return v.info.tcpi_delivered + v.info.tcpi_bytes_acked +
           v.info.tcpi_bytes_received;
}

uint64_t wf_tcp_retransmissions(const struct wf_tcp_conn *c)
{
    struct tcp_info info = {0};
    socklen_t n = sizeof info;

    if (getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &n) < 0)
        return 0;
    return info.tcpi_total_retrans;
}

/* ---- the peers that are watched ------------------------------------------ */

static bool is_below_keepalive(const weft_ep *ep)
{
    return ep->cfg.detect && ep->cfg.detect < KERNEL_NS;
}

static void stop_watching(weft_peer *p)
{
    if (p->watched)
        p->ep->watching--;
    p->watched = false;
}

void wf_tcp_alive_end(weft_peer *p)
{
    stop_watching(p);
    wf_ip_alive_end(&p->ep->watch, &p->alive);
}

static void start_watching(weft_peer *p)
{
    weft_ep *ep = p->ep;
    bool first = ep->watching++ == 0;

    p->watched = true;
    if (first || !p->alive.asked) /* the first call is made at once */
        ep->watch_at = wf_tcp_now(ep) + (p->alive.asked ? ep->watch.every : 0);
}

void wf_tcp_alive_begin(weft_peer *p)
{
    wf_ip_alive_begin(&p->alive, wf_tcp_now(p->ep));
    p->confirmed = 0;
    p->answer_owed = false;
    if (is_below_keepalive(p->ep))
        wf_tcp_watch_sent(p);
}

/* Watches a peer to which data went out, until that is acknowledged. */
void wf_tcp_watch_sent(weft_peer *p)
{
    if (!p->watched && p->ep->cfg.detect)
        start_watching(p);
}

/* ---- checking ------------------------------------------------------------ */

static uint64_t earlier_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Records a sign of life. The kernel's times are coarse, so the time of one
 * event seems to move. */
static void record_sign(struct wf_ip_alive *a, uint64_t when)
{
    if (when > a->sign + COARSE_NS)
        wf_ip_alive_note_answer(a, when);
}

/* Says whether the peer's window has room for segments. An older kernel does
 * not report the window, which then counts as closed. */
static bool is_window_open(const struct view *v)
{
    return v->info.tcpi_snd_wnd >= 2 * v->info.tcpi_snd_mss &&
           v->info.tcpi_snd_wnd;
}

/* Says whether the other kernel has not answered what it must answer, or this
 * kernel cannot even send it. */
static bool owes_answer(const struct view *v)
{
    return (v->flying && v->info.tcpi_retransmits >= CERTAIN) ||
           (v->waiting &&
            (v->info.tcpi_probes >= CERTAIN || is_window_open(v)));
}

static void read_signs(weft_peer *p, const struct view *v)
{
    struct wf_ip_alive *a = &p->alive;
    uint64_t confirmed = v->info.tcpi_bytes_acked + v->info.tcpi_delivered;

    wf_ip_alive_read_answers(&p->ep->watch, a, false);
    if (confirmed != p->confirmed)
        record_sign(a, v->ack);
    p->confirmed = confirmed;
    if (v->flying || (v->waiting && is_window_open(v))) {
        if (a->known)
            record_sign(a, earlier_of(a->host, v->ack));
        else if (!is_window_open(v) || !owes_answer(v))
            record_sign(a, v->ack);
        return;
    }
    wf_ip_alive_note_answer(a, a->host);
    if (!v->waiting)
        record_sign(a, v->data);
    if (!v->waiting || v->info.tcpi_probes < CERTAIN)
        record_sign(a, v->ack);
}

/* The peer's silence, as weft_ops.silent defines it. */
static uint64_t silence_of(const weft_peer *p, uint64_t now)
{
    const struct wf_ip_watch *w = &p->ep->watch;

    return !p->alive.known && p->answer_owed
               ? wf_ip_alive_quiet_ns(w, &p->alive, now, true)
               : wf_ip_alive_silent_ns(w, &p->alive, now);
}

/* Asks the host at the other end of a connection, from the same address. */
static void call_host(const struct wf_tcp_conn *c, struct wf_ip_alive *a,
                      uint64_t now)
{
    struct sockaddr_storage sa;
    socklen_t n = sizeof sa;
    struct wf_ip_addr from;

    if (getsockname(c->fd, (struct sockaddr *)&sa, &n) < 0 ||
        wf_ip_from_sockaddr((struct sockaddr *)&sa, &from) < 0)
        return;
    wf_ip_alive_ask_host(&c->ep->watch, a, now, &c->remote, &from);
}

/* Says whether the host has answered in the last half of `detect`. */
static bool is_host_there(const weft_peer *p, uint64_t now)
{
    return p->alive.known && now < p->alive.host + p->ep->cfg.detect / 2;
}

static void check_peer(weft_peer *p, uint64_t now)
{
    weft_ep *ep = p->ep;
    struct view v;
    uint64_t silent;
    char who[64];

    if (!read_view(p, now, &v)) {
        stop_watching(p);
        return;
    }
    read_signs(p, &v);
    p->answer_owed = owes_answer(&v);
    silent = silence_of(p, now);
    if (!v.flying && !v.waiting && !p->alive.within &&
        !is_below_keepalive(ep)) {
        stop_watching(p);
        return;
    }
    if (ep->cfg.detect && silent != UINT64_MAX && silent >= ep->cfg.detect) {
        wf_ip_print_address(&p->conn->remote, who, sizeof who);
        wf_ip_break_link(&p->ip, WEFT_ELINK,
                         "process %u at %s has acknowledged nothing for %llu "
                         "ms, %s",
                         p->ip.id, who, (unsigned long long)(silent / MS),
                         is_host_there(p, now)
                             ? "though its host answers calls: the packets "
                               "of this connection, or large ones (MTU), are "
                               "dropped on the way"
                             : "and its host does not answer");
        return;
    }
    if (wf_ip_alive_deadline(&ep->watch, &p->alive) <= now)
        call_host(p->conn, &p->alive, now);
}

void wf_tcp_watch_tick(weft_ep *ep, uint64_t now)
{
    uint64_t next = 0;

    if (!ep->watching || ep->watch_at > now)
        return;
    for (uint32_t i = 0; i < ep->ip.peers; i++) {
        weft_peer *p = ep->ip.peer[i];
        uint64_t at;
        if (!p || !p->watched || p->ip.state != PEER_OPEN)
            continue;
        at = wf_ip_alive_deadline(&ep->watch, &p->alive);
        if (at && at <= now)
            check_peer(p, now);
        if (p->watched)
            wf_ip_set_sooner(&next,
                             wf_ip_alive_deadline(&ep->watch, &p->alive));
    }
    ep->watch_at = next > now + TICK_LEAST_NS ? next : now + TICK_LEAST_NS;
}

/* ---- a peer that is being called ----------------------------------------- */

/* Returns the silence on a call that stands: the other kernel has taken it, and
 * the process has neither answered nor hung up for a while, so it computes.
 * Keepalives ask in the meantime, where no host answers calls. UINT64_MAX: the
 * call is none of these. */
static uint64_t silence_of_call(const struct wf_tcp_conn *c, uint64_t within,
                                uint64_t now)
{
    struct tcp_info info = {0};
    socklen_t n = sizeof info;
    uint64_t quiet;

    if ((c->state != TCP_ANSWER && c->state != TCP_VERDICT) ||
        now < c->since + within / STANDING ||
        getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &n) < 0)
        return UINT64_MAX;
    quiet = (uint64_t)info.tcpi_last_ack_recv * MS;
    return info.tcpi_retransmits >= CERTAIN || info.tcpi_probes >= CERTAIN
               ? quiet
               : earlier_of(quiet, within / 2);
}

/* Asks the host by one candidate after the other. */
static void ask_dialled_host(struct wf_tcp_dial *d, uint64_t now)
{
    for (int i = 0; i < d->n; i++) {
        struct wf_tcp_conn *c = d->cand[d->next_asked++ % d->n].conn;
        if (!c)
            continue;
        call_host(c, &d->host, now);
        return;
    }
}

/* Returns the silence of a peer that is being called: of its host, or of its
 * kernel on a call that stands. */
static uint64_t silence_of_dial(weft_peer *p, uint64_t within, uint64_t now)
{
    struct wf_ip_watch *w = &p->ep->watch;
    struct wf_tcp_dial *d = p->dial;
    uint64_t least;

    if (!d)
        return UINT64_MAX;
    d->host.within = within;
    wf_ip_alive_read_answers(w, &d->host, true);
    if (wf_ip_alive_deadline(w, &d->host) <= now)
        ask_dialled_host(d, now);
    least = wf_ip_alive_silent_ns(w, &d->host, now);
    for (int i = 0; least == UINT64_MAX && i < d->n; i++)
        if (d->cand[i].conn)
            least = silence_of_call(d->cand[i].conn, within, now);
    return least;
}

/* Implements weft_ops.silent. */
uint64_t wf_tcp_alive_silent(weft_peer *p, uint64_t within)
{
    weft_ep *ep = p->ep;
    uint64_t now = wf_tcp_now(ep);

    if (p->ip.state != PEER_OPEN)
        return silence_of_dial(p, within, now);
    if (p->alive.within != within) {
        p->alive.within = within;
        if (!p->watched)
            start_watching(p);
        ep->watch_at = now;
    }
    return silence_of(p, now);
}
