/* Several ways to a peer.
 *
 * To the protocol a peer has one address; which of its addresses the packets
 * take is decided here. While there is traffic every path is asked once per
 * `heartbeat`, and all of them as soon as the peer has owed an answer for
 * SILENCE. A peer that computes answers on no path, and nothing changes; a path
 * that owes an answer for PATIENCE while another gave one since has failed. The
 * first path that has not failed carries the packets.
 *
 * A peer with which there is no traffic is asked now and then as well, on
 * one path, too (alive.c): if its process has ended the kernel's answer says so,
 * and nothing else would.
 *
 * A packet is taken from whatever address of the peer it comes: each side
 * chooses for its own direction.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <string.h>

#include "sctp.h"

#define MS         1000000u
#define SILENCE_NS (100u * MS)
#define PATIENCE_NS (100u * MS)
#define FRESH_NS   (50u * MS) /* acknowledgements may be due */
#define QUIET_NS   (20u * MS)
#define SOON_NS    (5u * MS)
#define LATER_NS   (50u * MS)
#define IDLE_NS    (2000u * MS) /* without traffic */
enum { STAMPS = 8 };

static void describe(const weft_peer *p, const struct wf_sctp_path *path,
                     char *text, size_t n)
{
    struct wf_ip_addr to;
    char at[64];

    wf_ip_from_sockaddr((const struct sockaddr *)&path->to.to, &to);
    wf_ip_name(&to, at, sizeof at);
    snprintf(text, n, "%s -> %s", p->ep->ip.use[path->to.socket].name, at);
}

/* ---- which there are ----------------------------------------------------- */

static void add(weft_peer *p, const struct wf_ip_path *to)
{
    for (int i = 0; i < p->paths; i++)
        if (wf_ip_same_path(&p->path[i].to, to))
            return;
    if (p->paths < IP_ADDRS_MAX)
        p->path[p->paths++] = (struct wf_sctp_path){.to = *to};
}

static int socket_for(const weft_ep *ep, const struct wf_ip_candidate *at)
{
    for (int i = 0; i < ep->ip.n && at->local < 0; i++)
        if (ep->ip.use[i].addr.family == at->to.family)
            return i;
    return at->local;
}

static void leave_by(weft_peer *p, int i)
{
    const struct wf_ip_path *to = &p->path[i].to;

    wf_sctp_lock();
    p->exit.fd = p->ep->fd[to->socket];
    p->exit.to = *to;
    wf_sctp_unlock();
    p->active = i;
}

/* The path on which we met comes first. Packets fit all of them. */
void wf_sctp_paths(weft_peer *p, const struct wf_ip_path *first)
{
    weft_ep *ep = p->ep;
    struct wf_ip_candidate at[IP_ADDRS_MAX];
    int n = wf_ip_candidates(&ep->ip, p->party.book, at);

    p->paths = 0;
    p->probe_at = p->traffic_at = p->waiting_since = p->unreachable_since = 0;
    add(p, first);
    for (int i = 0; i < n; i++) {
        struct wf_ip_path to = {.socket = socket_for(ep, &at[i])};
        if (to.socket < 0 || (p->paths > 0 && wf_ip_loopback(&at[i].to)))
            continue;
        to.to_len = wf_ip_to_sockaddr(&at[i].to, &to.to);
        add(p, &to);
    }
    p->packet = UINT32_MAX;
    for (int i = 0; i < p->paths; i++)
        if (ep->mtu[p->path[i].to.socket] < p->packet)
            p->packet = ep->mtu[p->path[i].to.socket];
    if (ep->cfg.packet && ep->cfg.packet < p->packet)
        p->packet = (uint32_t)ep->cfg.packet;
    p->packet &= ~3u; /* chunks are */
    leave_by(p, 0);
}

bool wf_sctp_known_path(const weft_peer *p, const struct wf_ip_path *from)
{
    const struct wf_ip_book *book = p->party.book;
    struct wf_ip_addr a;

    if (wf_ip_same_path(&p->path[p->active].to, from))
        return true;
    for (int i = 0; i < p->paths; i++)
        if (wf_ip_same_path(&p->path[i].to, from))
            return true;
    if (wf_ip_from_sockaddr((const struct sockaddr *)&from->to, &a) < 0)
        return false;
    for (int i = 0; i < book->n; i++)
        if (wf_ip_same(&book->addr[i], &a) && book->addr[i].port == a.port)
            return true;
    return false;
}

/* ---- which of them work -------------------------------------------------- */

void wf_sctp_probe(weft_peer *p, uint64_t now)
{
    struct wf_sctp_datagram d = {.type = TYPE_PROBE,
                                 .to = p->remote_link,
                                 .from = p->link,
                                 .value = ++p->stamp,
                                 .offer = p->ep->drained ? PROBE_DRAINED : 0};

    p->probe_at = now;
    for (int i = 0; i < p->paths; i++) {
        if (!p->path[i].asked)
            p->path[i].asked = now;
        wf_sctp_say(p->ep, &p->path[i].to, &d);
    }
}

static void take_best(weft_peer *p)
{
    char text[100];
    int i = 0;

    while (i < p->paths && p->path[i].failed)
        i++;
    if (i == p->paths || i == p->active)
        return;
    leave_by(p, i);
    p->ep->count.path_switches++;
    describe(p, &p->path[i], text, sizeof text);
    p->ep->host->log(p->ep->core, 2, "packets to process %u now go %s",
                     p->party.id, text);
}

static void fail(weft_peer *p, struct wf_sctp_path *path, const char *why)
{
    char text[100];

    path->failed = true;
    p->ep->count.path_failures++;
    describe(p, path, text, sizeof text);
    p->ep->host->log(p->ep->core, 1, "path %s to process %u failed: %s", text,
                     p->party.id, why);
}

