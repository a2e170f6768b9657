/* The transport sctp: containers travel over associations of the Stream Control
 * Transmission Protocol, of the kernel, or in user space and inside UDP.
 *
 * See README.md for the picture.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "sctp.h"

enum { READS = 64, TICK_NS = 1000000 };

#define OPTION(...) WF_IP_OPTION(struct wf_sctp_cfg, __VA_ARGS__)

static const weft_option options[] = {
    WF_IP_PLACE_OPTIONS(OPTION, "UDP port"),
    OPTION(window, WEFT_OPT_SIZE, "2M", "128K..256M",
           "bytes kept for one peer until the program takes them"),
    OPTION(packet, WEFT_OPT_SIZE, "0", "0..65000",
           "bytes of a packet; 0: what the interface carries"),
    WF_IP_BUFFER_OPTIONS(OPTION),
    OPTION(associations, WEFT_OPT_INT, "1", "1..16",
           "with each peer; each has a congestion window: more of them send "
           "more where packets get lost, and take more from others there"),
    OPTION(associations_max, WEFT_OPT_INT, "16", "1..16",
           "as many are opened where packets get lost on a long way without a "
           "queue"),
    WF_IP_TIME_OPTIONS(OPTION),
    OPTION(heartbeat, WEFT_OPT_TIME, "1s", "10ms..3600s",
           "with several paths to a peer and traffic, how often each is asked "
           "whether it works"),
    OPTION(checksum, WEFT_OPT_ENUM, "auto", "auto|on|off",
           "CRC-32C in every packet; auto: except on loopback"),
    OPTION(stack, WEFT_OPT_ENUM, "auto", "auto|kernel|usrsctp",
           "whose SCTP: the kernel's, or libusrsctp inside UDP; auto: the "
           "kernel's where both sides have it"),
    {0}};

/* ---- endpoints ----------------------------------------------------------- */

static void close_endpoint(weft_ep *ep)
{
    wf_ip_free_peers(&ep->ip);
    wf_ip_calls_free(&ep->calls);
    for (int i = 0; i < IP_ADDRS_MAX; i++)
        if (ep->fd[i] >= 0)
            close(ep->fd[i]);
    wf_sctp_kernel_close(ep);
    wf_ip_close_endpoint(&ep->ip);
    if (ep->joined)
        wf_sctp_stack_leave();
    free(ep->rbuf);
    free(ep->message);
    free(ep->scratch);
    free(ep);
}

static weft_ep *make_endpoint(const weft_open *o)
{
    weft_ep *ep = calloc(1, sizeof *ep);

    if (!ep)
        return NULL;
    ep->cfg = *(const struct wf_sctp_cfg *)o->cfg;
    wf_ip_init_endpoint(&ep->ip, o, &wf_sctp_transport, ep->cfg.interface,
                        ep->cfg.port);
    ep->watch = (struct wf_ip_watch){.every = ep->cfg.keepalive,
                                     .vanished = ep->cfg.vanished,
                                     .local = ep->ip.one_host};
    wf_ip_calls_init(&ep->calls, &ep->ip, &wf_sctp_call_ops, &ep->watch);
    ep->calls.connect_timeout = ep->cfg.connect_timeout;
    ep->calls.handshake_timeout = ep->cfg.handshake_timeout;
    for (int i = 0; i < IP_ADDRS_MAX; i++)
        ep->fd[i] = -1;
    ep->listener = -1;
    return ep;
}

static int start_listening(weft_ep *ep)
{
    int rc = wf_ip_choose_interfaces(&ep->ip);

    if (rc == WEFT_OK)
        rc = wf_sctp_open_sockets(ep);
    for (int i = 0; i < ep->ip.n && rc == WEFT_OK; i++) {
        struct epoll_event e = {.events = EPOLLIN, .data.u64 = (uint64_t)i};
        if (epoll_ctl(ep->ip.epfd, EPOLL_CTL_ADD, ep->fd[i], &e) < 0)
            rc = WEFT_ESYS;
    }
    if (rc == WEFT_OK)
        rc = wf_sctp_kernel_open(ep);
    wf_sctp_make_offer(ep);
    return rc;
}

static int open_endpoint(const weft_open *o, weft_ep **out)
{
    weft_ep *ep = make_endpoint(o);
    int rc;

    if (!ep)
        return WEFT_ENOMEM;
    ep->rbuf = malloc(SCTP_RBUF);
    ep->message = malloc(SCTP_RBUF);
    ep->scratch = malloc(SCTP_RBUF);
    rc = ep->rbuf && ep->message && ep->scratch ? wf_sctp_find_stacks(ep)
                                                : WEFT_ENOMEM;
    if (rc == WEFT_OK) {
        ep->ip.epfd = wf_ip_open_epoll(&ep->ip);
        rc = ep->ip.epfd < 0 ? WEFT_ESYS : start_listening(ep);
    }
    if (rc < 0) {
        close_endpoint(ep);
        return rc;
    }
    *out = ep;
    return WEFT_OK;
}

/* Tells whether every packet carries a checksum. */
static bool is_all_checked(const weft_ep *ep)
{
    for (int i = 0; i < ep->ip.n; i++)
        if (!wf_ip_wants_checksum(ep->cfg.checksum, &ep->ip.use[i].addr))
            return false;
    return true;
}

static int describe_endpoint(weft_ep *ep, weft_attr *a)
{
    wf_ip_describe_reach(&ep->ip, a);
    if (is_all_checked(ep))
        a->caps |= WEFT_CAP_INTACT;
    a->max_short = SCTP_SHORT_MAX;
    a->max_eager = (uint32_t)ep->cfg.eager;
    a->max_payload = 1u << 30;
    return WEFT_OK;
}

