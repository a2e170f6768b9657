/* The link to one peer, from the first call to its end.
 *
 *            send             first candidate accepted
 *   IDLE ---------> DIALLING -------------------------> OPEN ----> LEFT
 *     |                |  \                              | goodbye heard,
 *     | caller proven  |   \ all candidates failed       | then end of stream
 *     +----------------+    +----> BROKEN <--------------+
 *        (OPEN at once)            error, end of stream without goodbye
 *
 *   IDLE -> DIALLING [wf_tcp_dial]        any -> OPEN   [wf_tcp_link_up]
 *   any  -> BROKEN   [wf_ip_break_link]  OPEN -> LEFT  [wf_tcp_link_eof]
 *
 *   BROKEN  is decided anywhere, but told to the core by progress() alone:
 *           every lent container is returned first, then peer_down is called.
 *
 * SIMULTANEOUS CONNECT  If a process calls while this one dials it, the side
 * whose call stands (weft_host.call_stands) parks the call until its own
 * attempt is decided; the other side takes it and drops its own. The dialler
 * sends nothing before TCP_ACCEPT, so no container ever travels on the
 * connection that loses. A call that comes when the link is already open is
 * parked as well: either it is the loser, and ends by itself, or it waits until
 * the old connection is found dead.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "tcp.h"

/* Makes a broken connection end with a reset. Otherwise the kernel goes on with
 * the unsent data and answers keepalives for a quarter of an hour, and a peer
 * that receives these waits for messages that will not come. */
static void reset_on_close(struct wf_tcp_conn *c)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};

    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

/* Ends everything that belongs to the link, and returns what the core has lent.
 * Returns the connection, which the caller has to close, or NULL. */
static struct wf_tcp_conn *dismantle_link(weft_peer *p, int status)
{
    weft_ep *ep = p->ep;
    struct wf_tcp_conn *c = p->conn;

    if (p->conn)
        wf_tcp_alive_end(p);
    wf_tcp_dial_forget(p);
    if (p->parked)
        wf_tcp_conn_close(p->parked);
    if (c && p->ip.state == PEER_BROKEN)
        reset_on_close(c);
    if (c)
        c->peer = NULL;
    p->conn = NULL;
    p->polled = false;
    if (ep->hot == p)
        ep->hot = NULL;
    wf_tcp_rx_cancel(p, status);
    wf_tcp_tx_cancel(p, status);
    return c;
}

static void tear_down_link(weft_peer *p, int status)
{
    struct wf_tcp_conn *c = dismantle_link(p, status);

    if (c)
        wf_tcp_conn_close(c);
}

/* Reports a broken link to the core. The connection is closed last: so the peer
 * learns of the end after the core, which may know a cause to report that the
 * peer does not know. */
static void report_down(weft_peer *p)
{
    struct wf_tcp_conn *c = dismantle_link(p, p->ip.why_status);

    wf_ip_report_down(&p->ip);
    if (c)
        wf_tcp_conn_close(c);
}

/* Does what was deferred because callbacks were not allowed at the time. */
static void serve_peer(weft_peer *p)
{
    if (p->ip.state == PEER_OPEN && p->resumed)
        wf_tcp_unpause(p);
    if (p->ip.state == PEER_OPEN && !p->blocked)
        wf_tcp_flush(p);
    if (wf_ip_is_report_due(&p->ip))
        report_down(p);
}

/* Handles the end of the stream, or its failure with an errno. */
void wf_tcp_link_eof(weft_peer *p, int error)
{
    char who[64];

    if (p->ip.leaving && !p->tx && !p->ip.want_ready) {
        struct wf_tcp_conn *again = p->parked;
        p->parked = NULL;
        tear_down_link(p, WEFT_ELINK);
        p->ip.state = PEER_LEFT;
        if (again) /* the peer has left, and called again */
            wf_tcp_link_up(p, again);
        return;
    }
    wf_ip_print_address(&p->conn->remote, who, sizeof who);
    if (p->ip.leaving)
        wf_ip_break_link(&p->ip, WEFT_ELINK,
                         "process %u at %s has left while data was being "
                         "sent to it",
                         p->ip.id, who);
    else if (error && error != ECONNRESET && error != EPIPE)
        wf_ip_break_link(&p->ip, WEFT_ELINK,
                         "connection to process %u at %s: %s", p->ip.id, who,
                         strerror(error));
    else
        wf_ip_break_link(&p->ip, WEFT_ELINK,
                         "connection to process %u at %s closed by peer%s",
                         p->ip.id, who, error ? " (reset)" : "");
}

