/* tcp: a Weft transport over TCP/IP, version 4 and 6.
 *
 * A pair of processes has one nonblocking connection. It is made at the first
 * send, and authenticated in both directions before it carries containers. They
 * follow each other on the stream without further framing, because the header
 * has its own length and that of the payload. README.md has a picture.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tcp.h"

enum { EVENTS = 32 };

#define OPTION(...) WF_IP_OPTION(struct wf_tcp_cfg, __VA_ARGS__)

static const weft_option options[] = {
    WF_IP_PLACE_OPTIONS(OPTION, "port"),
    OPTION(sndbuf, WEFT_OPT_SIZE, "0", "0..1G",
           "socket send buffer; 0: the kernel adjusts it"),
    OPTION(rcvbuf, WEFT_OPT_SIZE, "0", "0..1G",
           "socket receive buffer; 0: the kernel adjusts it"),
    OPTION(eager, WEFT_OPT_SIZE, "64K", "0..16M",
           "messages up to this size are sent without asking first"),
    OPTION(frame, WEFT_OPT_SIZE, "1M", "64K..1G",
           "long transfers are cut into pieces of this size, between which "
           "other messages pass"),
    WF_IP_COALESCE_OPTIONS(OPTION),
    OPTION(connect_timeout, WEFT_OPT_TIME, "5s", "10ms..600s",
           "to reach an address"),
    OPTION(handshake_timeout, WEFT_OPT_TIME, "2s", "10ms..60s",
           "for an unknown caller to prove the job key"),
    OPTION(detect, WEFT_OPT_TIME, "10s", "0s..3600s",
           "to notice that the other host is dead; 0: never"),
    OPTION(congestion, WEFT_OPT_STR, "auto", NULL,
           "congestion control; auto: the system's, but not bbr between "
           "neighbours"),
    {0}};

static void close_endpoint(weft_ep *ep)
{
    wf_ip_free_peers(&ep->ip);
    while (ep->conns)
        wf_tcp_conn_close(ep->conns);
    wf_tcp_conn_free_dead(ep);
    for (int i = 0; i < ep->ip.n; i++)
        if (ep->listener[i].fd >= 0)
            close(ep->listener[i].fd);
    if (ep->reserve >= 0)
        close(ep->reserve);
    if (ep->lobby >= 0)
        close(ep->lobby);
    wf_ip_close_endpoint(&ep->ip);
    free(ep->rbuf);
    free(ep);
}

static weft_ep *make_endpoint(const weft_open *o)
{
    weft_ep *ep = calloc(1, sizeof *ep);
    if (!ep)
        return NULL;
    ep->cfg = *(const struct wf_tcp_cfg *)o->cfg;
    wf_ip_init_endpoint(&ep->ip, o, &wf_tcp_transport, ep->cfg.interface,
                        ep->cfg.port);
    ep->watch = (struct wf_ip_watch){.every = ep->cfg.detect / 4,
                                     .vanished = ep->cfg.detect,
                                     .local = ep->ip.one_host};
    for (int i = 0; i < IP_ADDRS_MAX; i++)
        ep->listener[i].fd = -1;
    ep->lobby = ep->reserve = -1;
    return ep;
}

static int open_endpoint(const weft_open *o, weft_ep **out)
{
    weft_ep *ep = make_endpoint(o);
    int rc;

    if (!ep)
        return WEFT_ENOMEM;
    rc = WEFT_ENOMEM;
    ep->rbuf = malloc(TCP_RBUF + WEFT_HDR);
    if (!ep->rbuf)
        goto err;
    rc = WEFT_ESYS;
    ep->ip.epfd = wf_ip_open_epoll(&ep->ip);
    ep->lobby = ep->ip.epfd < 0 ? -1 : wf_ip_open_epoll(&ep->ip);
    if (ep->ip.epfd < 0 || ep->lobby < 0)
        goto err;
    rc = wf_ip_choose_interfaces(&ep->ip);
    if (rc < 0)
        goto err;
    rc = wf_tcp_listen(ep);
    if (rc < 0)
        goto err;
    *out = ep;
    return WEFT_OK;
err:
    close_endpoint(ep);
    return rc;
}

static int describe_endpoint(weft_ep *ep, weft_attr *a)
{
    wf_ip_describe_reach(&ep->ip, a);
    a->max_short = TCP_SHORT_MAX;
    a->max_eager = (uint32_t)ep->cfg.eager;
    a->max_payload = ep->cfg.frame;
    return WEFT_OK;
}

static int probe_system(const weft_open *o, weft_attr *a)
{
    weft_ep *ep = make_endpoint(o);
    int rc;
    if (!ep)
        return WEFT_ENOMEM;
    rc = wf_ip_choose_interfaces(&ep->ip);
    if (rc == WEFT_OK)
        describe_endpoint(ep, a);
    close_endpoint(ep);
    return rc;
}

static int connect_peer(weft_peer *p)
{
    if (p->ip.state == PEER_IDLE)
        wf_tcp_dial(p);
    return WEFT_OK;
}

/* ---- progress --------------------------------------------------------- */

