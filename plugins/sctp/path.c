/* The paths to a peer.
 *
 * To the user-space stack a peer has one address; this file decides which of
 * its addresses the packets go to. While there is traffic every path is probed
 * once per `heartbeat`, and all of them as soon as the peer has owed an answer
 * for SILENCE_NS. A peer that computes answers on no path, and nothing changes.
 * A path that owes an answer for ANSWER_LIMIT_NS, while another has given one
 * since, has failed. The first path that has not failed carries the packets.
 *
 * A peer with which there is no traffic is probed now and then as well, also if
 * it has only one path (alive.c): if its process has ended, the answer of its
 * kernel is the only sign of it.
 *
 * A packet is accepted from any address of the peer: each side chooses the path
 * for its own direction.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <string.h>

#include "sctp.h"

#define MS              1000000u
#define SILENCE_NS      (100u * MS)
#define ANSWER_LIMIT_NS (100u * MS)
#define FRESH_NS        (50u * MS) /* acknowledgements may be due */
#define QUIET_NS        (20u * MS)
#define SOON_NS         (5u * MS)
#define LATER_NS        (50u * MS)
#define IDLE_NS         (2000u * MS) /* between probes without traffic */
enum { STAMPS = 8 };

static void describe_path(const weft_peer *p, const struct wf_sctp_path *path,
                          char *text, size_t n)
{
    struct wf_ip_addr to;
    char at[64];

    wf_ip_from_sockaddr((const struct sockaddr *)&path->to.to, &to);
    wf_ip_print_address(&to, at, sizeof at);
    snprintf(text, n, "%s -> %s", p->ep->ip.use[path->to.socket].name, at);
}

/* ---- finding the paths --------------------------------------------------- */

static void add_path(weft_peer *p, const struct wf_ip_path *to)
{
    for (int i = 0; i < p->paths; i++)
        if (wf_ip_is_same_path(&p->path[i].to, to))
            return;
    if (p->paths < IP_ADDRS_MAX)
        p->path[p->paths++] = (struct wf_sctp_path){.to = *to};
}

static int choose_socket(const weft_ep *ep, const struct wf_ip_candidate *at)
{
    for (int i = 0; i < ep->ip.n && at->local < 0; i++)
        if (ep->ip.use[i].addr.family == at->to.family)
            return i;
    return at->local;
}

static void set_active_path(weft_peer *p, int i)
{
    const struct wf_ip_path *to = &p->path[i].to;

    wf_sctp_stack_lock();
    p->exit.fd = p->ep->fd[to->socket];
    p->exit.to = *to;
    wf_sctp_stack_unlock();
    p->active = i;
}

/* The path of the handshake comes first. Packets fit all paths. */
void wf_sctp_find_paths(weft_peer *p, const struct wf_ip_path *first)
{
    weft_ep *ep = p->ep;
    struct wf_ip_candidate at[IP_ADDRS_MAX];
    int n = wf_ip_find_candidates(&ep->ip, p->ip.book, at);

    p->paths = 0;
    p->probe_at = p->traffic_at = p->waiting_since = p->unreachable_since = 0;
    add_path(p, first);
    for (int i = 0; i < n; i++) {
        struct wf_ip_path to = {.socket = choose_socket(ep, &at[i])};
        if (to.socket < 0 || (p->paths > 0 && wf_ip_is_loopback(&at[i].to)))
            continue;
        to.to_len = wf_ip_to_sockaddr(&at[i].to, &to.to);
        add_path(p, &to);
    }
    p->packet = UINT32_MAX;
    for (int i = 0; i < p->paths; i++)
        if (ep->mtu[p->path[i].to.socket] < p->packet)
            p->packet = ep->mtu[p->path[i].to.socket];
    if (ep->cfg.packet && ep->cfg.packet < p->packet)
        p->packet = (uint32_t)ep->cfg.packet;
    p->packet &= ~3u; /* as the length of chunks */
    set_active_path(p, 0);
}

