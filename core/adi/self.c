/* self: the transport of a process to itself, which copies straight from the
 * sender's memory to the receiver's (McMPI 3.2.6). send() delivers before it
 * returns: there is no queue, no copy in between and nothing to poll.
 *
 * Only a message for which the core has no memory has to wait; it is in a FIFO
 * until progress() can deliver it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "weft_transport.h"

enum { PIECE = 8192 }; /* between two layouts: stays in the first-level cache */

struct self_config {
    int unused;
};

struct weft_ep {
    const weft_host *host;
    weft_core *core;
    uint32_t id;
    weft_peer *peer;
    weft_tx *head, **tail; /* linked through priv[0] */
    int want;              /* a send was refused: tx_ready is due */
};

struct weft_peer {
    weft_ep *ep;
    weft_loc *loc;
};

static int self_open(const weft_open *o, weft_ep **out)
{
    weft_ep *e = calloc(1, sizeof *e);

    if (!e)
        return WEFT_ENOMEM;
    e->host = o->host;
    e->core = o->core;
    e->id = o->loc_id;
    e->tail = &e->head;
    *out = e;
    return WEFT_OK;
}

static void self_close(weft_ep *e)
{
    free(e->peer);
    free(e);
}

static int self_attr(weft_ep *e, weft_attr *a)
{
    (void)e;
    a->caps = WEFT_CAP_SELF;
    a->max_short = UINT32_MAX;
    a->max_eager = 16384;
    a->max_payload = UINT32_MAX;
    a->cost = (weft_cost){sizeof(weft_cost), 30, 10, 20000};
    return WEFT_OK;
}

static int self_address(weft_ep *e, void *buf, size_t *len)
{
    if (*len < sizeof e->id)
        return WEFT_EINVAL;
    memcpy(buf, &e->id, *len = sizeof e->id);
    return WEFT_OK;
}

static int self_reach(weft_ep *e, const void *addr, size_t len, weft_cost *c)
{
    (void)c;
    return len == sizeof e->id && memcmp(addr, &e->id, len) == 0
               ? WEFT_OK
               : WEFT_EUNREACH;
}

static int self_peer_add(weft_ep *e, weft_loc *loc, uint32_t id,
                         const void *addr, size_t len, weft_peer **out)
{
    (void)addr, (void)len;
    if (id != e->id)
        return WEFT_EUNREACH;
    e->peer = calloc(1, sizeof *e->peer);
    if (!e->peer)
        return WEFT_ENOMEM;
    e->peer->ep = e;
    e->peer->loc = loc;
    *out = e->peer;
    e->host->peer_up(e->core, loc);
    return WEFT_OK;
}

static int self_peer_del(weft_peer *p, int abrupt)
{
    weft_ep *e = p->ep;

    while (abrupt && e->head) {
        weft_tx *t = e->head;
        e->head = (weft_tx *)(uintptr_t)t->priv[0];
        e->host->tx_done(e->core, t, WEFT_ECANCEL);
    }
    if (!e->head)
        e->tail = &e->head;
    return e->head ? WEFT_EAGAIN : WEFT_OK;
}

/* Copy from or to a layout of small segments, a piece at a time. */
static void copy_pieces(weft_tx *t, weft_sink *s)
{
    char piece[PIECE];
    struct iovec v;

    for (uint64_t off = 0, n; off < s->len; off += n) {
        n = s->len - off < PIECE ? s->len - off : PIECE;
        if (s->one.iov_len >= s->len) {
            n = s->len;
            t->copy(t, off, s->one.iov_base, n);
        } else if (t->copy && s->fill) {
            t->copy(t, off, piece, n);
            s->fill(s, off, piece, n);
        } else if (t->copy ? s->seg(s, off, &v, 1) < 1
                           : t->seg(t, off, &v, 1) < 1) {
            return;
        } else {
            n = v.iov_len < s->len - off ? v.iov_len : s->len - off;
            if (t->copy)
                t->copy(t, off, v.iov_base, n);
            else
                s->fill(s, off, v.iov_base, n);
        }
    }
}

