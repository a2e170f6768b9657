/* A container on its way: it arrives in pieces, damaged, twice, or where there
 * is no memory for it, as the seed says. See fabric.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sim/fabric_inside.h"

#include <stdlib.h>

/* The receiver's view of the sender, made if the sender calls first. */
static weft_loc *view_of(weft_ep *to, uint32_t from)
{
    if (!to->peers[from])
        to->host->locate(to->core, sim_number_of(from, to->id));
    return to->peers[from]->loc;
}

static void retire_message(weft_peer *p, struct parcel *c)
{
    struct parcel **at = &p->head;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    if (!*at)
        p->tail = at;
    p->queued--;
    if (c->tx)
        p->ep->host->tx_done(p->ep->core, c->tx, WEFT_OK);
    free(c);
    if (!p->told_to_wait)
        return;
    p->told_to_wait = false;
    p->ep->host->tx_ready(p->ep->core, p->loc);
}

/* Tell the model of its messages. An ordered pair has taken those up to where
 * it counts on; it begins with 1. */
static uint32_t count_taken(weft_ep *to, uint32_t from)
{
    weft_peer *q = to->peers[from];

    return q && q->loc->order ? q->loc->order->expect : 1;
}

static void tell_peer(weft_ep *to, uint32_t from, const weft_hdr *hdr,
                 uint32_t before)
{
    if (!world.options.arrived)
        return;
    if (!world.options.failover && sim_initial(hdr))
        world.options.arrived(world.options.arg, from, to->id);
    if (world.options.failover)
        for (uint32_t n = before; n != count_taken(to, from); n++)
            if (world.initial[from][to->id][n % SIM_NUMBERS])
                world.options.arrived(world.options.arg, from, to->id);
}

static void land_message(weft_ep *to, weft_peer *p, struct parcel *c)
{
    uint64_t left = c->sink->len - c->offset;
    uint64_t n = 1 + sim_random(world.sim, 5000);
    struct iovec v;
    weft_sink *sink;
    uint32_t before;

    n = n < left ? n : left;
    while (n) {
        if (c->sink->seg(c->sink, c->offset, &v, 1) != 1)
            abort();
        if (v.iov_len > n)
            v.iov_len = n;
        memcpy(v.iov_base, c->data + c->offset, v.iov_len);
        c->offset += v.iov_len;
        n -= v.iov_len;
    }
    if (c->offset < c->sink->len)
        return;
    sink = c->sink;
    c->sink = NULL;
    before = count_taken(to, p->ep->id);
    to->host->rx_done(to->core, sink, WEFT_OK);
    if (world.options.failover)
        tell_peer(to, p->ep->id, &c->hdr, before);
    retire_message(p, c);
}

/* One byte changes, of the header or of the payload; not of the length, which
 * a stream would misread. */
static void corrupt_bytes(struct parcel *c)
{
    size_t n = WEFT_HDR + c->len, at = sim_random(world.sim, (unsigned)n);
    uint8_t *byte = at < WEFT_HDR ? (uint8_t *)&c->hdr + at
                                  : c->data + (at - WEFT_HDR);

    if (at < 1 || at >= 8)
        *byte ^= (uint8_t)(1 + sim_random(world.sim, 255));
}

/* The receiver's end of the sender's connection. False: it has another one, of
 * which it will hear first. */
static bool connect_both(weft_ep *to, weft_peer *p)
{
    weft_peer *q = to->peers[p->ep->id];

    if (!q->connection)
        q->connection = p->connection;
    if (q->connection == p->connection && !q->dead)
        return true;
    if (!q->notice && !q->dead)
        sim_sever(q, WEFT_ELINK);
    return false;
}

/* A late copy, as of a connection that was given up. */
static void deliver_again(weft_ep *to, weft_loc *from, struct parcel *c)
{
    weft_sink *sink = NULL;

    if (to->host->rx(to->core, from, &c->hdr, c->data, c->len, &sink) ==
        WEFT_OK)
        abort();
}

static void offer_message(weft_ep *to, weft_peer *p, struct parcel *c)
{
    weft_loc *from = view_of(to, p->ep->id);
    size_t have = c->len;
    uint32_t before;
    int r;

    if (world.options.failover && !connect_both(to, p))
        return;
    if (world.options.corrupt && sim_random(world.sim, 100) == 0)
        corrupt_bytes(c);
    before = count_taken(to, p->ep->id);
    if (have && sim_random(world.sim, 2))
        have = sim_random(world.sim, (unsigned)have + 1);
    world.starving = world.options.starve && sim_random(world.sim, 3) == 0;
    r = to->host->rx(to->core, from, &c->hdr, c->data, have, &c->sink);
    world.starving = false;
    if (r == WEFT_EAGAIN) {
        p->stopped = true;
        return;
    }
    tell_peer(to, p->ep->id, &c->hdr, before);
    if (world.options.failover && r == WEFT_DONE && !sim_random(world.sim, 20))
        deliver_again(to, from, c);
    if (r == WEFT_OK)
        c->offset = have;
    else
        retire_message(p, c);
}

void sim_deliver(weft_ep *to, weft_peer *p)
{
    struct parcel *c = p->head;

    if (c->sink && world.options.streams)
        while (c->next && (!c->sink || sim_random(world.sim, 2)))
            c = c->next;
    if (c->sink) {
        land_message(to, p, c);
        return;
    }
    for (c = p->head; c->sink;)
        c = c->next;
    offer_message(to, p, c);
}

static bool is_busy(const weft_peer *p)
{
    if (!p || sim_pair_of(p->ep, p->id)->mute)
        return false;
    return p->notice || (!p->stopped && (p->head || p->reads));
}

int sim_busy_channels(weft_peer **list)
{
    int n = 0;

    for (int i = 0; i < SIM_FABRICS * SIM_MAX; i++) {
        weft_ep *e = world.eps[i / SIM_MAX][i % SIM_MAX];
        for (int k = 0; e && k < SIM_MAX; k++)
            if (is_busy(e->peers[k]))
                list[n++] = e->peers[k];
    }
    return n;
}
