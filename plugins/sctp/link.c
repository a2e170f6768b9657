/* The link to one peer: made, accepted, broken, closed.
 *
 *            send             a call was accepted
 *   IDLE ---------> DIALLING ----------------------> OPEN ----> LEFT
 *     |                |  \                           | goodbye received, and
 *     |  a peer called |   \ all attempts failed      | the peer is gone
 *     +----------------+    +----> BROKEN <-----------+
 *
 *   OPEN    the associations are being set up; containers travel when the link
 *           is `up`.
 *   BROKEN  is decided anywhere, but only progress() tells the core: it returns
 *           all containers first, then calls peer_down.
 *
 * PARTING  The goodbye is the last container. A process that has sent it and
 * seen it acknowledged may leave. A process that still waits for the
 * acknowledgement, and learns that the peer is gone (from the kernel, or by a
 * RESET), has been heard as well. While the core has no memory for a message,
 * acknowledged messages may be unread, the goodbye among them: that a peer is
 * gone is judged after everything was read. The protocol's own shutdown is not
 * used: it would end an association whose last messages are still to be read.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sctp.h"

/* ---- attention ----------------------------------------------------------- */

void wf_sctp_attend(weft_peer *p)
{
    wf_ip_mark_due(&p->ep->attention, &p->due);
}

/* ---- down ---------------------------------------------------------------- */

void wf_sctp_link_break(weft_peer *p, int status, const char *fmt, ...)
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
    wf_sctp_attend(p);
}

static void close_associations(weft_peer *p)
{
    weft_ep *ep = p->ep;
    weft_peer **at = &ep->open;
    struct wf_ip_id *s = wf_ip_find_id(&ep->calls, p->link);

    if (!p->listed)
        return;
    p->listed = false;
    wf_ip_alive_end(&ep->watch, &p->alive);
    wf_sctp_assocs_close(p);
    wf_sctp_joints_free(&p->joints);
    if (s && s->party == &p->party)
        s->party = NULL;
    ep->count.packets_out += p->exit.packets;
    while (*at != p)
        at = &(*at)->open_next;
    *at = p->open_next;
    p->up = false;
}

/* Ends everything that belongs to the link and returns containers and sinks. */
static void tear_down(weft_peer *p, int status)
{
    wf_ip_hang_up(&p->ep->calls, &p->party);
    wf_sctp_rx_cancel(p, status);
    wf_sctp_tx_cancel(p, status);
    close_associations(p);
}

static void report_down(weft_peer *p)
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

int wf_sctp_attend_peers(weft_ep *ep)
{
    struct wf_ip_due_entry *list = wf_ip_due_list_take(&ep->attention), *due;
    int n = 0;

    while ((due = wf_ip_due_list_next(&list))) {
        weft_peer *p = wf_ip_peer_of_due(due);
        n++;
        if (p->party.state == PARTY_OPEN) {
            p->unread = UINT32_MAX;
            wf_sctp_take_arrived(p);
            wf_sctp_finish_sends(p);
        }
        if (p->party.state == PARTY_BROKEN)
            report_down(p);
    }
    return n;
}

static void mark_left(weft_peer *p)
{
    tear_down(p, WEFT_ELINK);
    p->party.state = PARTY_LEFT;
}

void wf_sctp_peer_gone(weft_peer *p, int status, const char *what)
{
    struct wf_ip_addr at;
    char where[64];
    bool waits;

    if (p->party.state != PARTY_OPEN)
        return;
    if (p->held) { /* the messages behind it may contain a goodbye */
        p->gone_status = status;
        p->gone = what;
        return;
    }
    waits = p->want_ready || p->outs > 0;
    if (p->party.leaving && !wf_sctp_rx_idle(p))
        return; /* it may leave; what it sent is still to be read */
    if (p->party.leaving && !waits &&
        (p->said_goodbye || wf_sctp_unacked_bytes(p) == 0)) {
        mark_left(p);
        return;
    }
    wf_ip_from_sockaddr((struct sockaddr *)&p->path[p->active].to.to, &at);
    wf_ip_print_address(&at, where, sizeof where);
    wf_sctp_link_break(p, status, "process %u at %s %s: %s", p->party.id, where,
                       status == WEFT_EPEER ? "has ended" : "broke off", what);
}

/* ---- up ------------------------------------------------------------------ */

static void write_head(weft_peer *p)
{
    struct wf_sctp_datagram d = {
        .type = TYPE_PACKET, .to = p->remote_link, .from = p->link};

    wf_sctp_datagram_head(&d, p->exit.head);
}

bool wf_sctp_wants_check(const weft_ep *ep, const struct wf_ip_addr *to)
{
    return ep->cfg.checksum == CHECK_ON ||
           (ep->cfg.checksum == CHECK_AUTO && !wf_ip_is_loopback(to));
}