/* Takes the hot socket out of epoll while every poll of it finds something.
 * Notifying epoll of each arrival costs the sender of a local message more than
 * all code of this transport. */
static void set_polled(weft_ep *ep, bool polled)
{
    weft_peer *p = ep->hot;

    if (!p || p->ip.state != PEER_OPEN || p->polled == polled)
        return;
    p->polled = polled;
    wf_tcp_update_interest(p);
}

/* Makes a peer's socket the hot one, which is read at each poll. The more often
 * that finds something, the less often epoll is asked about the others. */
static void set_hot(weft_ep *ep, weft_peer *p)
{
    if (ep->hot == p)
        return;
    set_polled(ep, false);
    ep->hot = p;
    ep->polls_between_epoll = 1;
}

static int poll_hot(weft_ep *ep)
{
    int n;

    if (!ep->hot || ep->hot->ip.state != PEER_OPEN || ep->hot->paused)
        return 0;
    n = wf_tcp_recv(ep->hot);
    if (n == 0)
        return 0;
    if (ep->polls_between_epoll < TCP_POLLS)
        ep->polls_between_epoll *= 2;
    else
        set_polled(ep, true);
    return n;
}

static int handle_peer_event(weft_peer *p, uint32_t events)
{
    int n = 1;
    if (events & EPOLLOUT && p->ip.state == PEER_OPEN)
        wf_tcp_flush(p);
    if (events & (EPOLLIN | EPOLLERR | EPOLLHUP) && p->ip.state == PEER_OPEN &&
        !p->paused) {
        n += wf_tcp_recv(p);
        if (p->ip.state == PEER_OPEN)
            set_hot(p->ep, p);
    }
    return n;
}

static int poll_epoll(weft_ep *ep, int budget)
{
    struct epoll_event e[EVENTS];
    int n = epoll_wait(ep->ip.epfd, e, budget < EVENTS ? budget : EVENTS, 0);
    int events = 0;

    ep->polls = 0;
    for (int i = 0; i < n; i++) {
        enum wf_tcp_kind kind = *(enum wf_tcp_kind *)e[i].data.ptr;
        if (kind == TCP_IS_LOBBY) {
            events += wf_tcp_poll_lobby(ep);
            continue;
        }
        struct wf_tcp_conn *c = e[i].data.ptr;
        if (c->state == TCP_UP) {
            events += handle_peer_event(c->peer, e[i].events);
        } else if (c->state != TCP_DEAD) {
            wf_tcp_conn_event(c, e[i].events);
            events++;
        }
    }
    return events;
}

static void run_timers(weft_ep *ep)
{
    uint64_t now;
    if (!ep->conns && !ep->dialling && !ep->accept_paused &&
        !ep->caller_budget.pause && !ep->watching && !ep->memory_waiters)
        return;
    now = wf_tcp_now(ep);
    wf_tcp_lobby_timers(ep, now);
    wf_tcp_conn_timers(ep, now);
    wf_tcp_dial_timers(ep, now);
    wf_tcp_watch_tick(ep, now);
    wf_tcp_memory_tick(ep, now);
}

