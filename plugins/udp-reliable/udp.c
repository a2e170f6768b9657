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

enum { READS = 64 }; /* the most datagrams of one socket and poll round */

#define OPTION(...) WF_IP_OPTION(struct wf_udp_cfg, __VA_ARGS__)

static const weft_option options[] = {
    WF_IP_PLACE_OPTIONS(OPTION, "port"),
    OPTION(window, WEFT_OPT_SIZE, "2M", "64K..1G",
           "bytes that one peer may have under way to us"),
    OPTION(packet, WEFT_OPT_SIZE, "0", "0..65000",
           "data bytes of a packet; 0: what the interface carries"),
    WF_IP_COALESCE_OPTIONS(OPTION),
    WF_IP_BUFFER_OPTIONS(OPTION),
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
    wf_ip_free_peers(&ep->ip);
    wf_ip_calls_free(&ep->calls);
    wf_udp_hot_close(ep);
    for (int i = 0; i < IP_ADDRS_MAX; i++)
        if (ep->fd[i] >= 0)
            close(ep->fd[i]);
    wf_ip_close_endpoint(&ep->ip);
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
    ep->cfg = *(const struct wf_udp_cfg *)o->cfg;
    ep->trusted = WEFT_HAS(o, weft_open, flags) && o->flags & WEFT_OPEN_TRUSTED;
    wf_ip_init_endpoint(&ep->ip, o, &wf_udp_transport, ep->cfg.interface,
                        ep->cfg.port);
    wf_ip_calls_init(&ep->calls, &ep->ip, &wf_udp_call_ops, &ep->watch);
    ep->calls.room = (uint32_t)ep->cfg.window;
    ep->calls.connect_timeout = ep->cfg.connect_timeout;
    ep->calls.handshake_timeout = ep->cfg.handshake_timeout;
    ep->watch = (struct wf_ip_watch){.every = ep->cfg.keepalive,
                                     .vanished = ep->cfg.vanished,
                                     .local = ep->ip.one_host};
    for (int i = 0; i < IP_ADDRS_MAX; i++)
        ep->fd[i] = -1;
    wf_udp_hot_init(ep);
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
    if (epoll_ctl(ep->ip.epfd, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
                  ep->fd[socket], &e) < 0)
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

/* Tells whether every packet carries a checksum or a code. */
static bool is_all_checked(const weft_ep *ep)
{
    for (int i = 0; i < ep->ip.n; i++)
        if (!wf_ip_wants_checksum(ep->cfg.checksum, &ep->ip.use[i].addr) &&
            !wf_udp_wants_code(ep))
            return false;
    return true;
}

static int describe_endpoint(weft_ep *ep, weft_attr *a)
{
    wf_ip_describe_reach(&ep->ip, a);
    if (is_all_checked(ep))
        a->caps |= WEFT_CAP_INTACT;
    a->max_short = UDP_SHORT_MAX;
    a->max_eager = (uint32_t)ep->cfg.eager;
    a->max_payload = 1u << 30;
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

    if (n && ++ep->productive_polls[socket] == UDP_PAYS_OFF)
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
    return ep->calls.dialling || ep->poll_round % UDP_INTERVAL_MAX == 0 ||
           (links && (!hot || ep->poll_round % ep->others_interval == 0));
}

/* Polls the hot socket. The more often that is productive, the less often the
 * others are polled. */
static int poll_hot(weft_ep *ep, int budget)
{
    int n = poll_socket(ep, UDP_HOT, budget);

    if (n && ep->others_interval < UDP_INTERVAL_MAX)
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
    if (ep->ip.due)
        events += wf_ip_serve_due(&ep->ip);
    wf_udp_hot_choose_peer(ep);
    events += read_sockets(ep, budget);
    if (ep->errors)
        events += wf_udp_read_errors(ep);
    run_timers(ep);
    ep->drained = false;
    if (ep->ip.due)
        events += wf_ip_serve_due(&ep->ip);
    return events;
}

/* Sends all acknowledgements that wait for data to travel with: this process is
 * about to sleep, and sends no data then. */
static void send_due_acks(weft_ep *ep)
{
    uint64_t now = 0;

    for (weft_peer *p = ep->open; p; p = p->open_next) {
        if (p->ip.state != PEER_OPEN || !p->flow.ack_at)
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
    if (!ep->ip.due)
        send_due_acks(ep);
    if (ep->ip.due)
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

/* Returns the counts of all links, also of those that are closed. */
static struct wf_udp_counts count_links(const weft_ep *ep)
{
    struct wf_udp_counts n = ep->count;

    for (const weft_peer *p = ep->open; p; p = p->open_next) {
        n.lost += p->flow.packets_lost;
        n.again += p->flow.packets_again;
        n.timeouts += p->flow.timeouts;
    }
    return n;
}

static int read_statistic(weft_ep *ep, int i, const char **name,
                          uint64_t *value)
{
    const struct wf_udp_counts c = count_links(ep);
    const struct wf_ip_counter all[] = {
        {"connections", c.connections},
        {"refused_callers", ep->calls.refused},
        {"tx_containers", c.tx_containers},
        {"tx_bytes", c.tx_bytes},
        {"rx_containers", c.rx_containers},
        {"rx_bytes", c.rx_bytes},
        {"tx_packets", c.packets_out},
        {"rx_packets", c.packets_in},
        {"strange_packets", ep->calls.foreign_packets},
        {"lost_packets", c.lost},
        {"retransmissions", c.again},
        {"timeouts", c.timeouts}};

    return wf_ip_read_counter(all, sizeof all / sizeof *all, i, name, value);
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
                             .attr = describe_endpoint,
                             .address = wf_ip_get_address,
                             .reach = wf_ip_check_reach,
                             .peer_add = wf_ip_peer_add,
                             .peer_del = wf_ip_peer_del,
                             .send = wf_udp_send,
                             .progress = progress_endpoint,
                             .drain = wf_ip_drain,
                             .send_short = wf_udp_send_short,
                             .event = wf_ip_get_event,
                             .arm = arm_endpoint,
                             .rx_resume = wf_udp_rx_resume,
                             .addr_parse = wf_ip_parse_address,
                             .addr_print = wf_ip_print_book,
                             .connect = connect_peer,
                             .probe = probe_system,
                             .stat = read_statistic,
                             .traffic = count_traffic,
                             .silent = wf_udp_alive_silent_ns};

WEFT_PLUGIN(udp_reliable, "1.0",
            "reliable datagrams: losses cost milliseconds, not the link",
            options, struct wf_udp_cfg, &ops);