/* Copy the payload from the sender's layout into the receiver's. */
static void copy_payload(weft_tx *t, weft_sink *s)
{
    struct iovec from, to;

    if (t->copy || s->fill) {
        copy_pieces(t, s);
        return;
    }
    for (uint64_t off = 0; off < s->len;) {
        size_t n;
        if (s->seg(s, off, &to, 1) < 1 || t->seg(t, off, &from, 1) < 1)
            return;
        n = to.iov_len < from.iov_len ? to.iov_len : from.iov_len;
        memcpy(to.iov_base, from.iov_base, n);
        off += n;
    }
}

/* Deliver a message; false: the core answered WEFT_EAGAIN and took nothing. */
static int deliver_tx(weft_peer *p, weft_tx *t)
{
    weft_ep *e = p->ep;
    weft_sink *sink = NULL;
    const void *data = t->one.iov_base;
    size_t have = data ? t->len : 0;
    int r = e->host->rx(e->core, p->loc, t->hdr, data, have, &sink);

    if (r == WEFT_EAGAIN)
        return 0;
    if (r == WEFT_OK) {
        copy_payload(t, sink);
        e->host->rx_done(e->core, sink, WEFT_OK);
    }
    return 1;
}

static int self_send(weft_peer *p, weft_tx *t)
{
    weft_ep *e = p->ep;

    if (!e->head && deliver_tx(p, t))
        return WEFT_DONE;
    t->priv[0] = 0;
    *e->tail = t;
    e->tail = (weft_tx **)(void *)&t->priv[0];
    return WEFT_OK;
}

static int self_send_short(weft_peer *p, const weft_hdr *h, const void *data,
                           size_t len, unsigned flags)
{
    weft_ep *e = p->ep;
    weft_sink *sink = NULL;

    int r = WEFT_EAGAIN;

    (void)flags;
    if (!e->head)
        r = e->host->rx(e->core, p->loc, h, data, len, &sink);
    if (r == WEFT_OK) /* the core had all data, and gave a sink nevertheless */
        e->host->rx_done(e->core, sink, WEFT_OK);
    e->want |= r == WEFT_EAGAIN;
    return r == WEFT_EAGAIN ? WEFT_EAGAIN : WEFT_DONE;
}

static int self_send_words(const void *data, uint64_t h0, weft_peer *p,
                           uint64_t h1, uint64_t h2)
{
    weft_ep *e = p->ep;

    if (!e->head &&
        e->host->rx_words(e->core, p->loc, h0, h1, h2, data) == WEFT_DONE)
        return WEFT_OK;
    e->want = 1;
    return e->host->tx_words(e->core, p->loc, h0, h1, h2, data);
}

static int self_progress(weft_ep *e, int budget)
{
    int n = 0;

    while (e->head && n < budget) {
        weft_tx *t = e->head;
        if (!deliver_tx(e->peer, t))
            break;
        e->head = (weft_tx *)(uintptr_t)t->priv[0];
        if (!e->head)
            e->tail = &e->head;
        e->host->tx_done(e->core, t, WEFT_OK);
        n++;
    }
    if (e->want && !e->head) {
        e->want = 0;
        n++;
        e->host->tx_ready(e->core, e->peer->loc);
    }
    return n;
}

static int self_drain(weft_ep *e)
{
    return e->head ? WEFT_EAGAIN : WEFT_OK;
}

static void self_rx_resume(weft_peer *p)
{
    (void)p; /* progress() tries again by itself */
}

static int self_reserve(weft_peer *p, uint32_t messages, uint64_t bytes)
{
    (void)p, (void)messages, (void)bytes; /* they are delivered at once */
    return WEFT_OK;
}

static const weft_ops ops = {.size = sizeof ops,
                             .open = self_open,
                             .close = self_close,
                             .attr = self_attr,
                             .address = self_address,
                             .reach = self_reach,
                             .peer_add = self_peer_add,
                             .peer_del = self_peer_del,
                             .send = self_send,
                             .progress = self_progress,
                             .drain = self_drain,
                             .send_short = self_send_short,
                             .rx_resume = self_rx_resume,
                             .send_words = self_send_words,
                             .reserve = self_reserve};

static const weft_option options[] = {{0}};

WEFT_PLUGIN(self, "1.0", "delivery inside the process", options,
            struct self_config, &ops);
