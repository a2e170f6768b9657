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
 * SIMULTANEOUS CONNECT  A caller who is met while we call him: the side with the
 * lower number parks the call until its own attempt is decided; the other takes
 * it and drops its own. Nothing but the handshake travels before ACCEPT.
 *
 * PARTING  Goodbye is the last container of the stream. Who has said it and
 * seen it acknowledged may go; who still waits for an acknowledgement and finds
 * nobody (the kernel says so, or a RESET) has been heard as well.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "udp.h"

#define ACK_DELAY_NS   200000u
#define PROBE_AFTER_NS 1000000u
enum { FAREWELLS = 6, BURST_PACKETS = 64 };

/* ---- link ids: a slot, and 16 random bits ------------------------------ */

struct wf_udp_id *wf_udp_id_find(weft_ep *ep, uint32_t id)
{
    struct wf_udp_id *s;

    if ((id & 0xffff) >= ep->ids_n)
        return NULL;
    s = &ep->ids[id & 0xffff];
    return s->id == id && (s->call || s->peer) ? s : NULL;
}

static bool more_ids(weft_ep *ep)
{
    uint32_t n = ep->ids_n ? ep->ids_n * 2 : 16;
    struct wf_udp_id *grown;

    if (n > UDP_LINKS_MAX)
        return false;
    grown = realloc(ep->ids, n * sizeof *grown);
    if (!grown)
        return false;
    memset(grown + ep->ids_n, 0, (n - ep->ids_n) * sizeof *grown);
    ep->ids_hint = ep->ids_n;
    ep->ids = grown;
    ep->ids_n = n;
    return true;
}

/* A free slot with a new id; the caller sets call or peer. NULL: none. */
struct wf_udp_id *wf_udp_id_new(weft_ep *ep)
{
    uint16_t random;

    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return NULL;
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < ep->ids_n; i++) {
            uint32_t at = (ep->ids_hint + i) % ep->ids_n;
            struct wf_udp_id *s = &ep->ids[at];
            if (s->call || s->peer)
                continue;
            ep->ids_hint = at + 1;
            s->id = (uint32_t)random << 16 | at;
            if (s->id == 0)
                s->id = 1u << 16; /* 0 on the wire: nobody yet */
            return s;
        }
        if (!more_ids(ep))
            return NULL;
    }
    return NULL;
}

/* ---- attention ----------------------------------------------------------- */

void wf_udp_attend(weft_peer *p)
{
    wf_ip_attend(&p->ep->attention, &p->due);
}

void wf_udp_link_break(weft_peer *p, int status, const char *fmt, ...)
{
    char text[1200];
    va_list ap;

    if (p->state == UDP_BROKEN)
        return; /* the first cause counts */
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    p->state = UDP_BROKEN;
    p->why_status = status;
    free(p->why);
    p->why = strdup(text);
    wf_udp_attend(p);
}

static void close_flow(weft_peer *p)
{
    weft_ep *ep = p->ep;
    weft_peer **at = &ep->open;
    struct wf_udp_id *s = wf_udp_id_find(ep, p->link);

    if (!p->flow.packet)
        return;
    if (s)
        s->peer = NULL;
    ep->count.lost += p->flow.packets_lost;
    while (*at != p)
        at = &(*at)->open_next;
    *at = p->open_next;
    wf_udp_flow_close(&p->flow);
}

/* End everything that belongs to the link and hand back what was lent. */
static void tear_down(weft_peer *p, int status)
{
    wf_udp_dial_end(p, NULL);
    if (p->parked)
        wf_udp_call_free(p->ep, p->parked);
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

int wf_udp_attention(weft_ep *ep)
{
    struct wf_ip_due *list = wf_ip_attention_take(&ep->attention), *due;
    int n = 0;

    while ((due = wf_ip_attention_next(&list))) {
        weft_peer *p = wf_ip_due_peer(due);
        n++;
        if (p->state == UDP_OPEN && p->resumed) {
            p->resumed = false;
            wf_udp_flow_resume(&p->flow, wf_udp_now(ep));
        }
        if (p->state == UDP_OPEN) {
            wf_udp_transmit(p, wf_udp_now(ep));
            wf_udp_flush(p);
        }
        if (p->state == UDP_BROKEN)
            report(p);
    }
    return n;
}

/* ---- up, and gone -------------------------------------------------------- */

static int open_flow(weft_peer *p, struct wf_udp_call *c)
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
    p->flow.ctx = p;
    p->flow.limit = c->room;
    p->open_next = ep->open;
    ep->open = p;
    return WEFT_OK;
}

