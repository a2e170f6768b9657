/* loop - the smallest complete Weft transport: a process talks to itself.
 *
 * It shows the required operations and the two promises of a sender that is
 * full: OK means tx_done later, EAGAIN means tx_ready later.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "weft_transport.h"

#include <stdlib.h>
#include <string.h>

struct config {
    int64_t depth;
};

static const weft_option options[] = {
    {"depth", WEFT_OPT_INT, offsetof(struct config, depth), "64", "1..65536",
     "containers in flight"},
    {0}};

struct weft_peer {
    weft_ep *ep;
    weft_loc *loc;
    int want; /* the core waits for tx_ready */
};

struct weft_ep {
    const weft_host *host;
    weft_core *core;
    uint32_t id;
    int64_t room;
    weft_peer *peer;
    weft_tx *head, **tail; /* linked through priv[0] */
};

static int open_endpoint(const weft_open *o, weft_ep **out)
{
    weft_ep *e = calloc(1, sizeof *e);

    if (!e)
        return WEFT_ENOMEM;
    e->host = o->host;
    e->core = o->core;
    e->id = o->loc_id;
    e->room = ((const struct config *)o->cfg)->depth;
    e->tail = &e->head;
    *out = e;
    return WEFT_OK;
}

static void close_endpoint(weft_ep *e)
{
    free(e);
}

static int fill_attr(weft_ep *e, weft_attr *a)
{
    (void)e;
    a->caps = WEFT_CAP_SELF;
    a->max_eager = 65536;
    a->max_payload = UINT32_MAX;
    a->cost = (weft_cost){sizeof(weft_cost), 60, 10, 20000};
    return WEFT_OK;
}

static int copy_address(weft_ep *e, void *buf, size_t *len)
{
    if (*len < sizeof e->id)
        return WEFT_EINVAL;
    memcpy(buf, &e->id, *len = sizeof e->id);
    return WEFT_OK;
}

static int check_reach(weft_ep *e, const void *addr, size_t len,
                       weft_cost *cost)
{
    (void)cost; /* as in fill_attr() */
    return len == sizeof e->id && memcmp(addr, &e->id, len) == 0
               ? WEFT_OK
               : WEFT_EUNREACH;
}

static int peer_add(weft_ep *e, weft_loc *loc, uint32_t id, const void *addr,
                    size_t len, weft_peer **out)
{
    weft_peer *p;

    (void)addr, (void)len;
    if (id != e->id || e->peer)
        return WEFT_EINVAL;
    p = calloc(1, sizeof *p);
    if (!p)
        return WEFT_ENOMEM;
    p->ep = e;
    p->loc = loc;
    *out = e->peer = p;
    e->host->peer_up(e->core, loc);
    return WEFT_OK;
}

static weft_tx *take_first(weft_ep *e)
{
    weft_tx *t = e->head;

    e->head = (weft_tx *)(uintptr_t)t->priv[0];
    if (!e->head)
        e->tail = &e->head;
    e->room++;
    return t;
}

static int peer_del(weft_peer *p, int abrupt)
{
    weft_ep *e = p->ep;

    if (e->head && !abrupt)
        return WEFT_EAGAIN;
    while (e->head) /* everything lent goes back first */
        e->host->tx_done(e->core, take_first(e), WEFT_ECANCEL);
    e->peer = NULL;
    free(p);
    return WEFT_OK;
}

static int send_container(weft_peer *p, weft_tx *t)
{
    weft_ep *e = p->ep;

    if (!e->room) {
        p->want = 1;
        return WEFT_EAGAIN; /* a promise: tx_ready later */
    }
    e->room--;
    t->priv[0] = 0;
    *e->tail = t;
    e->tail = (weft_tx **)(void *)&t->priv[0];
    return WEFT_OK; /* a promise: tx_done later */
}

/* From the sender's segments into the receiver's. */
static void copy_payload(weft_tx *t, weft_sink *s)
{
    struct iovec from, to;
    size_t n;

    for (uint64_t off = 0; off < s->len; off += n) {
        if (t->seg(t, off, &from, 1) < 1 || s->seg(s, off, &to, 1) < 1)
            return;
        n = from.iov_len < to.iov_len ? from.iov_len : to.iov_len;
        memcpy(to.iov_base, from.iov_base, n);
    }
}

#ifdef REORDER /* of so many containers the first goes behind the second */
static void swap_first(weft_ep *e)
{
    static unsigned count;
    weft_tx *first = e->head, *second;

    if (++count % REORDER || !(second = (weft_tx *)(uintptr_t)first->priv[0]))
        return;
    first->priv[0] = second->priv[0];
    second->priv[0] = (uintptr_t)first;
    e->head = second;
    if (!first->priv[0])
        e->tail = (weft_tx **)(void *)&first->priv[0];
}
#else
#define swap_first(e) ((void)0)
#endif

static int deliver_containers(weft_ep *e, int budget)
{
    int n = 0;

    while (e->head && n < budget) {
        swap_first(e);
        weft_tx *t = e->head;
        weft_sink *s = NULL;
        /* stage 1: the header alone; nothing of the payload is held */
        int r = e->host->rx(e->core, e->peer->loc, t->hdr, NULL, 0, &s);
        if (r == WEFT_EAGAIN)
            break;
        if (r == WEFT_OK) { /* stage 2 */
            copy_payload(t, s);
            e->host->rx_done(e->core, s, WEFT_OK);
        }
        e->host->tx_done(e->core, take_first(e), WEFT_OK);
        n++;
        if (e->peer->want) {
            e->peer->want = 0;
            e->host->tx_ready(e->core, e->peer->loc);
        }
    }
    return n;
}

static int is_drained(weft_ep *e)
{
    return e->head ? WEFT_EAGAIN : WEFT_OK;
}

static void rx_resume(weft_peer *p)
{
    (void)p; /* deliver_containers() tries again by itself */
}

static const weft_ops ops = {.size = sizeof ops,
                             .open = open_endpoint,
                             .close = close_endpoint,
                             .attr = fill_attr,
                             .address = copy_address,
                             .reach = check_reach,
                             .peer_add = peer_add,
                             .peer_del = peer_del,
                             .send = send_container,
                             .progress = deliver_containers,
                             .drain = is_drained,
                             .rx_resume = rx_resume};

WEFT_PLUGIN(loop, "1.0", "a process talks to itself", options, struct config,
            &ops);