bool wf_sctp_is_known_path(const weft_peer *p, const struct wf_ip_path *from)
{
    const struct wf_ip_book *book = p->ip.book;
    struct wf_ip_addr a;

    if (wf_ip_is_same_path(&p->path[p->active].to, from))
        return true;
    for (int i = 0; i < p->paths; i++)
        if (wf_ip_is_same_path(&p->path[i].to, from))
            return true;
    if (wf_ip_from_sockaddr((const struct sockaddr *)&from->to, &a) < 0)
        return false;
    for (int i = 0; i < book->n; i++)
        if (wf_ip_is_same(&book->addr[i], &a) && book->addr[i].port == a.port)
            return true;
    return false;
}

/* ---- choosing a path ----------------------------------------------------- */

void wf_sctp_probe_paths(weft_peer *p, uint64_t now)
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
        wf_sctp_send_datagram(p->ep, &p->path[i].to, &d);
    }
}

static void choose_path(weft_peer *p)
{
    char text[100];
    int i = 0;

    while (i < p->paths && p->path[i].failed)
        i++;
    if (i == p->paths || i == p->active)
        return;
    set_active_path(p, i);
    p->ep->count.path_switches++;
    describe_path(p, &p->path[i], text, sizeof text);
    p->ep->ip.host->log(p->ep->ip.core, 2, "packets to process %u now go %s",
                        p->ip.id, text);
}

static void fail_path(weft_peer *p, struct wf_sctp_path *path, const char *why)
{
    char text[100];

    path->failed = true;
    p->ep->count.path_failures++;
    describe_path(p, path, text, sizeof text);
    p->ep->ip.host->log(p->ep->ip.core, 1, "path %s to process %u failed: %s",
                        text, p->ip.id, why);
}

static void restore_path(weft_peer *p, struct wf_sctp_path *path)
{
    char text[100];

    path->failed = false;
    describe_path(p, path, text, sizeof text);
    p->ep->ip.host->log(p->ep->ip.core, 2, "path %s to process %u is back",
                        text, p->ip.id);
}

static void judge_paths(weft_peer *p, uint64_t now)
{
    uint64_t answered = 0;

    for (int i = 0; i < p->paths; i++)
        if (p->path[i].answered > answered)
            answered = p->path[i].answered;
    for (int i = 0; i < p->paths; i++) {
        struct wf_sctp_path *path = &p->path[i];
        if (!path->failed && path->asked && answered > path->asked &&
            now - path->asked >= ANSWER_LIMIT_NS)
            fail_path(p, path, "no answer, while another path gives one");
    }
    choose_path(p);
}

void wf_sctp_handle_echo(weft_peer *p, const struct wf_ip_path *from,
                         uint32_t stamp, uint64_t now)
{
    for (int i = 0; i < p->paths; i++) {
        struct wf_sctp_path *path = &p->path[i];
        if (!wf_ip_is_same_path(&path->to, from) || p->stamp - stamp >= STAMPS)
            continue;
        path->asked = 0;
        path->answered = now;
        wf_sctp_alive_note_echo(p, now);
        if (path->failed && !p->kernel)
            restore_path(p, path);
    }
    if (!p->kernel)
        judge_paths(p, now);
}

/* Also chooses a path: the kernel uses the first that works, and so does this
 * side. */
void wf_sctp_handle_path_change(weft_peer *p, const struct wf_ip_addr *at,
                                bool works)
{
    for (int i = 0; i < p->paths; i++) {
        struct wf_sctp_path *path = &p->path[i];
        struct wf_ip_addr to;
        wf_ip_from_sockaddr((const struct sockaddr *)&path->to.to, &to);
        if (!wf_ip_is_same(&to, at) || path->failed != works)
            continue;
        if (works)
            restore_path(p, path);
        else
            fail_path(p, path, "its kernel does not answer there");
    }
    choose_path(p);
}

/* The kernel has no route there. A cable may be cut: another path may work, or
 * this one after a while. */
