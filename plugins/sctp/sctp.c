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

#define OPTION(member, type, dflt, range, help)                                \
    {                                                                          \
#member, type, offsetof(struct wf_sctp_cfg, member), dflt, range, help \
    }

static const weft_option options[] = {
    OPTION(interface, WEFT_OPT_LIST, "auto", NULL,
           "auto, or interfaces to use: names, addresses or subnets"),
    OPTION(port, WEFT_OPT_INT, "0", "0..65535",
           "UDP port of the first process of a node, the next takes port+1; "
           "0: any"),
    OPTION(window, WEFT_OPT_SIZE, "2M", "128K..256M",
           "bytes kept for one peer until the program takes them"),
    OPTION(packet, WEFT_OPT_SIZE, "0", "0..65000",
           "bytes of a packet; 0: what the interface carries"),
    OPTION(rcvbuf, WEFT_OPT_SIZE, "4M", "64K..1G",
           "socket buffers, as far as the system allows"),
    OPTION(eager, WEFT_OPT_SIZE, "32K", "0..1G",
           "messages up to this size are sent without asking"),
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

static const struct wf_ip_costs costs = {.overhead_ns = 3000,
                                         .loopback_ns = 6000,
                                         .subnet_ns = 17000,
                                         .routed_ns = 52000,
                                         .loopback_mbs = 1500,
                                         .usual_mbs = 1000,
                                         .link_percent = 80};

/* ---- endpoints ----------------------------------------------------------- */

static void close_endpoint(weft_ep *ep)
{
    for (uint32_t i = 0; i < ep->peers; i++)
        if (ep->peer[i])
            wf_sctp_peer_free(ep->peer[i]);
    wf_ip_calls_free(&ep->calls);
    for (int i = 0; i < IP_ADDRS_MAX; i++)
        if (ep->fd[i] >= 0)
            close(ep->fd[i]);
    wf_sctp_kernel_close(ep);
    if (ep->epfd >= 0)
        close(ep->epfd);
    if (ep->joined)
        wf_sctp_stack_leave();
    free(ep->peer);
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
    ep->host = o->host;
    ep->core = o->core;
    ep->cfg = *(const struct wf_sctp_cfg *)o->cfg;
    wf_ip_place(&ep->ip, o, ep->cfg.interface);
    ep->watch = (struct wf_ip_watch){.every = ep->cfg.keepalive,
                                     .vanished = ep->cfg.vanished,
                                     .local = ep->ip.one_host};
    ep->port = wf_ip_own_port(o, ep->cfg.port);
    ep->calls =
        (struct wf_ip_calls){.ep = ep,
                             .ops = &wf_sctp_call_ops,
                             .host = o->host,
                             .core = o->core,
                             .ip = &ep->ip,
                             .watch = &ep->watch,
                             .me = o->loc_id,
                             .connect_timeout = ep->cfg.connect_timeout,
                             .handshake_timeout = ep->cfg.handshake_timeout};
    if (WEFT_HAS(o, weft_open, start_ns))
        ep->calls.start = o->start_ns;
    for (int i = 0; i < IP_ADDRS_MAX; i++)
        ep->fd[i] = -1;
    ep->epfd = ep->listener = -1;
    wf_ip_due_list_init(&ep->attention);
    return ep;
}

static int start_listening(weft_ep *ep)
{
    int rc = wf_ip_choose_interfaces(&ep->ip);

    if (rc == WEFT_OK)
        rc = wf_sctp_open_sockets(ep);
    for (int i = 0; i < ep->ip.n && rc == WEFT_OK; i++) {
        struct epoll_event e = {.events = EPOLLIN, .data.u64 = (uint64_t)i};
        if (epoll_ctl(ep->epfd, EPOLL_CTL_ADD, ep->fd[i], &e) < 0)
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
        ep->epfd = wf_ip_open_epoll(&ep->ip);
        rc = ep->epfd < 0 ? WEFT_ESYS : start_listening(ep);
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
        if (!wf_sctp_wants_check(ep, &ep->ip.use[i].addr))
            return false;
    return true;
}

static void describe_endpoint(const weft_ep *ep, weft_attr *a)
{
    a->caps = WEFT_CAP_LOCAL;
    if (is_all_checked(ep))
        a->caps |= WEFT_CAP_INTACT;
    if (!wf_ip_is_loopback_only(&ep->ip))
        a->caps |= WEFT_CAP_REMOTE;
    a->max_short = SCTP_SHORT_MAX;
    a->max_eager = (uint32_t)ep->cfg.eager;
    a->max_payload = 1u << 30;
    a->cost = wf_ip_cost_of(&ep->ip, &costs);
}

static int get_attributes(weft_ep *ep, weft_attr *a)
{
    describe_endpoint(ep, a);
    return WEFT_OK;
}

static int probe_transport(const weft_open *o, weft_attr *a)
{
    weft_ep *ep = make_endpoint(o);
    int rc;

    if (!ep)
        return WEFT_ENOMEM;
    rc = wf_sctp_find_stacks(ep);
    if (rc == WEFT_OK)
        rc = wf_ip_choose_interfaces(&ep->ip);
    if (rc == WEFT_OK) {
        wf_sctp_log_stacks(ep);
        describe_endpoint(ep, a);
    }
    close_endpoint(ep);
    return rc;
}

static int get_address(weft_ep *ep, void *buf, size_t *len)
{
    return wf_ip_write_blob(&ep->ip, buf, len);
}

static int reach_address(weft_ep *ep, const void *addr, size_t len,
                         weft_cost *cost)
{
    return wf_ip_check_reach(&ep->ip, &costs, addr, len, cost);
}

static int parse_address(weft_ep *ep, const char *text, void *buf, size_t *len)
{
    return wf_ip_parse_address(&ep->ip, text, buf, len);
}

static int connect_peer(weft_peer *p)
{
    if (p->party.state == PARTY_IDLE)
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
    if (ep->attention.first)
        events += wf_sctp_attend_peers(ep);
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
    if (ep->attention.first)
        events += wf_sctp_attend_peers(ep);
    return events;
}

static int get_event(weft_ep *ep, int *fd)
{
    *fd = ep->epfd;
    return WEFT_OK;
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
    if (ep->attention.first)
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

static int get_statistic(weft_ep *ep, int i, const char **name, uint64_t *value)
{
    const struct wf_sctp_counts *c = &ep->count;
    const struct {
        const char *name;
        uint64_t value;
    } all[] = {{"connections", c->connections},
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
               {"spreads", c->spreads}};

    if (i < 0 || (size_t)i >= sizeof all / sizeof *all)
        return WEFT_EINVAL;
    *name = all[i].name;
    *value = all[i].value;
    return WEFT_OK;
}

static const weft_ops ops = {.size = sizeof ops,
                             .open = open_endpoint,
                             .close = close_endpoint,
                             .attr = get_attributes,
                             .address = get_address,
                             .reach = reach_address,
                             .peer_add = wf_sctp_peer_add,
                             .peer_del = wf_sctp_peer_del,
                             .send = wf_sctp_tx,
                             .progress = progress_endpoint,
                             .drain = wf_sctp_drain,
                             .send_short = wf_sctp_tx_short,
                             .event = get_event,
                             .arm = arm_endpoint,
                             .rx_resume = wf_sctp_rx_resume,
                             .addr_parse = parse_address,
                             .addr_print = wf_ip_print_book,
                             .connect = connect_peer,
                             .probe = probe_transport,
                             .stat = get_statistic,
                             .silent = wf_sctp_silent_for};

WEFT_PLUGIN(sctp, "1.1", "SCTP: streams, and several paths to a peer", options,
            struct wf_sctp_cfg, &ops);
