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
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "udp.h"

#define ACK_DELAY_NS   200000u
#define PROBE_AFTER_NS 1000000u
enum {
    FAREWELLS = 6,     /* unanswered probes after which a goodbye is enough */
    BURST_PACKETS = 64 /* under way at first, except on loopback */
};

/* ---- peers that are due -------------------------------------------------- */

void wf_udp_mark_due(weft_peer *p)
{
    wf_ip_mark_due(&p->ep->attention, &p->due);
}

void wf_udp_break_link(weft_peer *p, int status, const char *fmt, ...)
{
    char text[1200];
    va_list ap;

    if (p->party.state == PARTY_BROKEN)
        return; /* the first cause counts */
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    p->party.state = PARTY_BROKEN;
    p->why_status = status;
    free(p->why);
    p->why = strdup(text);
    wf_udp_mark_due(p);
}

static void close_flow(weft_peer *p)
{
    weft_ep *ep = p->ep;
    weft_peer **at = &ep->open;
    struct wf_ip_id *s = wf_ip_find_id(&ep->calls, p->link);

    if (!p->flow.packet)
        return;
    wf_ip_alive_end(&ep->watch, &p->alive);
    if (s && s->party == &p->party)
        s->party = NULL;
    ep->count.lost += p->flow.packets_lost;
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

static void report_broken(weft_peer *p)
{
    weft_ep *ep = p->ep;

    if (p->reported)
        return;
    tear_down_link(p, p->why_status);
    p->reported = true;
    p->want_ready = false;
    ep->host->peer_down(ep->core, p->loc, p->why_status,
                        p->why ? p->why : "out of memory");
}

/* Handles a peer that was found to be gone before all its data was read. */
static void judge_gone(weft_peer *p)
{
    const char *what = p->gone;

    p->gone = NULL;
    if (what)
        wf_udp_handle_gone(p, p->gone_status, what);
}

int wf_udp_serve_due(weft_ep *ep)
{
    struct wf_ip_due_entry *list = wf_ip_due_list_take(&ep->attention), *due;
    int n = 0;

    while ((due = wf_ip_due_list_next(&list))) {
        weft_peer *p = wf_ip_peer_of_due(due);
        n++;
        if (p->party.state == PARTY_OPEN && p->resumed) {
            p->resumed = false;
            wf_udp_flow_resume_delivery(&p->flow, wf_udp_now(ep));
        }
        if (p->party.state == PARTY_OPEN) {
            wf_udp_transmit(p, wf_udp_now(ep));
            wf_udp_return_acknowledged(p);
        }
        judge_gone(p);
        if (p->party.state == PARTY_BROKEN)
            report_broken(p);
    }
    return n;
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
    p->path = (struct wf_udp_path){.way = c->path,
                                   .check = wf_udp_wants_check(ep, &c->remote),
                                   .mac = c->coded};
    ep->links[c->path.socket]++;
    p->salt = c->salt;
    if (p->path.mac)
        wf_udp_make_digest_key(p);
    p->dialled = c->dialled;
    p->said_goodbye = false;
    p->gone = NULL;
    p->unreachable_since = 0;
    wf_udp_alive_begin(p, wf_udp_now(ep));
    ep->count.connections++;
    if (WEFT_HAS(ep->host, weft_host, peer_up))
        ep->host->peer_up(ep->core, p->loc);
    wf_udp_mark_due(p); /* so that a sender that waits is told */
    return WEFT_OK;
}

static void end_left_link(weft_peer *p)
{
    tear_down_link(p, WEFT_ELINK);
    p->party.state = PARTY_LEFT;
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
    char who[64];
    struct wf_ip_addr at;

    if (p->party.state != PARTY_OPEN)
        return;
    if (has_unread(p)) {
        p->gone_status = status;
        p->gone = what;
        if (!p->flow.paused) /* else the core will resume it */
            wf_udp_mark_due(p);
        return;
    }
    if (p->party.leaving && (p->said_goodbye || wf_udp_flow_is_idle(&p->flow)) &&
        !p->want_ready) {
        end_left_link(p);
        return;
    }
    wf_ip_from_sockaddr((struct sockaddr *)&p->path.way.to, &at);
    wf_ip_print_address(&at, who, sizeof who);
    wf_udp_break_link(p, status, "process %u at %s %s: %s", p->party.id, who,
                      status == WEFT_EPEER ? "has ended" : "broke off", what);
}

/* The cause may be a cable that is plugged in again, so the link breaks only
 * after some time. */
void wf_udp_note_unreachable(weft_peer *p, int error)
{
    const struct wf_udp_cfg *cfg = &p->ep->cfg;
    uint64_t now = wf_udp_now(p->ep), limit = cfg->unreachable;

    if (p->party.state != PARTY_OPEN)
        return;
    if (cfg->vanished && cfg->vanished < limit)
        limit = cfg->vanished;
    if (!p->unreachable_since)
        p->unreachable_since = now;
    if (now - p->unreachable_since >= limit)
        wf_udp_break_link(p, WEFT_ELINK, "no way to process %u: %s",
                          p->party.id, strerror(error));
}

/* ---- functions for the handshake ----------------------------------------- */

static void handle_call_failure(struct wf_ip_party *party, int status,
                                const char *why)
{
    wf_udp_break_link(party->peer, status, "%s", why);
}

static void handle_doubted(struct wf_ip_party *party)
{
    party->peer->flow.probe = true;
    wf_udp_transmit(party->peer, wf_udp_now(party->peer->ep));
}

static void handle_forgotten(struct wf_ip_party *party, uint32_t id)
{
    if (party->peer->remote_link == id)
        wf_udp_handle_gone(party->peer, WEFT_ELINK, "it has forgotten this link");
}

static void handle_return(struct wf_ip_party *party)
{
    end_left_link(party->peer);
}

static struct wf_ip_party *find_party(weft_ep *ep, uint32_t id)
{
    return id < ep->peers && ep->peer[id] ? &ep->peer[id]->party : NULL;
}

const struct wf_ip_call_ops wf_udp_call_ops = {.say = wf_udp_send_word,
                                               .up = open_link,
                                               .failed = handle_call_failure,
                                               .doubted = handle_doubted,
                                               .forgotten = handle_forgotten,
                                               .left = handle_return,
                                               .party = find_party,
                                               .wants_code = wf_udp_wants_code};

/* ---- peers --------------------------------------------------------------- */

int wf_udp_peer_add(weft_ep *ep, weft_loc *loc, uint32_t loc_id,
                    const void *addr, size_t len, weft_peer **out)
{
    struct wf_ip_book book;
    weft_peer *p;
    int rc = wf_ip_unpack_book(addr, len, &book);

    if (rc == WEFT_OK)
        rc = wf_ip_prepare_peer_slot(&ep->peer, &ep->peers, loc_id);
    if (rc < 0)
        return rc;
    p = calloc(1, sizeof *p);
    if (!p || !(p->party.book = malloc(sizeof book))) {
        free(p);
        return WEFT_ENOMEM;
    }
    *p->party.book = book;
    p->party.peer = p;
    p->party.id = loc_id;
    p->ep = ep;
    p->loc = loc;
    ep->peer[loc_id] = p;
    *out = p;
    return WEFT_OK;
}

void wf_udp_peer_free(weft_peer *p)
{
    tear_down_link(p, WEFT_ECANCEL);
    wf_ip_unmark_due(&p->ep->attention, &p->due);
    if (p->ep->reading_peer == p)
        p->ep->reading_peer = NULL;
    p->ep->peer[p->party.id] = NULL;
    free(p->party.book);
    free(p->party.why);
    free(p->why);
    free(p);
}

/* ---- goodbye ------------------------------------------------------------- */

/* Says goodbye if that was not done. Returns true once the goodbye and all
 * before it was acknowledged, or the peer is not there to do so. */
static bool take_leave(weft_peer *p)
{
    if (p->party.state != PARTY_OPEN)
        return true;
    if (!p->said_goodbye && !wf_udp_queue_frame(p, UDP_GOODBYE))
        return false;
    if (!p->said_goodbye)
        wf_udp_transmit(p, wf_udp_now(p->ep));
    p->said_goodbye = true;
    if (!wf_udp_flow_is_idle(&p->flow))
        return p->party.leaving && p->flow.backoff >= FAREWELLS;
    if (p->flow.ack_at) { /* the last one that the peer waits for */
        p->flow.ack_at = 1;
        wf_udp_transmit(p, wf_udp_now(p->ep));
    }
    return true;
}

int wf_udp_peer_del(weft_peer *p, int abrupt)
{
    if (!abrupt && !take_leave(p))
        return WEFT_EAGAIN;
    wf_udp_peer_free(p);
    return WEFT_OK;
}

int wf_udp_drain_peers(weft_ep *ep)
{
    int rc = WEFT_OK;

    for (uint32_t i = 0; i < ep->peers; i++)
        if (ep->peer[i] && !take_leave(ep->peer[i]))
            rc = WEFT_EAGAIN;
    return rc;
}

/* ---- time ---------------------------------------------------------------- */

void wf_udp_run_link_timers(weft_ep *ep, uint64_t now)
{
    for (weft_peer *p = ep->open, *next; p; p = next) {
        uint64_t at = wf_udp_flow_deadline(&p->flow);
        next = p->open_next;
        wf_udp_alive_check(p, now);
        if (p->party.state != PARTY_OPEN || !at || at > now)
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