static int probe_transport(const weft_open *o, weft_attr *a)
{
    weft_ep *ep = make_endpoint(o);
    int rc;

    if (!ep)
        return WEFT_ENOMEM;
    rc = ep->ip.planned ? WEFT_OK : wf_sctp_find_stacks(ep);
    if (rc == WEFT_OK)
        rc = wf_ip_choose_interfaces(&ep->ip);
    if (rc == WEFT_OK && !ep->ip.planned)
        wf_sctp_log_stacks(ep);
    if (rc == WEFT_OK)
        describe_endpoint(ep, a);
    close_endpoint(ep);
    return rc;
}

static int connect_peer(weft_peer *p)
{
    if (p->ip.state == PEER_IDLE)
        wf_ip_dial_party(&p->ep->calls, &p->party);
    return WEFT_OK;
}

/* ---- progress ------------------------------------------------------------ */

/* Runs the timers, after everything that has come was read: an answer that
 * waits unread is no lost packet. */
static void run_timers(weft_ep *ep)
{
    uint64_t now;

    if (!ep->open && !wf_ip_calls_have_timer(&ep->calls) && !ep->callers)
        return;
    now = wf_sctp_now_ns(ep);
    if (now - ep->ticked < TICK_NS)
        return;
    ep->ticked = now;
    wf_ip_calls_run_timers(&ep->calls, now);
    wf_sctp_callers_watch(ep, now);
    if (!ep->open)
        return;
    if (ep->joined)
        wf_sctp_stack_tick(now);
    for (weft_peer *p = ep->open, *next; p; p = next) {
        next = p->open_next;
        wf_sctp_watch_peer(p, now);
    }
}

static int progress_endpoint(weft_ep *ep, int budget)
{
    int events = 0;

    if (budget < 1 || budget > READS)
        budget = budget < 1 ? 1 : READS;
    if (ep->ip.due)
        events += wf_ip_serve_due(&ep->ip);
    ep->drained = true; /* until wf_sctp_read leaves something */
    if (ep->listener >= 0)
        events += wf_sctp_poll(ep, budget);
    else
        for (int i = 0; i < ep->ip.n; i++)
            events += wf_sctp_read_socket(ep, i, budget);
    if (ep->errors)
        events += wf_sctp_read_errors(ep);
    run_timers(ep);
    ep->drained = false;
    if (ep->ip.due)
        events += wf_ip_serve_due(&ep->ip);
    return events;
}

/* Everything unread is in the kernel, and epoll is level-triggered: only work
 * that was deferred here must be done before the thread sleeps. */
static int arm_endpoint(weft_ep *ep, uint64_t *deadline_ns)
{
    uint64_t first = 0, now = ep->open || ep->callers ? wf_sctp_now_ns(ep) : 0;

    ep->errors = true; /* the error queue may cause the wake-up */
    for (weft_peer *p = ep->open; p; p = p->open_next)
        wf_ip_set_sooner(&first, wf_sctp_watch_peer(p, now));
    wf_ip_set_sooner(&first, wf_sctp_callers_watch(ep, now));
    if (ep->ip.due)
        return WEFT_EAGAIN;
    wf_ip_set_sooner(&first, wf_ip_calls_deadline(&ep->calls));
    if (deadline_ns)
        *deadline_ns = first;
    return WEFT_OK;
}

static uint64_t count_packets_out(const weft_ep *ep)
{
    uint64_t n = ep->count.packets_out;

    wf_sctp_stack_lock();
    for (const weft_peer *p = ep->open; p; p = p->open_next)
        n += p->exit.packets;
    wf_sctp_stack_unlock();
    return n;
}

static uint64_t count_retransmissions(const weft_ep *ep)
{
    uint64_t n = ep->count.retransmissions;

    for (const weft_peer *p = ep->open; p; p = p->open_next)
        n += wf_sctp_assocs_retransmissions(p);
    return n;
}

static int get_statistic(weft_ep *ep, int i, const char **name, uint64_t *value)
{
    const struct wf_sctp_counts *c = &ep->count;
    const struct wf_ip_counter all[] = {
        {"connections", c->connections},
        {"refused_callers", ep->calls.refused},
        {"tx_containers", c->tx_containers},
        {"tx_bytes", c->tx_bytes},
        {"rx_containers", c->rx_containers},
        {"rx_bytes", c->rx_bytes},
        {"tx_packets", count_packets_out(ep)},
        {"rx_packets", c->packets_in},
        {"strange_packets", ep->calls.foreign_packets},
        {"path_failures", c->path_failures},
        {"path_switches", c->path_switches},
        {"kernel_links", c->kernel_links},
        {"spreads", c->spreads},
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
                             .peer_del = wf_ip_peer_del,
                             .send = wf_sctp_tx,
                             .progress = progress_endpoint,
                             .drain = wf_ip_drain,
                             .send_short = wf_sctp_tx_short,
                             .event = wf_ip_get_event,
                             .arm = arm_endpoint,
                             .rx_resume = wf_sctp_rx_resume,
                             .addr_parse = wf_ip_parse_address,
                             .addr_print = wf_ip_print_book,
                             .connect = connect_peer,
                             .probe = probe_transport,
                             .stat = get_statistic,
                             .silent = wf_sctp_silent_for};

WEFT_PLUGIN(sctp, "1.1", "SCTP: streams, and several paths to a peer", options,
            struct wf_sctp_cfg, &ops);
