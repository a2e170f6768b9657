/* The link to one peer: opening, breaking, and goodbye.
 *
 *            send             a call was accepted
 *   IDLE ---------> DIALLING ----------------------> OPEN ----> LEFT
 *     |                |  \                           | goodbye came, and
 *     |  it calls here |   \ all attempts failed      | nothing is there
 *     +----------------+    +----> BROKEN <-----------+
 *
 *   BROKEN  decided anywhere, told to the core by progress() alone: every
 *           lent container comes back first, then peer_down.
 *
 * GOODBYE  The goodbye is the last container of the stream. A process whose
 * goodbye was acknowledged may go. A process that still waits for an
 * acknowledgement and finds its peer gone (the kernel says so, or a RESET) has
 * been heard as well. Data that was acknowledged may still be unread while the
 * core has no memory for it, so whether a peer is gone is judged after
 * everything was read.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "udp.h"

#define ACK_DELAY_NS   200000u
#define PROBE_AFTER_NS 1000000u
enum {
    FAREWELLS = 6,     /* unanswered probes after which a goodbye is enough */
    BURST_PACKETS = 64 /* under way at first, except on loopback */
};

static void close_flow(weft_peer *p)
{
    weft_ep *ep = p->ep;
    weft_peer **at = &ep->open;

    if (!p->flow.packet)
        return;
    wf_ip_alive_end(&ep->watch, &p->alive);
    wf_ip_release_id(&ep->calls, p->link, &p->party);
    ep->count.lost += p->flow.packets_lost;
    ep->count.again += p->flow.packets_again;
    ep->count.timeouts += p->flow.timeouts;
    wf_udp_hot_forget_peer(ep, p);
    ep->links[p->path.way.socket]--;
    while (*at != p)
        at = &(*at)->open_next;
    *at = p->open_next;
    wf_udp_flow_close(&p->flow);
}

/* Ends everything that belongs to the link, and returns lent containers. */
static void tear_down_link(weft_peer *p, int status)
{
    wf_ip_hang_up(&p->ep->calls, &p->party);
    wf_udp_rx_cancel(p, status);
    wf_udp_tx_cancel(p, status);
    close_flow(p);
}

/* Handles a peer that was found to be gone before all its data was read. */
static void judge_gone(weft_peer *p)
{
    const char *what = p->gone;

    p->gone = NULL;
    if (what)
        wf_udp_handle_gone(p, p->gone_status, what);
}

static void serve_peer(weft_peer *p)
{
    if (p->ip.state == PEER_OPEN && p->resumed) {
        p->resumed = false;
        wf_udp_flow_resume_delivery(&p->flow, wf_udp_now(p->ep));
    }
    if (p->ip.state == PEER_OPEN) {
        wf_udp_transmit(p, wf_udp_now(p->ep));
        wf_udp_return_acknowledged(p);
    }
    judge_gone(p);
    if (wf_ip_is_report_due(&p->ip)) {
        tear_down_link(p, p->ip.why_status);
        wf_ip_report_down(&p->ip);
    }
}

/* ---- up, and gone -------------------------------------------------------- */

static int open_flow(weft_peer *p, const struct wf_ip_call *c)
{
    weft_ep *ep = p->ep;
    struct wf_udp_flow_config cfg = {.packet =
                                         wf_udp_packet_bytes(ep, &c->path),
                                     .window = ep->cfg.window,
                                     .ack_delay = ACK_DELAY_NS,
                                     .probe_after = PROBE_AFTER_NS};
    int rc;

    cfg.burst = wf_ip_is_loopback(&c->remote)
                    ? cfg.window
                    : (uint64_t)cfg.packet * BURST_PACKETS;
    rc = wf_udp_flow_open(&p->flow, &cfg);
    if (rc < 0)
        return rc;
    p->flow.deliver = wf_udp_deliver_stream;
    p->flow.place = wf_udp_place_early;
    p->flow.ctx = p;
    p->flow.limit = c->room;
    p->open_next = ep->open;
    ep->open = p;
    return WEFT_OK;
}

/* Opens the link: from now on containers travel along the path of c. */
static int open_link(weft_ep *ep, struct wf_ip_party *party,
                     const struct wf_ip_call *c)
{
    weft_peer *p = party->peer;
    int rc = open_flow(p, c);

    if (rc < 0)
        return rc;
    p->link = c->id;
    p->remote_link = c->remote_id;
    p->path = (struct wf_udp_path){
        .way = c->path,
        .check = wf_ip_wants_checksum(ep->cfg.checksum, &c->remote),
        .mac = c->coded};
    ep->links[c->path.socket]++;
    p->salt = c->salt;
    if (p->path.mac)
        wf_udp_make_digest_key(p);
    p->dialled = c->dialled;
    p->ip.said_goodbye = false;
    p->gone = NULL;
    p->unreachable_since = 0;
    wf_udp_alive_begin(p, wf_udp_now(ep));
    ep->count.connections++;
    if (WEFT_HAS(ep->ip.host, weft_host, peer_up))
        ep->ip.host->peer_up(ep->ip.core, p->ip.loc);
    wf_ip_mark_due(&p->ip); /* so that a sender that waits is told */
    return WEFT_OK;
}

static void end_left_link(weft_peer *p)
{
    tear_down_link(p, WEFT_ELINK);
    p->ip.state = PEER_LEFT;
}

/* Tells whether data of the peer, such as its goodbye, may still be unread. */
static bool has_unread(const weft_peer *p)
{
    return p->flow.paused || p->flow.next < p->flow.whole ||
           p->ep->unread[p->path.way.socket] ||
           (p->ep->hot == p && p->ep->unread[UDP_HOT]);
}