/* From now on containers travel along the path of c. */
void wf_udp_link_up(weft_peer *p, struct wf_udp_call *c)
{
    weft_ep *ep = p->ep;
    struct wf_udp_id *s = wf_udp_id_find(ep, c->id);

    if (!s || open_flow(p, c) < 0) {
        wf_udp_link_break(p, WEFT_ENOMEM, "out of memory");
        return;
    }
    p->link = c->id;
    p->remote_link = c->remote_id;
    p->path = c->path;
    p->salt = c->salt;
    p->dialled = c->dialled;
    if (p->parked == c)
        p->parked = NULL;
    wf_udp_call_free(ep, c); /* the id lives on */
    s->peer = p;
    wf_udp_dial_end(p, NULL);
    if (p->parked)
        wf_udp_call_free(ep, p->parked);
    p->state = UDP_OPEN;
    p->met = true;
    p->said_goodbye = p->heard_goodbye = false;
    p->unreachable_since = 0;
    ep->count.connections++;
    if (WEFT_HAS(ep->host, weft_host, peer_up))
        ep->host->peer_up(ep->core, p->loc);
    wf_udp_attend(p); /* tells a sender that waits */
}

static void left(weft_peer *p)
{
    tear_down(p, WEFT_ELINK);
    p->state = UDP_LEFT;
}

/* Nobody answers to this link any more; progress() only. */
void wf_udp_gone(weft_peer *p, int status, const char *what)
{
    char who[64];
    struct wf_ip_addr at;

    if (p->state != UDP_OPEN)
        return;
    if (p->heard_goodbye && (p->said_goodbye || wf_udp_flow_idle(&p->flow)) &&
        !p->want_ready) {
        left(p);
        return;
    }
    wf_ip_from_sockaddr((struct sockaddr *)&p->path.way.to, &at);
    wf_ip_name(&at, who, sizeof who);
    wf_udp_link_break(p, status, "process %u at %s %s: %s", p->id, who,
                      status == WEFT_EPEER ? "has ended" : "broke off", what);
}

/* The kernel knows no way to the peer. It may be a cable: give it time. */
void wf_udp_unreachable(weft_peer *p, int error)
{
    uint64_t now = wf_udp_now(p->ep);

    if (p->state != UDP_OPEN)
        return;
    if (!p->unreachable_since)
        p->unreachable_since = now;
    if (now - p->unreachable_since >= p->ep->cfg.unreachable)
        wf_udp_link_break(p, WEFT_ELINK, "no way to process %u: %s", p->id,
                          strerror(error));
}

/* ---- callers -------------------------------------------------------------- */

static void park(weft_peer *p, struct wf_udp_call *c)
{
    if (p->parked)
        wf_udp_call_free(p->ep, p->parked);
    p->parked = c;
    c->peer = p;
    c->state = CALL_PARKED;
}

static void take_call(weft_ep *ep, weft_peer *p, struct wf_udp_call *c)
{
    if (p->state == UDP_OPEN && p->heard_goodbye)
        left(p); /* left, and came back */
    if (p->state == UDP_DIALLING && ep->me < p->id) {
        park(p, c);
    } else if (p->state == UDP_OPEN || p->state == UDP_BROKEN) {
        /* OPEN: he had called before he took our call, and has given up */
        wf_udp_call_free(ep, c);
    } else {
        wf_udp_link_up(p, c);
        if (p->state == UDP_OPEN)
            wf_udp_accept(ep, p);
    }
}

/* An authenticated caller. */
void wf_udp_met(weft_ep *ep, struct wf_udp_call *c, uint32_t id)
{
    if (id >= ep->peers || !ep->peer[id])
        ep->host->locate(ep->core, id);
    if (id < ep->peers && ep->peer[id]) {
        take_call(ep, ep->peer[id], c);
        return;
    }
    ep->host->log(ep->core, 2,
                  "process %u calls, but no route uses this transport for it",
                  id);
    wf_udp_reset(ep, &c->path, c->id);
    wf_udp_call_free(ep, c);
}

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
    if (!p || !(p->book = malloc(sizeof book))) {
        free(p);
        return WEFT_ENOMEM;
    }
    *p->book = book;
    p->ep = ep;
    p->loc = loc;
    p->id = loc_id;
    ep->peer[loc_id] = p;
    *out = p;
    return WEFT_OK;
}

void wf_udp_peer_free(weft_peer *p)
{
    tear_down(p, WEFT_ECANCEL);
    wf_ip_unattend(&p->ep->attention, &p->due);
    p->ep->peer[p->id] = NULL;
    free(p->book);
    free(p->why);
    free(p);
}

/* ---- parting --------------------------------------------------------------- */

/* Everything that was handed over, and the goodbye, was acknowledged; or
 * nobody is left to do so. */
static bool parted(weft_peer *p)
{
    if (p->state != UDP_OPEN)
        return true;
    if (!p->said_goodbye && !wf_udp_frame(p, UDP_GOODBYE))
        return false;
    if (!p->said_goodbye)
        wf_udp_transmit(p, wf_udp_now(p->ep));
    p->said_goodbye = true;
    if (!wf_udp_flow_idle(&p->flow))
        return p->heard_goodbye && p->flow.backoff >= FAREWELLS;
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
        if (p->state != UDP_OPEN || !at || at > now)
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
    return first;
}
