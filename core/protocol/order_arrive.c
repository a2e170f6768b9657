/* The receiving half of an ordered pair: checks, doubles, messages in pieces. See
 * order.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "protocol/order.h"
#include "protocol/short.h"

enum { PAYLOAD_MAX = 16 << 20 };

/* ---- checks ---------------------------------------------------------------- */

/* Is the header right and, if its payload is here, that too? */
static bool right(const struct wf_ordered *o, const struct wf_wire *w,
                  const void *data, bool whole)
{
    uint64_t last = wf_wire_word(w, 7), sums;
    uint32_t head;

    if (!(last & ~WF_WIRE_LAST) && !o->crc)
        return true; /* the sender makes no sums */
    sums = o->sums(w, last & WF_WIRE_LAST, data, whole ? wf_le32(w->plen) : 0);
    head = (uint32_t)(sums >> 32);
    return (uint16_t)last == (uint16_t)(head ^ head >> 16) &&
           (!whole || (uint32_t)sums == last >> 32);
}

/* ---- a container -------------------------------------------------------------- */

/* What comes next on a carrier: behind everything that is staged. Older stages
 * are leftovers, of which another carrier has brought the copies. */
static uint32_t next_on(const struct wf_ordered *o, const struct wf_carrier *c)
{
    uint32_t seq = c->stage ? wf_le32(c->last_stage->hdr.seq) + 1 : o->expect;

    return (int32_t)(seq - o->expect) > 0 ? seq : o->expect;
}

static bool out_of_order(struct wf_ordered *o, int carrier,
                         const struct wf_wire *w, uint32_t next)
{
    int32_t ahead = (int32_t)(wf_le32(w->seq) - next);

    if (ahead < 0) {
        o->counts[WF_ORDER_DUPLICATES]++;
        o->owed = WF_ACK_EVERY; /* he does not know that it is here */
    } else if (ahead > 0 && w->epoch == o->peer_epoch) {
        wf_carrier_fault(o, carrier, "a message is missing");
    }
    return ahead != 0;
}

static void owe(struct wf_ordered *o, struct weft_core *core,
                const struct wf_wire *w, uint32_t plen)
{
    o->owed++;
    o->owed_bytes += plen;
    if (o->owed >= WF_ACK_EVERY || o->owed_bytes >= WF_ACK_BYTES ||
        (w->type == (WF_TRANSFER | WF_SEQUENCED) &&
         wf_le16(w->flags) & WF_FLAG_LAST))
        wf_carrier_ack(o, core);
}

/* A checked container whose turn it is: DONE, or EAGAIN for want of memory. */
static int deliver(struct wf_ordered *o, struct weft_core *core,
                   const struct wf_wire *w, const void *data)
{
    uint64_t first = wf_wire_word(w, 0) & ~(uint64_t)WF_SEQUENCED;
    uint32_t plen = (uint32_t)(first >> 32);
    struct wf_wire plain;
    weft_sink *sink = NULL;
    int r;

    if (wf_likely((first & 0xff) == WF_EAGER &&
                  !(first & (uint64_t)WF_FLAG_SYNC << 16))) {
        r = wf_arrive_words(core, o->loc, first | WEFT_HDR_SHORT << 16,
                            wf_wire_word(w, 1), wf_wire_word(w, 2), data);
    } else {
        plain = *w;
        wf_wire_put(&plain, 0, first);
        r = wf_arrive_plain(core, o->loc, (const weft_hdr *)&plain, data, plen,
                            &sink);
    }
    if (r == WEFT_EAGAIN)
        return WEFT_EAGAIN;
    o->expect++;
    owe(o, core, w, plen);
    return WEFT_DONE;
}

static bool is_control(const struct wf_wire *w)
{
    unsigned type = w->type & ~(unsigned)WF_SEQUENCED;

    return type == WF_ACK || type == WF_PING || type == WF_PONG;
}

/* A container that is complete and right. */
static int take(struct wf_ordered *o, struct weft_core *core, int carrier,
                const struct wf_wire *w, const void *data)
{
    wf_carrier_heard(o, core, w->epoch);
    wf_order_acked(o, wf_le32(w->ack), carrier == o->at);
    if (wf_unlikely(is_control(w))) {
        wf_carrier_control(o, core, w);
        return WEFT_DONE;
    }
    if (wf_unlikely(out_of_order(o, carrier, w, o->expect)))
        return WEFT_DONE;
    return deliver(o, core, w, data);
}

static int damaged(struct wf_ordered *o, int carrier)
{
    o->counts[WF_ORDER_DAMAGED]++;
    wf_carrier_fault(o, carrier, "a message arrived damaged");
    return WEFT_DONE;
}

/* ---- containers that come in pieces ---- */

static int stage_seg(weft_sink *s, uint64_t off, struct iovec *v, int max)
{
    struct wf_sink *sink = wf_container(s, struct wf_sink, sink);
    struct wf_stage *g = wf_container(sink, struct wf_stage, sink);

    if (off >= s->len || max < 1)
        return 0;
    *v = (struct iovec){g->data + off, s->len - off};
    return 1;
}

