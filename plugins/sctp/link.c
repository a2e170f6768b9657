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
#include <stdlib.h>
#include <string.h>

#include "sctp.h"

/* ---- down ---------------------------------------------------------------- */

static void close_associations(weft_peer *p)
{
    weft_ep *ep = p->ep;
    weft_peer **at = &ep->open;

    if (!p->listed)
        return;
    p->listed = false;
    wf_ip_alive_end(&ep->watch, &p->alive);
    wf_sctp_assocs_close(p);
    wf_sctp_joints_free(&p->joints);
    wf_ip_release_id(&ep->calls, p->link, &p->party);
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

static void serve_peer(weft_peer *p)
{
    if (p->ip.state == PEER_OPEN) {
        p->unread = UINT32_MAX;
        wf_sctp_take_arrived(p);
        wf_sctp_finish_sends(p);
    }
    if (wf_ip_is_report_due(&p->ip)) {
        tear_down(p, p->ip.why_status);
        wf_ip_report_down(&p->ip);
    }
}

static void mark_left(weft_peer *p)
{
    tear_down(p, WEFT_ELINK);
    p->ip.state = PEER_LEFT;
}

void wf_sctp_peer_gone(weft_peer *p, int status, const char *what)
{
    bool waits;

    if (p->ip.state != PEER_OPEN)
        return;
    if (p->held) { /* the messages behind it may contain a goodbye */
        p->gone_status = status;
        p->gone = what;
        return;
    }
    waits = p->ip.want_ready || p->outs > 0;
    if (p->ip.leaving && !wf_sctp_rx_idle(p))
        return; /* it may leave; what it sent is still to be read */
    if (p->ip.leaving && !waits &&
        (p->ip.said_goodbye || wf_sctp_unacked_bytes(p) == 0)) {
        mark_left(p);
        return;
    }
    wf_ip_break_gone(&p->ip, &p->path[p->active].to.to, status, what);
}

/* ---- up ------------------------------------------------------------------ */

static void write_head(weft_peer *p)
{
    struct wf_sctp_datagram d = {
        .type = TYPE_PACKET, .to = p->remote_link, .from = p->link};

    wf_sctp_datagram_head(&d, p->exit.head);
}

static int open_link(weft_ep *ep, struct wf_ip_party *party,
                     const struct wf_ip_call *c)
{
    weft_peer *p = party->peer;
    int rc;

    p->link = c->id;
    p->remote_link = c->remote_id;
    p->up = p->ip.said_goodbye = false;
    p->gone = NULL;
    memset(&p->exit, 0, sizeof p->exit);
    write_head(p);
    p->exit.to_link = p->remote_link;
    p->exit.from_link = p->link;
    wf_sctp_begin_size(p, wf_sctp_now_ns(ep));
    wf_sctp_find_paths(p, &c->path);
    p->check = wf_ip_wants_checksum(ep->cfg.checksum, &c->remote);
    rc = wf_sctp_agree_on_stack(p, c);
    if (rc == WEFT_OK)
        rc = p->kernel ? wf_sctp_setup_begin(p) : wf_sctp_assocs_open(p);
    if (rc < 0)
        return rc;
    wf_ip_alive_begin(&p->alive, wf_sctp_now_ns(ep));
    p->open_next = ep->open;
    ep->open = p;
    p->listed = true;
    wf_ip_mark_due(&p->ip);
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
    ep->ip.host->log(ep->ip.core, 3, "link to process %u: SCTP %s", p->ip.id,
                     p->kernel ? "of the kernel" : "inside UDP");
    if (WEFT_HAS(ep->ip.host, weft_host, peer_up))
        ep->ip.host->peer_up(ep->ip.core, p->ip.loc);
    wf_ip_mark_due(&p->ip); /* resumes a sender that waits */
}

/* ---- callbacks of calls -------------------------------------------------- */

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
    return id < ep->ip.peers && ep->ip.peer[id] ? &ep->ip.peer[id]->party
                                                : NULL;
}

const struct wf_ip_call_ops wf_sctp_call_ops = {.say = wf_sctp_send_handshake,
                                                .up = open_link,
                                                .failed = wf_ip_break_party,
                                                .doubted = on_doubted,
                                                .forgotten = on_forgotten,
                                                .left = on_left,
                                                .party = find_party};

/* ---- parting ------------------------------------------------------------- */

/* Sends the goodbye after everything else. Returns true when all was
 * acknowledged, or the peer is gone. */
static bool try_part(weft_peer *p)
{
    if (p->ip.state != PEER_OPEN)
        return true;
    if (!p->up || p->outs > 0)
        return false;
    if (!p->ip.said_goodbye && !wf_sctp_send_frame(p, SCTP_GOODBYE))
        return false;
    p->ip.said_goodbye = true;
    return wf_sctp_unacked_bytes(p) == 0;
}

/* ---- the functions for ip/peer.c ----------------------------------------- */

static void init_peer(weft_ep *ep, weft_peer *p)
{
    p->ep = ep;
    p->party = (struct wf_ip_party){.peer = p, .ip = &p->ip};
}

static void free_peer(weft_peer *p)
{
    tear_down(p, WEFT_ECANCEL);
    free(p->party.why);
    wf_ip_free_peer(&p->ip);
}

const struct wf_ip_transport wf_sctp_transport = {.costs = WF_SCTP_COSTS,
                                                  .peer_bytes =
                                                      sizeof(weft_peer),
                                                  .init_peer = init_peer,
                                                  .free_peer = free_peer,
                                                  .serve_peer = serve_peer,
                                                  .has_parted = try_part};
