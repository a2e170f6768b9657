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
 *   any  -> BROKEN   [wf_tcp_link_break]  OPEN -> LEFT  [wf_tcp_link_eof]
 *
 *   BROKEN  is decided anywhere, but told to the core by progress() alone:
 *           every lent container is returned first, then peer_down is called.
 *
 * SIMULTANEOUS CONNECT  If a process calls while this one dials it, the side
 * with the lower loc_id parks the call until its own attempt is decided; the
 * other side takes it and drops its own. The dialler sends nothing before
 * TCP_ACCEPT, so no container ever travels on the connection that loses. A call
 * that comes when the link is already open is parked as well: either it is the
 * loser, and ends by itself, or it waits until the old connection is found
 * dead.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <linux/sockios.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "tcp.h"

/* Puts the peer on the list of those that progress() has something to do
 * for. */
void wf_tcp_attend(weft_peer *p)
{
    wf_ip_mark_due(&p->ep->attention, &p->due);
}

void wf_tcp_link_break(weft_peer *p, int status, const char *fmt, ...)
{
    char text[1200];
    va_list ap;

    if (p->state == TCP_BROKEN)
        return; /* the first cause counts */
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    p->state = TCP_BROKEN;
    p->why_status = status;
    free(p->why);
    p->why = strdup(text);
    wf_tcp_attend(p);
}

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
    if (c && p->state == TCP_BROKEN)
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
    weft_ep *ep = p->ep;
    struct wf_tcp_conn *c;

    if (p->reported)
        return;
    c = dismantle_link(p, p->why_status);
    p->reported = true;
    p->want_ready = false;
    ep->host->peer_down(ep->core, p->loc, p->why_status,
                        p->why ? p->why : "out of memory");
    if (c)
        wf_tcp_conn_close(c);
}

/* Does what was deferred because callbacks were not allowed at the time. */
int wf_tcp_attention(weft_ep *ep)
{
    struct wf_ip_due_entry *list = wf_ip_due_list_take(&ep->attention), *due;
    int n = 0;

    while ((due = wf_ip_due_list_next(&list))) {
        weft_peer *p = wf_ip_peer_of_due(due);
        n++;
        if (p->state == TCP_OPEN && p->resumed)
            wf_tcp_unpause(p);
        if (p->state == TCP_OPEN && !p->blocked)
            wf_tcp_flush(p);
        if (p->state == TCP_BROKEN)
            report_down(p);
    }
    return n;
}

/* Handles the end of the stream, or its failure with an errno. */
void wf_tcp_link_eof(weft_peer *p, int error)
{
    char who[64];

    if (p->heard_goodbye && !p->tx && !p->want_ready) {
        struct wf_tcp_conn *again = p->parked;
        p->parked = NULL;
        tear_down_link(p, WEFT_ELINK);
        p->state = TCP_LEFT;
        if (again) /* the peer has left, and called again */
            wf_tcp_link_up(p, again);
        return;
    }
    wf_ip_print_address(&p->conn->remote, who, sizeof who);
    if (p->heard_goodbye)
        wf_tcp_link_break(p, WEFT_ELINK,
                          "process %u at %s has left while data was being "
                          "sent to it",
                          p->id, who);
    else if (error && error != ECONNRESET && error != EPIPE)
        wf_tcp_link_break(p, WEFT_ELINK, "connection to process %u at %s: %s",
                          p->id, who, strerror(error));
    else
        wf_tcp_link_break(p, WEFT_ELINK,
                          "connection to process %u at %s closed by peer%s",
                          p->id, who, error ? " (reset)" : "");
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
    p->was_connected = true;
    p->state = TCP_OPEN;
    p->said_goodbye = p->heard_goodbye = false;
    wf_tcp_alive_begin(p);
    ep->count.connections++;
    wf_tcp_update_interest(p);
    if (!c->dialled) {
        wf_tcp_conn_tune(c);
        if (wf_tcp_send_frame(p, TCP_ACCEPT) < 0) {
            wf_tcp_link_break(p, WEFT_ENOMEM, "out of memory");
            return;
        }
        wf_tcp_attend(p);
    }
    if (WEFT_HAS(ep->host, weft_host, peer_up))
        ep->host->peer_up(ep->core, p->loc);
    wf_tcp_attend(p); /* progress() tells a sender that waits */
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
    if (p->state == TCP_DIALLING && p->ep->me < p->id)
        park_call(p, c);
    else if (p->state == TCP_OPEN)
        /* Either the peer had called before it took this side's call, and has
         * closed its own already; or the old connection is dead, which was not
         * noticed here yet. */
        park_call(p, c);
    else if (p->state == TCP_BROKEN)
        wf_tcp_conn_close(c); /* it calls again, when the core is ready */
    else
        wf_tcp_link_up(p, c);
}

/* Takes the call of an authenticated process. */
void wf_tcp_take_caller(struct wf_tcp_conn *c, uint32_t id)
{
    weft_ep *ep = c->ep;
    int rc = WEFT_OK;

    if (id >= ep->peers || !ep->peer[id])
        rc = ep->host->locate(ep->core, id);
    if (id < ep->peers && ep->peer[id]) {
        take_call(ep->peer[id], c);
        return;
    }
    ep->host->log(ep->core, 2,
                  rc == WEFT_ENOMEM
                      ? "no memory for the call of process %u"
                      : "process %u calls, but no route uses this "
                        "transport for it",
                  id);
    if (rc == WEFT_ENOMEM)
        wf_tcp_send_shortage(c->fd, TCP_NO_MEMORY);
    wf_tcp_conn_close(c);
}

int wf_tcp_peer_add(weft_ep *ep, weft_loc *loc, uint32_t loc_id,
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
    if (!p || !(p->book = malloc(sizeof book))) {
        free(p);
        return WEFT_ENOMEM;
    }
    *p->book = book;
    p->ep = ep;
    p->loc = loc;
    p->id = loc_id;
    p->window = TCP_RBUF;
    ep->peer[loc_id] = p;
    *out = p;
    return WEFT_OK;
}

void wf_tcp_peer_free(weft_peer *p)
{
    tear_down_link(p, WEFT_ECANCEL);
    wf_ip_unmark_due(&p->ep->attention, &p->due);
    p->ep->peer[p->id] = NULL;
    free(p->book);
    free(p->stage);
    free(p->why);
    free(p);
}

/* Says goodbye, and says whether that and all containers are in the peer's
 * kernel. Then closing loses nothing, even if it is answered by a reset. */
static bool has_parted(weft_peer *p)
{
    int unacked = 0;

    if (p->state != TCP_OPEN)
        return true;
    if (p->tx || (!p->said_goodbye && wf_tcp_send_frame(p, TCP_GOODBYE) < 0))
        return false;
    p->said_goodbye = true;
    if (!wf_tcp_tx_idle(p))
        return false;
    return ioctl(p->conn->fd, SIOCOUTQ, &unacked) < 0 || unacked == 0;
}

int wf_tcp_peer_del(weft_peer *p, int abrupt)
{
    weft_ep *ep = p->ep;
    if (!abrupt && !has_parted(p))
        return WEFT_EAGAIN;
    if (abrupt && p->conn && !ep->draining)
        reset_on_close(p->conn);
    wf_tcp_peer_free(p);
    wf_tcp_conn_free_dead(ep);
    return WEFT_OK;
}

int wf_tcp_drain(weft_ep *ep)
{
    int rc = WEFT_OK;
    for (uint32_t i = 0; i < ep->peers; i++)
        if (ep->peer[i] && !has_parted(ep->peer[i]))
            rc = WEFT_EAGAIN;
    return rc;
}
