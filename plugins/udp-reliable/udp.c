/* udp-reliable is a transport that makes datagrams reliable itself.
 *
 * It has one socket per address, and a flow (flow.h) per pair of processes,
 * with selective acknowledgements, losses detected by the packets that overtook
 * the lost one, and probes after milliseconds. README.md describes the whole.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "udp.h"

enum {
    READS = 64,       /* the most datagrams of one socket and poll round */
    PAYS_OFF = 16,    /* productive polls after which a socket leaves epoll */
    INTERVAL_MAX = 16 /* poll rounds between polls of a quiet socket */
};

#define OPTION(member, type, dflt, range, help)                                \
    {                                                                          \
#member, type, offsetof(struct wf_udp_cfg, member), dflt, range, help  \
    }

static const weft_option options[] = {
    OPTION(interface, WEFT_OPT_LIST, "auto", NULL,
           "auto, or interfaces to use: names, addresses or subnets"),
    OPTION(port, WEFT_OPT_INT, "0", "0..65535",
           "port of the first process of a node, the next takes port+1; "
           "0: any"),
    OPTION(window, WEFT_OPT_SIZE, "2M", "64K..1G",
           "bytes that one peer may have under way to us"),
    OPTION(packet, WEFT_OPT_SIZE, "0", "0..65000",
           "data bytes of a packet; 0: what the interface carries"),
    OPTION(rcvbuf, WEFT_OPT_SIZE, "4M", "64K..1G",
           "socket buffers, as far as the system allows"),
    OPTION(eager, WEFT_OPT_SIZE, "32K", "0..1G",
           "messages up to this size are sent without asking"),
    WF_IP_TIME_OPTIONS(OPTION),
    OPTION(checksum, WEFT_OPT_ENUM, "auto", "auto|on|off",
           "CRC-32C in every packet that has no code; auto: except on "
           "loopback"),
    OPTION(mac, WEFT_OPT_ENUM, "auto", "auto|on|off",
           "a code in every packet that takes the job key to make; auto: "
           "except with security = none"),
    {0}};

static void close_endpoint(weft_ep *ep)
{
    for (uint32_t i = 0; i < ep->peers; i++)
        if (ep->peer[i])
            wf_udp_peer_free(ep->peer[i]);
    wf_ip_calls_free(&ep->calls);
    wf_udp_hot_close(ep);
    for (int i = 0; i < IP_ADDRS_MAX; i++)
        if (ep->fd[i] >= 0)
            close(ep->fd[i]);
    if (ep->epfd >= 0)
        close(ep->epfd);
    free(ep->peer);
    free(ep->rbuf);
    free(ep->scratch);
    free(ep->batch.bytes);
    free(ep);
}

static weft_ep *make_endpoint(const weft_open *o)
{
    weft_ep *ep = calloc(1, sizeof *ep);

    if (!ep)
        return NULL;
    ep->host = o->host;
    ep->core = o->core;
    ep->cfg = *(const struct wf_udp_cfg *)o->cfg;
    ep->trusted = WEFT_HAS(o, weft_open, flags) && o->flags & WEFT_OPEN_TRUSTED;
    wf_ip_place(&ep->ip, o, ep->cfg.interface);
    ep->calls =
        (struct wf_ip_calls){.ep = ep,
                             .ops = &wf_udp_call_ops,
                             .host = o->host,
                             .core = o->core,
                             .ip = &ep->ip,
                             .watch = &ep->watch,
                             .me = o->loc_id,
                             .room = (uint32_t)ep->cfg.window,
                             .connect_timeout = ep->cfg.connect_timeout,
                             .handshake_timeout = ep->cfg.handshake_timeout};
    if (WEFT_HAS(o, weft_open, start_ns))
        ep->calls.start = o->start_ns;
    ep->watch = (struct wf_ip_watch){.every = ep->cfg.keepalive,
                                     .vanished = ep->cfg.vanished,
                                     .local = ep->ip.one_host};
    ep->port = wf_ip_own_port(o, ep->cfg.port);
    for (int i = 0; i < IP_ADDRS_MAX; i++)
        ep->fd[i] = -1;
    wf_udp_hot_init(ep);
    ep->epfd = -1;
    wf_ip_due_list_init(&ep->attention);
    return ep;
}

/* Adds the socket to epoll, or removes it. On one host the sender spends time
 * on each epoll set that is notified of a datagram, so a socket whose polls are
 * productive leaves epoll until this process wants to sleep. */
static int set_watched(weft_ep *ep, int socket, bool on)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u32 = (uint32_t)socket};

    ep->productive_polls[socket] = 0;
    if (ep->watched[socket] == on)
        return WEFT_OK;
    if (epoll_ctl(ep->epfd, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, ep->fd[socket],
                  &e) < 0)
        return WEFT_ESYS;
    ep->watched[socket] = on;
    return WEFT_OK;
}