static uint64_t room_of(uint32_t plen)
{
    return sizeof(struct wf_stage) + plen;
}

static void forget_stage(struct wf_carrier *c)
{
    struct wf_stage *g = c->stage;

    c->stage = g->next;
    c->staged -= room_of(wf_le32(g->hdr.plen));
    free(g);
}

void wf_order_unstage(struct wf_carrier *c)
{
    while (c->stage)
        forget_stage(c);
}

/* Show what is complete, in order. False: the core has no memory for it. */
static bool settle(struct wf_ordered *o, int k)
{
    struct wf_carrier *c = &o->carrier[k];
    struct wf_stage *g;

    while ((g = c->stage) && !g->busy) {
        if (!g->dead && !o->failed &&
            take(o, g->core, k, &g->hdr, g->data) == WEFT_EAGAIN) {
            o->loc->wf->rx_stalled = true;
            return false;
        }
        forget_stage(c);
    }
    return true;
}

bool wf_order_redeliver(struct wf_ordered *o)
{
    bool all = true;

    for (int k = 0; k < o->carriers; k++)
        all = settle(o, k) && all;
    return all;
}

static void stage_landed(struct wf_sink *sink, int status)
{
    struct wf_stage *g = wf_container(sink, struct wf_stage, sink);
    struct wf_ordered *o = g->order;
    int k = wf_carrier_of(o, g->core);

    g->busy = false;
    g->dead = status < 0;
    if (!g->dead && !o->failed && !right(o, &g->hdr, g->data, true)) {
        g->dead = true;
        damaged(o, k);
    }
    if (g->dead) /* nothing behind a gap is of use */
        for (struct wf_stage *later = g->next; later; later = later->next)
            later->dead = true;
    settle(o, k);
}

/* Keep a container whose payload, or turn, is to come. */
static int stage(struct wf_ordered *o, int carrier, const struct wf_wire *w,
                 const void *data, size_t have, weft_sink **sink)
{
    struct wf_carrier *c = &o->carrier[carrier];
    uint32_t plen = wf_le32(w->plen);
    struct wf_stage *g = NULL;

    if (c->staged + room_of(plen) <= WF_STAGED_MAX)
        g = malloc(sizeof *g + plen);
    if (!g)
        return WEFT_EAGAIN;
    memset(g, 0, sizeof *g);
    g->order = o;
    g->core = c->core;
    g->hdr = *w;
    g->busy = have < plen;
    g->sink.done = stage_landed;
    g->sink.sink.len = plen;
    g->sink.sink.one = (struct iovec){g->data, plen};
    g->sink.sink.seg = stage_seg;
    if (have)
        memcpy(g->data, data, have);
    if (c->stage)
        c->last_stage->next = g;
    else
        c->stage = g;
    c->last_stage = g;
    c->staged += room_of(plen);
    if (g->busy)
        *sink = &g->sink.sink;
    return g->busy ? WEFT_OK : WEFT_DONE;
}

static struct wf_ordered *order_of(struct weft_loc *from)
{
    if (!from->order && !from->lanes)
        wf_location_connect(from);
    return from->failed ? NULL : from->order;
}

int wf_order_arrive(struct weft_core *core, struct weft_loc *from,
                    const weft_hdr *hdr, const void *data, size_t have,
                    weft_sink **sink)
{
    const struct wf_wire *w = (const struct wf_wire *)hdr;
    struct wf_ordered *o = order_of(from);
    int k = o ? wf_carrier_of(o, core) : -1;
    uint32_t plen = wf_le32(w->plen);
    bool whole = have == plen;
    int drop = whole ? WEFT_DONE : WEFT_SKIP;

    if (k < 0) {
        if (!from->failed)
            wf_log(from->wf, WF_LOG_WARN,
                   "process %u sent a sequenced message, but the route to it "
                   "has no failover; skipped",
                   from->id);
        return drop;
    }
    if (o->carrier[k].give_up)
        return drop;
    if (weft_hdr_len(hdr) != WEFT_HDR || !(w->type & WF_SEQUENCED) ||
        !right(o, w, data, whole) || plen > PAYLOAD_MAX) {
        damaged(o, k);
        return drop;
    }
    if (o->carrier[k].stage && !wf_order_redeliver(o))
        return WEFT_EAGAIN;
    if (whole && (!o->carrier[k].stage || is_control(w)))
        return take(o, core, k, w, data);
    if (is_control(w)) {
        damaged(o, k); /* it has no payload */
        return drop;
    }
    if (out_of_order(o, k, w, next_on(o, &o->carrier[k])))
        return drop;
    if (whole && wf_le32(w->seq) == o->expect)
        return take(o, core, k, w, data);
    return stage(o, k, w, data, have, sink);
}