void wf_udp_handle_gone(weft_peer *p, int status, const char *what)
{
    if (p->ip.state != PEER_OPEN)
        return;
    if (has_unread(p)) {
        p->gone_status = status;
        p->gone = what;
        if (!p->flow.paused) /* else the core will resume it */
            wf_ip_mark_due(&p->ip);
        return;
    }
    if (p->ip.leaving &&
        (p->ip.said_goodbye || wf_udp_flow_is_idle(&p->flow)) &&
        !p->ip.want_ready) {
        end_left_link(p);
        return;
    }
    wf_ip_break_gone(&p->ip, &p->path.way.to, status, what);
}

/* The cause may be a cable that is plugged in again, so the link breaks only
 * after some time. */
void wf_udp_note_unreachable(weft_peer *p, int error)
{
    const struct wf_udp_cfg *cfg = &p->ep->cfg;
    uint64_t now = wf_udp_now(p->ep), limit = cfg->unreachable;

    if (p->ip.state != PEER_OPEN)
        return;
    if (cfg->vanished && cfg->vanished < limit)
        limit = cfg->vanished;
    if (!p->unreachable_since)
        p->unreachable_since = now;
    if (now - p->unreachable_since >= limit)
        wf_ip_break_link(&p->ip, WEFT_ELINK, "no way to process %u: %s",
                         p->ip.id, strerror(error));
}

/* ---- functions for the handshake ----------------------------------------- */

static void handle_doubted(struct wf_ip_party *party)
{
    party->peer->flow.probe = true;
    wf_udp_transmit(party->peer, wf_udp_now(party->peer->ep));
}

static void handle_forgotten(struct wf_ip_party *party, uint32_t id)
{
    if (party->peer->remote_link == id)
        wf_udp_handle_gone(party->peer, WEFT_ELINK,
                           "it has forgotten this link");
}

static void handle_return(struct wf_ip_party *party)
{
    end_left_link(party->peer);
}

static struct wf_ip_party *find_party(weft_ep *ep, uint32_t id)
{
    return id < ep->ip.peers && ep->ip.peer[id] ? &ep->ip.peer[id]->party
                                                : NULL;
}

const struct wf_ip_call_ops wf_udp_call_ops = {.say = wf_udp_send_word,
                                               .up = open_link,
                                               .failed = wf_ip_break_party,
                                               .doubted = handle_doubted,
                                               .forgotten = handle_forgotten,
                                               .left = handle_return,
                                               .party = find_party,
                                               .wants_code = wf_udp_wants_code};

/* ---- goodbye ------------------------------------------------------------- */

/* Says goodbye if that was not done. Returns true once the goodbye and all
 * before it was acknowledged, or the peer is not there to do so. */
static bool take_leave(weft_peer *p)
{
    if (p->ip.state != PEER_OPEN)
        return true;
    if (!p->ip.said_goodbye && !wf_udp_queue_frame(p, UDP_GOODBYE))
        return false;
    if (!p->ip.said_goodbye)
        wf_udp_transmit(p, wf_udp_now(p->ep));
    p->ip.said_goodbye = true;
    if (!wf_udp_flow_is_idle(&p->flow))
        return p->ip.leaving && p->flow.backoff >= FAREWELLS;
    if (p->flow.ack_at) { /* the last one that the peer waits for */
        p->flow.ack_at = 1;
        wf_udp_transmit(p, wf_udp_now(p->ep));
    }
    return true;
}

/* ---- the functions for ip/peer.c ----------------------------------------- */

static void init_peer(weft_ep *ep, weft_peer *p)
{
    p->ep = ep;
    p->party = (struct wf_ip_party){.peer = p, .ip = &p->ip};
}

static void free_peer(weft_peer *p)
{
    tear_down_link(p, WEFT_ECANCEL);
    if (p->ep->reading_peer == p)
        p->ep->reading_peer = NULL;
    free(p->party.why);
    wf_ip_free_peer(&p->ip);
}

const struct wf_ip_transport wf_udp_transport = {.costs = {.overhead_ns = 1500,
                                                           .loopback_ns = 4000,
                                                           .subnet_ns = 14000,
                                                           .routed_ns = 49000,
                                                           .loopback_mbs = 3000,
                                                           .usual_mbs = 1000,
                                                           .link_percent = 90},
                                                 .peer_bytes =
                                                     sizeof(weft_peer),
                                                 .init_peer = init_peer,
                                                 .free_peer = free_peer,
                                                 .serve_peer = serve_peer,
                                                 .has_parted = take_leave};

/* ---- time ---------------------------------------------------------------- */

void wf_udp_run_link_timers(weft_ep *ep, uint64_t now)
{
    for (weft_peer *p = ep->open, *next; p; p = next) {
        uint64_t at = wf_udp_flow_deadline(&p->flow);
        next = p->open_next;
        wf_udp_alive_check(p, now);
        if (p->ip.state != PEER_OPEN || !at || at > now)
            continue;
        wf_udp_flow_expire(&p->flow, now);
        wf_udp_transmit(p, now);
    }
}

uint64_t wf_udp_links_deadline(const weft_ep *ep)
{
    uint64_t first = 0;

    for (const weft_peer *p = ep->open; p; p = p->open_next)
        wf_ip_set_sooner(&first, wf_udp_flow_deadline(&p->flow));
    for (const weft_peer *p = ep->open; p; p = p->open_next)
        wf_ip_set_sooner(&first, wf_udp_alive_deadline(p));
    return first;
}