void wf_sctp_handle_path_error(weft_peer *p, const struct wf_ip_path *to,
                               int error)
{
    uint64_t now = wf_sctp_now_ns(p->ep), limit = p->ep->cfg.unreachable;
    int others = 0;

    for (int i = 0; i < p->paths; i++)
        others += !p->path[i].failed && !wf_ip_is_same_path(&p->path[i].to, to);
    for (int i = 0; i < p->paths && others; i++)
        if (wf_ip_is_same_path(&p->path[i].to, to) && !p->path[i].failed)
            fail_path(p, &p->path[i], strerror(error));
    choose_path(p);
    if (others)
        return;
    if (p->ep->cfg.vanished && p->ep->cfg.vanished < limit)
        limit = p->ep->cfg.vanished;
    if (!p->unreachable_since)
        p->unreachable_since = now;
    if (now - p->unreachable_since >= limit)
        wf_ip_break_link(&p->ip, WEFT_ELINK, "no way to process %u: %s",
                         p->ip.id, strerror(error));
}

/* ---- time ---------------------------------------------------------------- */

void wf_sctp_note_traffic(weft_peer *p, uint64_t now)
{
    p->traffic_at = now;
    p->waiting_since = 0;
    p->unreachable_since = 0;
}

/* Collects what the stack noted while it sent: packets, and errors. */
static void collect_exit_news(weft_peer *p, uint64_t now)
{
    wf_sctp_stack_lock();
    if (p->exit.sent) {
        p->traffic_at = now;
        if (!p->waiting_since)
            p->waiting_since = now;
    }
    p->ep->errors = p->ep->errors || p->exit.errors;
    p->exit.sent = p->exit.errors = false;
    wf_sctp_stack_unlock();
}

static uint64_t watch_idle(weft_peer *p, uint64_t now)
{
    if (!p->probe_at)
        p->probe_at = now;
    if (now - p->probe_at >= IDLE_NS)
        wf_sctp_probe_paths(p, now);
    return p->probe_at + IDLE_NS;
}

/* Does what is due on a link that the kernel carries; once it is up, the kernel
 * watches the peer. */
static uint64_t watch_kernel(weft_peer *p, uint64_t now)
{
    uint64_t first = wf_sctp_send_owed_tokens(p) ? now + SOON_NS : 0;

    if (p->up)
        return first;
    wf_ip_set_sooner(&first, watch_idle(p, now));
    wf_ip_set_sooner(&first, wf_sctp_setup_watch(p, now));
    return first;
}

static uint64_t watch_traffic(weft_peer *p, uint64_t now)
{
    bool owed;
    uint64_t age;

    collect_exit_news(p, now);
    if (!p->traffic_at)
        return 0;
    wf_sctp_assocs_make_room(p);
    wf_sctp_spread_watch(p, now);
    wf_sctp_watch_size(p, now);
    owed = !p->up || wf_sctp_unacked_bytes(p) > 0;
    age = now - p->traffic_at;
    if (!owed)
        p->waiting_since = 0;
    if (p->paths > 1) {
        bool silent = p->waiting_since && now - p->waiting_since >= SILENCE_NS;
        if (now - p->probe_at >= (silent ? SILENCE_NS : p->ep->cfg.heartbeat))
            wf_sctp_probe_paths(p, now);
        judge_paths(p, now);
    }
    if (!owed && age >= QUIET_NS) {
        p->traffic_at = 0;
        return 0;
    }
    return now + (age < FRESH_NS ? SOON_NS : LATER_NS);
}

uint64_t wf_sctp_watch_peer(weft_peer *p, uint64_t now)
{
    uint64_t first;

    if (p->ip.state != PEER_OPEN)
        return 0;
    if (p->kernel)
        return watch_kernel(p, now);
    first = watch_traffic(p, now);
    wf_ip_set_sooner(&first, wf_sctp_alive_check(p, now));
    return first;
}
