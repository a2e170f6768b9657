/* The link to one peer: made, met, broken, said goodbye to.
 *
 *            send             a call was accepted
 *   IDLE ---------> DIALLING ----------------------> OPEN ----> LEFT
 *     |                |  \                           | goodbye heard, and
 *     |   caller met   |   \ all attempts failed      | nobody is there
 *     +----------------+    +----> BROKEN <-----------+
 *
 *   BROKEN  decided anywhere, told to the core by progress() alone: every
 *           lent container comes back first, then peer_down.
 *
 * PARTING  Goodbye is the last container of the stream. Who has said it and
 * seen it acknowledged may go; who still waits for an acknowledgement and finds
 * nobody (the kernel says so, or a RESET) has been heard as well. What was
 * acknowledged may still be unread while the core has no memory for it: that
 * somebody is gone is judged after everything was read.
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
enum { FAREWELLS = 6, BURST_PACKETS = 64 };

/* ---- attention ----------------------------------------------------------- */

void wf_udp_attend(weft_peer *p)
{
    wf_ip_attend(&p->ep->attention, &p->due);
}

void wf_udp_link_break(weft_peer *p, int status, const char *fmt, ...)
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
    wf_udp_attend(p);
}

static void close_flow(weft_peer *p)
{
    weft_ep *ep = p->ep;
    weft_peer **at = &ep->open;
    struct wf_ip_id *s = wf_ip_id_find(&ep->calls, p->link);

    if (!p->flow.packet)
        return;
    wf_ip_alive_end(&ep->watch, &p->alive);
    if (s && s->party == &p->party)
        s->party = NULL;
    ep->count.lost += p->flow.packets_lost;
    wf_udp_hot_forget(ep, p);
    ep->links[p->path.way.socket]--;
    while (*at != p)
        at = &(*at)->open_next;
    *at = p->open_next;
    wf_udp_flow_close(&p->flow);
}

/* End everything that belongs to the link and hand back what was lent. */
static void tear_down(weft_peer *p, int status)
{
    wf_ip_hang_up(&p->ep->calls, &p->party);
    wf_udp_rx_cancel(p, status);
    wf_udp_tx_cancel(p, status);
    close_flow(p);
}

static void report(weft_peer *p)
{
    weft_ep *ep = p->ep;

    if (p->reported)
        return;
    tear_down(p, p->why_status);
    p->reported = true;
    p->want_ready = false;
    ep->host->peer_down(ep->core, p->loc, p->why_status,
                        p->why ? p->why : "out of memory");
}

/* Was he found to be gone before everything of him was read? */
static void judge(weft_peer *p)
{
    const char *what = p->gone;

    p->gone = NULL;
    if (what)
        wf_udp_gone(p, p->gone_status, what);
}

int wf_udp_attention(weft_ep *ep)
{
    struct wf_ip_due *list = wf_ip_attention_take(&ep->attention), *due;
    int n = 0;

    while ((due = wf_ip_attention_next(&list))) {
        weft_peer *p = wf_ip_due_peer(due);
        n++;
        if (p->party.state == PARTY_OPEN && p->resumed) {
            p->resumed = false;
            wf_udp_flow_resume(&p->flow, wf_udp_now(ep));
        }
        if (p->party.state == PARTY_OPEN) {
            wf_udp_transmit(p, wf_udp_now(ep));
            wf_udp_flush(p);
        }
        judge(p);
        if (p->party.state == PARTY_BROKEN)
            report(p);
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

    cfg.burst = wf_ip_loopback(&c->remote)
                    ? cfg.window
                    : (uint64_t)cfg.packet * BURST_PACKETS;
    rc = wf_udp_flow_open(&p->flow, &cfg);
    if (rc < 0)
        return rc;
    p->flow.deliver = wf_udp_deliver;
    p->flow.place = wf_udp_place;
    p->flow.ctx = p;
    p->flow.limit = c->room;
    p->open_next = ep->open;
    ep->open = p;
    return WEFT_OK;
}

/* From now on containers travel along the path of c. */
static int link_up(weft_ep *ep, struct wf_ip_party *party,
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
        wf_udp_make_key(p);
    p->dialled = c->dialled;
    p->said_goodbye = false;
    p->gone = NULL;
    p->unreachable_since = 0;
    wf_udp_alive_begin(p, wf_udp_now(ep));
    ep->count.connections++;
    if (WEFT_HAS(ep->host, weft_host, peer_up))
        ep->host->peer_up(ep->core, p->loc);
    wf_udp_attend(p); /* tells a sender that waits */
    return WEFT_OK;
}

static void left(weft_peer *p)
{
    tear_down(p, WEFT_ELINK);
    p->party.state = PARTY_LEFT;
}

/* What he sent may still be unread, his goodbye too. */
static bool unread(const weft_peer *p)
{
    return p->flow.paused || p->flow.next < p->flow.whole ||
           p->ep->unread[p->path.way.socket] ||
           (p->ep->hot == p && p->ep->unread[UDP_HOT]);
}

/* Nobody answers to this link any more; progress() only. */
void wf_udp_gone(weft_peer *p, int status, const char *what)
{
    char who[64];
    struct wf_ip_addr at;

    if (p->party.state != PARTY_OPEN)
        return;
    if (unread(p)) {
        p->gone_status = status;
        p->gone = what;
        if (!p->flow.paused) /* else the core resumes it */
            wf_udp_attend(p);
        return;
    }
    if (p->party.leaving && (p->said_goodbye || wf_udp_flow_idle(&p->flow)) &&
        !p->want_ready) {
        left(p);
        return;
    }
    wf_ip_from_sockaddr((struct sockaddr *)&p->path.way.to, &at);
    wf_ip_name(&at, who, sizeof who);
    wf_udp_link_break(p, status, "process %u at %s %s: %s", p->party.id, who,
                      status == WEFT_EPEER ? "has ended" : "broke off", what);
}

/* The kernel knows no way to the peer. It may be a cable: give it time. */
void wf_udp_unreachable(weft_peer *p, int error)
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
        wf_udp_link_break(p, WEFT_ELINK, "no way to process %u: %s", p->party.id,
                          strerror(error));
}