static int start_listening(weft_ep *ep)
{
    int rc = wf_ip_choose_interfaces(&ep->ip);

    if (rc == WEFT_OK)
        rc = wf_udp_open_sockets(ep);
    for (int i = 0; i < ep->ip.n && rc == WEFT_OK; i++)
        rc = set_watched(ep, i, true);
    return rc;
}

static int open_endpoint(const weft_open *o, weft_ep **out)
{
    weft_ep *ep = make_endpoint(o);
    int rc = WEFT_ENOMEM;

    if (!ep)
        return WEFT_ENOMEM;
    ep->rbuf = malloc(UDP_RBUF);
    ep->scratch = malloc(FLOW_PACKET_MAX);
    ep->batch.bytes =
        malloc(BATCH_BYTES + PACKET_MAX + UDP_LINEAR + PACKET_MAC);
    if (ep->rbuf && ep->scratch && ep->batch.bytes) {
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

static const struct wf_ip_costs costs = {.overhead_ns = 1500,
                                         .loopback_ns = 4000,
                                         .subnet_ns = 14000,
                                         .routed_ns = 49000,
                                         .loopback_mbs = 3000,
                                         .usual_mbs = 1000,
                                         .link_percent = 90};

/* Tells whether every packet carries a checksum or a code. */
static bool is_all_checked(const weft_ep *ep)
{
    for (int i = 0; i < ep->ip.n; i++)
        if (!wf_udp_wants_check(ep, &ep->ip.use[i].addr) &&
            !wf_udp_wants_code(ep))
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
    a->max_short = UDP_SHORT_MAX;
    a->max_eager = (uint32_t)ep->cfg.eager;
    a->max_payload = 1u << 30;
    a->cost = wf_ip_cost_of(&ep->ip, &costs);
}

static int get_attr(weft_ep *ep, weft_attr *a)
{
    describe_endpoint(ep, a);
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

static int get_address(weft_ep *ep, void *buf, size_t *len)
{
    return wf_ip_write_blob(&ep->ip, buf, len);
}

static int check_reach(weft_ep *ep, const void *addr, size_t len,
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

static void run_timers(weft_ep *ep)
{
    uint64_t now;

    if (!wf_ip_calls_have_timer(&ep->calls) && !ep->timer_at)
        return;
    now = wf_udp_now(ep);
    if (wf_ip_calls_have_timer(&ep->calls))
        wf_ip_calls_run_timers(&ep->calls, now);
    if (!ep->timer_at || ep->timer_at > now)
        return;
    ep->timer_at = 0;
    wf_udp_run_link_timers(ep, now);
    wf_ip_set_sooner(&ep->timer_at, wf_udp_links_deadline(ep));
}

static int poll_socket(weft_ep *ep, int socket, int budget)
{
    int n = wf_udp_read_socket(ep, socket, budget);

    if (n && ++ep->productive_polls[socket] == PAYS_OFF)
        set_watched(ep, socket, false);
    return n;
}

/* Tells whether the socket is to be polled in this round. Where no link is open
 * and no peer is called only unknown callers send: to poll now and then is
 * enough, for each poll costs a system call. */
static bool is_worth_polling(const weft_ep *ep, int socket)
{
    bool hot = ep->hot && !ep->drain_first_rounds;
    uint32_t links = ep->links[socket];

    if (hot && ep->hot->path.way.socket == socket)
        links--; /* packets of the hot peer come in elsewhere */
    return ep->calls.dialling || ep->poll_round % INTERVAL_MAX == 0 ||
           (links && (!hot || ep->poll_round % ep->others_interval == 0));
}

/* Polls the hot socket. The more often that is productive, the less often the
 * others are polled. */
static int poll_hot(weft_ep *ep, int budget)
{
    int n = poll_socket(ep, UDP_HOT, budget);

    if (n && ep->others_interval < INTERVAL_MAX)
        ep->others_interval *= 2;
    return n;
}

/* Polls the sockets. Returns the number of datagrams, and sets ep->drained if
 * all sockets at which links are open were read until they were empty. */
static int read_sockets(weft_ep *ep, int budget)
{
    bool read_hot = ep->hot && !ep->drain_first_rounds, drained = !ep->hot;
    int events = 0;

    if (read_hot) {
        events += poll_hot(ep, budget);
        drained = !ep->unread[UDP_HOT];
    }
    for (int i = 0; i < ep->ip.n; i++) {
        bool worth = is_worth_polling(ep, i);
        if (worth)
            events += poll_socket(ep, i, budget);
        if (worth ? ep->unread[i] : ep->links[i] > 0)
            drained = false;
    }
    ep->drained = drained;
    return events;
}

static int progress_endpoint(weft_ep *ep, int budget)
{
    int events = 0;

    ep->poll_round++;

    if (budget < 1 || budget > READS)
        budget = budget < 1 ? 1 : READS;
    if (ep->attention.first)
        events += wf_udp_serve_due(ep);
    wf_udp_hot_choose_peer(ep);
    events += read_sockets(ep, budget);
    if (ep->errors)
        events += wf_udp_read_errors(ep);
    run_timers(ep);
    ep->drained = false;
    if (ep->attention.first)
        events += wf_udp_serve_due(ep);
    return events;
}

static int get_event(weft_ep *ep, int *fd)
{
    *fd = ep->epfd;
    return WEFT_OK;
}

/* Sends all acknowledgements that wait for data to travel with: this process is
 * about to sleep, and sends no data then. */
static void send_due_acks(weft_ep *ep)
{
    uint64_t now = 0;

    for (weft_peer *p = ep->open; p; p = p->open_next) {
        if (p->party.state != PARTY_OPEN || !p->flow.ack_at)
            continue;
        now = now ? now : wf_udp_now(ep);
        p->flow.ack_at = 1;
        wf_udp_transmit(p, now);
    }
}

/* Everything unread is in the kernel, and epoll is level-triggered: only peers
 * that are due keep this process from sleeping. */
static int arm_endpoint(weft_ep *ep, uint64_t *deadline_ns)
{
    uint64_t first = 0;

    ep->errors = true; /* it may be the error queue that wakes us */
    if (!ep->attention.first)
        send_due_acks(ep);
    if (ep->attention.first)
        return WEFT_EAGAIN;
    wf_ip_set_sooner(&first, wf_ip_calls_deadline(&ep->calls));
    ep->timer_at = wf_udp_links_deadline(ep);
    wf_ip_set_sooner(&first, ep->timer_at);
    ep->others_interval = 1;
    for (int i = 0; i < UDP_SOCKETS; i++)
        if (ep->fd[i] >= 0 && set_watched(ep, i, true) < 0)
            return WEFT_EAGAIN; /* there is no memory for it: keep polling */
    if (deadline_ns)
        *deadline_ns = first;
    return WEFT_OK;
}

static uint64_t count_lost(const weft_ep *ep)
{
    uint64_t n = ep->count.lost;

    for (const weft_peer *p = ep->open; p; p = p->open_next)
        n += p->flow.packets_lost;
    return n;
}

static int read_statistic(weft_ep *ep, int i, const char **name,
                          uint64_t *value)
{
    const struct wf_udp_counts *c = &ep->count;
    const struct {
        const char *name;
        uint64_t value;
    } all[] = {{"connections", c->connections},
               {"refused_callers", ep->calls.refused},
               {"tx_containers", c->tx_containers},
               {"tx_bytes", c->tx_bytes},
               {"rx_containers", c->rx_containers},
               {"rx_bytes", c->rx_bytes},
               {"tx_packets", c->packets_out},
               {"rx_packets", c->packets_in},
               {"strange_packets", ep->calls.foreign_packets},
               {"lost_packets", count_lost(ep)}};

    if (i < 0 || (size_t)i >= sizeof all / sizeof *all)
        return WEFT_EINVAL;
    *name = all[i].name;
    *value = all[i].value;
    return WEFT_OK;
}

/* Returns a number that grows only when something new arrives, at either side:
 * a duplicate has a new packet number, but brings no new bytes. */
static uint64_t count_traffic(weft_peer *p)
{
    return p->flow.peer_seen + p->flow.whole;
}

static const weft_ops ops = {.size = sizeof ops,
                             .open = open_endpoint,
                             .close = close_endpoint,
                             .attr = get_attr,
                             .address = get_address,
                             .reach = check_reach,
                             .peer_add = wf_udp_peer_add,
                             .peer_del = wf_udp_peer_del,
                             .send = wf_udp_send,
                             .progress = progress_endpoint,
                             .drain = wf_udp_drain_peers,
                             .send_short = wf_udp_send_short,
                             .event = get_event,
                             .arm = arm_endpoint,
                             .rx_resume = wf_udp_rx_resume,
                             .addr_parse = parse_address,
                             .addr_print = wf_ip_print_book,
                             .connect = connect_peer,
                             .probe = probe_system,
                             .stat = read_statistic,
                             .traffic = count_traffic,
                             .silent = wf_udp_alive_silent_ns};

WEFT_PLUGIN(udp_reliable, "1.0",
            "reliable datagrams: losses cost milliseconds, not the link",
            options, struct wf_udp_cfg, &ops);