static int progress_endpoint(weft_ep *ep, int budget)
{
    int events = 0;
    bool wide;

    if (budget < 1)
        budget = 1;
    ep->poll_round++;
    if (ep->ip.due)
        events += wf_ip_serve_due(&ep->ip);
    events += poll_hot(ep);
    wide = !ep->hot || ep->woken || ep->waiting || ep->calling ||
           ++ep->polls >= ep->polls_between_epoll;
    if (wide) {
        ep->woken = false;
        events += poll_epoll(ep, budget);
        run_timers(ep);
    }
    if (ep->ip.due)
        events += wf_ip_serve_due(&ep->ip);
    if (ep->dead)
        wf_tcp_conn_free_dead(ep);
    return events;
}

/* Prepares for sleep. All unread data is in the kernel, and epoll is level
 * triggered, so only work that was deferred here prevents sleeping. */
static int arm_endpoint(weft_ep *ep, uint64_t *deadline_ns)
{
    uint64_t first = 0;
    ep->woken = true;
    if (ep->ip.due)
        return WEFT_EAGAIN;
    set_polled(ep, false);
    ep->polls_between_epoll = 1;
    wf_ip_set_sooner(&first, wf_tcp_conn_deadline(ep));
    wf_ip_set_sooner(&first, wf_tcp_dial_deadline(ep));
    if (ep->watching)
        wf_ip_set_sooner(&first, ep->watch_at);
    if (ep->memory_waiters)
        wf_ip_set_sooner(&first, ep->memory_retry_at);
    if (deadline_ns)
        *deadline_ns = first;
    return WEFT_OK;
}

static uint64_t count_retransmissions(const weft_ep *ep)
{
    uint64_t n = ep->count.retransmissions;

    for (uint32_t i = 0; i < ep->ip.peers; i++)
        if (ep->ip.peer[i] && ep->ip.peer[i]->conn)
            n += wf_tcp_retransmissions(ep->ip.peer[i]->conn);
    return n;
}

static int read_statistic(weft_ep *ep, int i, const char **name,
                          uint64_t *value)
{
    const struct wf_tcp_counts *c = &ep->count;
    const struct wf_ip_counter all[] = {
        {"connections", c->connections},
        {"refused_callers", c->refused},
        {"tx_containers", c->tx_frames},
        {"tx_bytes", c->tx_bytes},
        {"rx_containers", c->rx_frames},
        {"rx_bytes", c->rx_bytes},
        {"tx_staged", c->stage_copies},
        {"retransmissions", count_retransmissions(ep)}};

    return wf_ip_read_counter(all, sizeof all / sizeof *all, i, name, value);
}

static const weft_ops ops = {.size = sizeof ops,
                             .open = open_endpoint,
                             .close = close_endpoint,
                             .attr = describe_endpoint,
                             .address = wf_ip_get_address,
                             .reach = wf_ip_check_reach,
                             .peer_add = wf_ip_peer_add,
                             .peer_del = wf_tcp_peer_del,
                             .send = wf_tcp_send,
                             .progress = progress_endpoint,
                             .drain = wf_ip_drain,
                             .send_short = wf_tcp_send_short,
                             .event = wf_ip_get_event,
                             .arm = arm_endpoint,
                             .rx_resume = wf_tcp_rx_resume,
                             .addr_parse = wf_ip_parse_address,
                             .addr_print = wf_ip_print_book,
                             .connect = connect_peer,
                             .probe = probe_system,
                             .stat = read_statistic,
                             .traffic = wf_tcp_traffic,
                             .silent = wf_tcp_alive_silent,
                             .reserve = wf_tcp_reserve};

WEFT_PLUGIN(tcp, "1.0", "TCP/IP, one connection per pair of processes", options,
            struct wf_tcp_cfg, &ops);