static int open_link(weft_ep *ep, struct wf_ip_party *party,
                     const struct wf_ip_call *c)
{
    weft_peer *p = party->peer;
    int rc;

    p->link = c->id;
    p->remote_link = c->remote_id;
    p->up = p->said_goodbye = false;
    p->gone = NULL;
    memset(&p->exit, 0, sizeof p->exit);
    write_head(p);
    p->exit.to_link = p->remote_link;
    p->exit.from_link = p->link;
    wf_sctp_begin_size(p, wf_sctp_now_ns(ep));
    wf_sctp_find_paths(p, &c->path);
    p->check = wf_sctp_wants_check(ep, &c->remote);
    rc = wf_sctp_agree_on_stack(p, c);
    if (rc == WEFT_OK)
        rc = p->kernel ? wf_sctp_setup_begin(p) : wf_sctp_assocs_open(p);
    if (rc < 0)
        return rc;
    wf_ip_alive_begin(&p->alive, wf_sctp_now_ns(ep));
    p->open_next = ep->open;
    ep->open = p;
    p->listed = true;
    wf_sctp_attend(p);
    return WEFT_OK;
}

void wf_sctp_link_up(weft_peer *p)
{
    weft_ep *ep = p->ep;

    if (p->up)
        return;
    p->up = true;
    wf_ip_alive_note_answer(&p->alive, wf_sctp_now_ns(ep));
    ep->count.connections++;
    ep->count.kernel_links += p->kernel;
    ep->host->log(ep->core, 3, "link to process %u: SCTP %s", p->party.id,
                  p->kernel ? "of the kernel" : "inside UDP");
    if (WEFT_HAS(ep->host, weft_host, peer_up))
        ep->host->peer_up(ep->core, p->loc);
    wf_sctp_attend(p); /* resumes a sender that waits */
}

/* ---- callbacks of calls -------------------------------------------------- */

static void on_call_failed(struct wf_ip_party *party, int status,
                           const char *why)
{
    wf_sctp_link_break(party->peer, status, "%s", why);
}

static void on_doubted(struct wf_ip_party *party)
{
    if (!party->peer->kernel)
        wf_sctp_probe_paths(party->peer, wf_sctp_now_ns(party->peer->ep));
}

static void on_forgotten(struct wf_ip_party *party, uint32_t id)
{
    if (party->peer->remote_link == id)
        wf_sctp_peer_gone(party->peer, WEFT_ELINK,
                          "it has forgotten this link");
}

static void on_left(struct wf_ip_party *party)
{
    mark_left(party->peer);
}

static struct wf_ip_party *find_party(weft_ep *ep, uint32_t id)
{
    return id < ep->peers && ep->peer[id] ? &ep->peer[id]->party : NULL;
}

const struct wf_ip_call_ops wf_sctp_call_ops = {.say = wf_sctp_send_handshake,
                                                .up = open_link,
                                                .failed = on_call_failed,
                                                .doubted = on_doubted,
                                                .forgotten = on_forgotten,
                                                .left = on_left,
                                                .party = find_party};

/* ---- peers --------------------------------------------------------------- */

int wf_sctp_peer_add(weft_ep *ep, weft_loc *loc, uint32_t loc_id,
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

void wf_sctp_peer_free(weft_peer *p)
{
    tear_down(p, WEFT_ECANCEL);
    wf_ip_unmark_due(&p->ep->attention, &p->due);
    p->ep->peer[p->party.id] = NULL;
    free(p->party.book);
    free(p->party.why);
    free(p->why);
    free(p);
}

/* ---- parting ------------------------------------------------------------- */

/* Sends the goodbye after everything else. Returns true when all was
 * acknowledged, or the peer is gone. */
static bool try_part(weft_peer *p)
{
    if (p->party.state != PARTY_OPEN)
        return true;
    if (!p->up || p->outs > 0)
        return false;
    if (!p->said_goodbye && !wf_sctp_send_frame(p, SCTP_GOODBYE))
        return false;
    p->said_goodbye = true;
    return wf_sctp_unacked_bytes(p) == 0;
}

int wf_sctp_peer_del(weft_peer *p, int abrupt)
{
    if (!abrupt && !try_part(p))
        return WEFT_EAGAIN;
    wf_sctp_peer_free(p);
    return WEFT_OK;
}

int wf_sctp_drain(weft_ep *ep)
{
    int rc = WEFT_OK;

    for (uint32_t i = 0; i < ep->peers; i++)
        if (ep->peer[i] && !try_part(ep->peer[i]))
            rc = WEFT_EAGAIN;
    return rc;
}