/* ---- what calls ask and tell ---------------------------------------------- */

static void call_failed(struct wf_ip_party *party, int status, const char *why)
{
    wf_udp_link_break(party->peer, status, "%s", why);
}

static void forgotten(struct wf_ip_party *party, uint32_t id)
{
    if (party->peer->remote_link == id)
        wf_udp_gone(party->peer, WEFT_ELINK, "it has forgotten this link");
}

static void has_left(struct wf_ip_party *party)
{
    left(party->peer);
}

static struct wf_ip_party *find_party(weft_ep *ep, uint32_t id)
{
    return id < ep->peers && ep->peer[id] ? &ep->peer[id]->party : NULL;
}

const struct wf_ip_call_ops wf_udp_call_ops = {.say = wf_udp_say_word,
                                               .up = link_up,
                                               .failed = call_failed,
                                               .forgotten = forgotten,
                                               .left = has_left,
                                               .party = find_party,
                                               .wants_code = wf_udp_wants_code};

/* ---- peers ---------------------------------------------------------------- */

int wf_udp_peer_add(weft_ep *ep, weft_loc *loc, uint32_t loc_id,
                    const void *addr, size_t len, weft_peer **out)
{
    struct wf_ip_book book;
    weft_peer *p;
    int rc = wf_ip_unpack(addr, len, &book);

    if (rc == WEFT_OK)
        rc = wf_ip_peer_slot(&ep->peer, &ep->peers, loc_id);
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
    tear_down(p, WEFT_ECANCEL);
    wf_ip_unattend(&p->ep->attention, &p->due);
    if (p->ep->heard == p)
        p->ep->heard = NULL;
    p->ep->peer[p->party.id] = NULL;
    free(p->party.book);
    free(p->party.why);
    free(p->why);
    free(p);
}

/* ---- parting --------------------------------------------------------------- */

/* Everything that was handed over, and the goodbye, was acknowledged; or
 * nobody is left to do so. */
static bool parted(weft_peer *p)
{
    if (p->party.state != PARTY_OPEN)
        return true;
    if (!p->said_goodbye && !wf_udp_frame(p, UDP_GOODBYE))
        return false;
    if (!p->said_goodbye)
        wf_udp_transmit(p, wf_udp_now(p->ep));
    p->said_goodbye = true;
    if (!wf_udp_flow_idle(&p->flow))
        return p->party.leaving && p->flow.backoff >= FAREWELLS;
    if (p->flow.ack_at) { /* the last that the peer waits for */
        p->flow.ack_at = 1;
        wf_udp_transmit(p, wf_udp_now(p->ep));
    }
    return true;
}

int wf_udp_peer_del(weft_peer *p, int abrupt)
{
    if (!abrupt && !parted(p))
        return WEFT_EAGAIN;
    wf_udp_peer_free(p);
    return WEFT_OK;
}

int wf_udp_drain(weft_ep *ep)
{
    int rc = WEFT_OK;

    for (uint32_t i = 0; i < ep->peers; i++)
        if (ep->peer[i] && !parted(ep->peer[i]))
            rc = WEFT_EAGAIN;
    return rc;
}

/* ---- time -------------------------------------------------------------------- */

void wf_udp_link_timers(weft_ep *ep, uint64_t now)
{
    for (weft_peer *p = ep->open, *next; p; p = next) {
        uint64_t at = wf_udp_flow_deadline(&p->flow);
        next = p->open_next;
        wf_udp_alive_turn(p, now);
        if (p->party.state != PARTY_OPEN || !at || at > now)
            continue;
        wf_udp_flow_expire(&p->flow, now);
        wf_udp_transmit(p, now);
    }
}

uint64_t wf_udp_link_deadline(const weft_ep *ep)
{
    uint64_t first = 0;

    for (const weft_peer *p = ep->open; p; p = p->open_next)
        wf_ip_sooner(&first, wf_udp_flow_deadline(&p->flow));
    for (const weft_peer *p = ep->open; p; p = p->open_next)
        wf_ip_sooner(&first, wf_udp_alive_deadline(p));
    return first;
}