static void back(weft_peer *p, struct wf_sctp_path *path)
{
    char text[100];

    path->failed = false;
    describe(p, path, text, sizeof text);
    p->ep->host->log(p->ep->core, 2, "path %s to process %u is back", text,
                     p->party.id);
}

static void judge(weft_peer *p, uint64_t now)
{
    uint64_t answered = 0;

    for (int i = 0; i < p->paths; i++)
        if (p->path[i].answered > answered)
            answered = p->path[i].answered;
    for (int i = 0; i < p->paths; i++) {
        struct wf_sctp_path *path = &p->path[i];
        if (!path->failed && path->asked && answered > path->asked &&
            now - path->asked >= PATIENCE_NS)
            fail(p, path, "no answer, while another path gives one");
    }
    take_best(p);
}

void wf_sctp_echo(weft_peer *p, const struct wf_ip_path *from, uint32_t stamp,
                  uint64_t now)
{
    for (int i = 0; i < p->paths; i++) {
        struct wf_sctp_path *path = &p->path[i];
        if (!wf_ip_same_path(&path->to, from) || p->stamp - stamp >= STAMPS)
            continue;
        path->asked = 0;
        path->answered = now;
        wf_sctp_alive_echo(p, now);
        if (path->failed && !p->kernel)
            back(p, path);
    }
    if (!p->kernel)
        judge(p, now);
}

/* It takes the first that works: that is where our packets go. */
void wf_sctp_path_news(weft_peer *p, const struct wf_ip_addr *at, bool works)
{
    for (int i = 0; i < p->paths; i++) {
        struct wf_sctp_path *path = &p->path[i];
        struct wf_ip_addr to;
        wf_ip_from_sockaddr((const struct sockaddr *)&path->to.to, &to);
        if (!wf_ip_same(&to, at) || path->failed != works)
            continue;
        if (works)
            back(p, path);
        else
            fail(p, path, "its kernel does not answer there");
    }
    take_best(p);
}

/* The kernel knows no way there. It may be a cable: another path, or time. */
void wf_sctp_path_error(weft_peer *p, const struct wf_ip_path *to, int error)
{
    uint64_t now = wf_sctp_now(p->ep), limit = p->ep->cfg.unreachable;
    int others = 0;

    for (int i = 0; i < p->paths; i++)
        others += !p->path[i].failed && !wf_ip_same_path(&p->path[i].to, to);
    for (int i = 0; i < p->paths && others; i++)
        if (wf_ip_same_path(&p->path[i].to, to) && !p->path[i].failed)
            fail(p, &p->path[i], strerror(error));
    take_best(p);
    if (others)
        return;
    if (p->ep->cfg.vanished && p->ep->cfg.vanished < limit)
        limit = p->ep->cfg.vanished;
    if (!p->unreachable_since)
        p->unreachable_since = now;
    if (now - p->unreachable_since >= limit)
        wf_sctp_link_break(p, WEFT_ELINK, "no way to process %u: %s",
                           p->party.id, strerror(error));
}

/* ---- time ---------------------------------------------------------------- */

void wf_sctp_heard(weft_peer *p, uint64_t now)
{
    p->traffic_at = now;
    p->waiting_since = 0;
    p->unreachable_since = 0;
}

/* What was sent since, and what its senders were told. */
static void collect(weft_peer *p, uint64_t now)
{
    wf_sctp_lock();
    if (p->exit.sent) {
        p->traffic_at = now;
        if (!p->waiting_since)
            p->waiting_since = now;
    }
    p->ep->errors = p->ep->errors || p->exit.errors;
    p->exit.sent = p->exit.errors = false;
    wf_sctp_unlock();
}

static uint64_t watch_idle(weft_peer *p, uint64_t now)
{
    if (!p->probe_at)
        p->probe_at = now;
    if (now - p->probe_at >= IDLE_NS)
        wf_sctp_probe(p, now);
    return p->probe_at + IDLE_NS;
}

/* Once it is up, its kernel answers for the peer. */
static uint64_t watch_kernel(weft_peer *p, uint64_t now)
{
    uint64_t first = wf_sctp_show_owed(p) ? now + SOON_NS : 0;

    if (p->up)
        return first;
    wf_ip_sooner(&first, watch_idle(p, now));
    wf_ip_sooner(&first, wf_sctp_meet_watch(p, now));
    return first;
}

static uint64_t watch_traffic(weft_peer *p, uint64_t now)
{
    bool owed;
    uint64_t age;

    collect(p, now);
    if (!p->traffic_at)
        return 0;
    wf_sctp_strands_tend(p);
    wf_sctp_spread_watch(p, now);
    owed = !p->up || wf_sctp_unacked(p) > 0;
    age = now - p->traffic_at;
    if (!owed)
        p->waiting_since = 0;
    if (p->paths > 1) {
        bool silent =
            p->waiting_since && now - p->waiting_since >= SILENCE_NS;
        if (now - p->probe_at >= (silent ? SILENCE_NS : p->ep->cfg.heartbeat))
            wf_sctp_probe(p, now);
        judge(p, now);
    }
    if (!owed && age >= QUIET_NS) {
        p->traffic_at = 0;
        return 0;
    }
    return now + (age < FRESH_NS ? SOON_NS : LATER_NS);
}

uint64_t wf_sctp_watch(weft_peer *p, uint64_t now)
{
    uint64_t first;

    if (p->party.state != PARTY_OPEN)
        return 0;
    if (p->kernel)
        return watch_kernel(p, now);
    first = watch_traffic(p, now);
    wf_ip_sooner(&first, wf_sctp_alive_turn(p, now));
    return first;
}