/* Makes c the connection that carries the containers. */
void wf_tcp_link_up(weft_peer *p, struct wf_tcp_conn *c)
{
    weft_ep *ep = p->ep;

    wf_tcp_conn_settle(c, p);
    wf_tcp_dial_forget(p);
    if (p->parked && p->parked != c)
        wf_tcp_conn_close(p->parked);
    p->parked = NULL;
    p->conn = c;
    p->ip.was_connected = true;
    p->ip.state = PEER_OPEN;
    p->ip.said_goodbye = p->ip.leaving = false;
    wf_tcp_alive_begin(p);
    ep->count.connections++;
    wf_tcp_update_interest(p);
    if (!c->dialled) {
        wf_tcp_conn_tune(c);
        if (wf_tcp_send_frame(p, TCP_ACCEPT) < 0) {
            wf_ip_break_link(&p->ip, WEFT_ENOMEM, "out of memory");
            return;
        }
        wf_ip_mark_due(&p->ip);
    }
    if (WEFT_HAS(ep->ip.host, weft_host, peer_up))
        ep->ip.host->peer_up(ep->ip.core, p->ip.loc);
    wf_ip_mark_due(&p->ip); /* progress() tells a sender that waits */
}

/* Keeps a call waiting. The caller sends nothing until it is answered. */
static void park_call(weft_peer *p, struct wf_tcp_conn *c)
{
    if (p->parked)
        wf_tcp_conn_close(p->parked);
    p->parked = c;
    c->peer = p;
}

static void take_call(weft_peer *p, struct wf_tcp_conn *c)
{
    const struct wf_ip_endpoint *here = &p->ep->ip;

    if (p->ip.state == PEER_DIALLING &&
        wf_ip_call_stands(here->host, here->core, here->me, &p->ip))
        park_call(p, c);
    else if (p->ip.state == PEER_OPEN)
        /* Either the peer had called before it took this side's call, and has
         * closed its own already; or the old connection is dead, which was not
         * noticed here yet. */
        park_call(p, c);
    else if (p->ip.state == PEER_BROKEN)
        wf_tcp_conn_close(c); /* it calls again, when the core is ready */
    else
        wf_tcp_link_up(p, c);
}

/* Takes the call of an authenticated process. */
void wf_tcp_take_caller(struct wf_tcp_conn *c, uint32_t id)
{
    weft_ep *ep = c->ep;
    int rc = WEFT_OK;

    if (id >= ep->ip.peers || !ep->ip.peer[id])
        rc = ep->ip.host->locate(ep->ip.core, id);
    if (id < ep->ip.peers && ep->ip.peer[id]) {
        take_call(ep->ip.peer[id], c);
        return;
    }
    ep->ip.host->log(ep->ip.core, 2,
                     rc == WEFT_ENOMEM
                         ? "no memory for the call of process %u"
                         : "process %u calls, but no route uses this "
                           "transport for it",
                     id);
    if (rc == WEFT_ENOMEM)
        wf_tcp_send_shortage(c->fd, TCP_NO_MEMORY);
    wf_tcp_conn_close(c);
}

/* Says goodbye, and says whether that and all containers are in the peer's
 * kernel. Then closing loses nothing, even if it is answered by a reset. */
static bool has_parted(weft_peer *p)
{
    int unacked = 0;

    if (p->ip.state != PEER_OPEN)
        return true;
    if (p->tx || (!p->ip.said_goodbye && wf_tcp_send_frame(p, TCP_GOODBYE) < 0))
        return false;
    p->ip.said_goodbye = true;
    if (!wf_tcp_tx_idle(p))
        return false;
    return ioctl(p->conn->fd, SIOCOUTQ, &unacked) < 0 || unacked == 0;
}

int wf_tcp_peer_del(weft_peer *p, int abrupt)
{
    weft_ep *ep = p->ep;
    int rc;

    if (abrupt && p->conn && !ep->draining)
        reset_on_close(p->conn);
    rc = wf_ip_peer_del(p, abrupt);
    if (rc == WEFT_OK)
        wf_tcp_conn_free_dead(ep);
    return rc;
}

/* ---- the functions for ip/peer.c ----------------------------------------- */

static void init_peer(weft_ep *ep, weft_peer *p)
{
    p->ep = ep;
    p->window = TCP_RBUF;
}

static void free_peer(weft_peer *p)
{
    tear_down_link(p, WEFT_ECANCEL);
    free(p->stage);
    wf_ip_free_peer(&p->ip);
}

const struct wf_ip_transport wf_tcp_transport = {.costs = WF_TCP_COSTS,
                                                 .peer_bytes =
                                                     sizeof(weft_peer),
                                                 .init_peer = init_peer,
                                                 .free_peer = free_peer,
                                                 .serve_peer = serve_peer,
                                                 .has_parted = has_parted};
