/* The receiving half of an ordered pair: checks, doubles, messages in pieces, and
 * sealed ones. See order.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "protocol/order.h"
#include "protocol/short.h"

enum { PAYLOAD_MAX = 16 << 20, SEALED_SMALL = 4096 };

/* ---- a container -------------------------------------------------------------- */

/* Of a sender whose carriers share: a piece of a large message. */
static bool is_piece(const struct wf_wire *w)
{
    return w->type == (WF_TRANSFER | WF_SEQUENCED) &&
           wf_le16(w->flags) & WF_FLAG_PARTED;
}

/* Of the same sender: others that come by other carriers go before it. */
static bool is_early(const struct wf_ordered *o, const struct wf_wire *w)
{
    return wf_le16(w->flags) & WF_FLAG_PARTED &&
           (int32_t)(wf_le32(w->seq) - o->expect) > 0;
}

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

/* A checked container whose turn it is: DONE, or EAGAIN for want of memory. */
static int deliver(struct wf_ordered *o, struct weft_core *core,
                   const struct wf_wire *w, const void *data)
{
    uint64_t first = wf_wire_word(w, 0) &
                     ~((uint64_t)WF_FLAG_PARTED << 16 | WF_SEQUENCED);
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
    wf_order_owe(o, core, w, plen);
    return WEFT_DONE;
}

static bool is_control(const struct wf_wire *w)
{
    unsigned type = w->type & ~(unsigned)WF_SEQUENCED;

    return type == WF_ACK || type == WF_PING || type == WF_PONG;
}

/* What a header says besides its container. Pieces go by any carrier, so they
 * do not tell where the peer is. */
static void hear(struct wf_ordered *o, struct weft_core *core, int carrier,
                 const struct wf_wire *w)
{
    wf_carrier_heard(o, core, is_piece(w) ? o->peer_epoch : w->epoch);
    wf_order_acked(o, wf_le32(w->ack), carrier == o->at);
}

/* A container that is complete and right. */
static int take(struct wf_ordered *o, struct weft_core *core, int carrier,
                const struct wf_wire *w, const void *data)
{
    hear(o, core, carrier, w);
    if (wf_unlikely(is_control(w))) {
        wf_carrier_control(o, core, w);
        return WEFT_DONE;
    }
    if (wf_unlikely(out_of_order(o, carrier, w, o->expect)))
        return WEFT_DONE;
    wf_order_usual(o);
    return deliver(o, core, w, data);
}

static int damaged(struct wf_ordered *o, int carrier)
{
    o->counts[WF_ORDER_DAMAGED]++;
    wf_carrier_fault(o, carrier, "a message arrived damaged");
    return WEFT_DONE;
}

/* ---- sealed containers ---- */

/* Is this header one that may come out of a sealed container of n bytes? */
static bool inner_right(const struct wf_wire *w, uint32_t n)
{
    return w->type & WF_SEQUENCED && w->type != (WF_SEALED | WF_SEQUENCED) &&
           weft_hdr_len((const weft_hdr *)w) == WEFT_HDR &&
           wf_le32(w->plen) == n - WEFT_HDR;
}

/* False: it is old, or nothing that the peer has sealed. */
static bool unwrap(struct wf_ordered *o, int k, const struct wf_wire *outer,
                   const void *data, uint8_t *text, struct wf_session **by)
{
    enum wf_opened r = wf_seal_open(o->carrier[k].seal, outer, data, text, by);

    if (r == WF_OPENED &&
        inner_right((const struct wf_wire *)text, wf_le32(outer->plen)))
        return true;
    if (r == WF_STALE)
        o->counts[WF_ORDER_DUPLICATES]++;
    else
        damaged(o, k);
    return false;
}

static int take_sealed(struct wf_ordered *o, int k, const struct wf_wire *outer,
                       const void *data, uint8_t *text)
{
    struct wf_session *by;
    int r;

    if (!unwrap(o, k, outer, data, text, &by))
        return WEFT_DONE;
    r = take(o, o->carrier[k].core, k, (const struct wf_wire *)text,
             text + WEFT_HDR);
    if (r != WEFT_EAGAIN)
        wf_seal_taken(by, outer);
    return r;
}

/* The whole of it is here, in a plugin's memory. */
static int open_sealed(struct wf_ordered *o, int k, const struct wf_wire *outer,
                       const void *data)
{
    _Alignas(WEFT_HDR) uint8_t small[SEALED_SMALL];
    uint32_t n = wf_le32(outer->plen);
    uint8_t *text = n <= sizeof small ? small : malloc(n);
    int r = text ? take_sealed(o, k, outer, data, text) : WEFT_EAGAIN;

    if (text != small)
        free(text);
    return r;
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

static uint64_t room_of(uint64_t plen)
{
    return sizeof(struct wf_stage) + plen;
}

static void forget_stage(struct wf_carrier *c)
{
    struct wf_stage *g = c->stage;

    c->stage = g->next;
    c->staged -= room_of(g->sink.sink.len);
    free(g);
}

void wf_order_unstage(struct wf_carrier *c)
{
    while (c->stage)
        forget_stage(c);
}

/* DONE, also when it is not what the peer has sealed; or EAGAIN. */
static int show(struct wf_ordered *o, int k, struct wf_stage *g)
{
    struct wf_wire outer = g->hdr;
    struct wf_session *by;

    if (o->carrier[k].seal && g->payload == g->data) {
        if (!unwrap(o, k, &outer, g->data, g->data, &by))
            return WEFT_DONE;
        wf_seal_taken(by, &outer);
        memcpy(&g->hdr, g->data, WEFT_HDR);
        g->payload += WEFT_HDR;
    }
    return take(o, g->core, k, &g->hdr, g->payload);
}

/* Show what is complete, in order. False: the core has no memory for it. */
static bool settle(struct wf_ordered *o, int k)
{
    struct wf_carrier *c = &o->carrier[k];
    struct wf_stage *g;

    while ((g = c->stage) && !g->busy) {
        if (!g->dead && !o->failed && is_early(o, &g->hdr))
            return true; /* another carrier has what comes before */
        if (!g->dead && !o->failed &&
            show(o, k, g) == WEFT_EAGAIN) {
            o->loc->wf->rx_stalled = true;
            return false;
        }
        forget_stage(c);
    }
    return true;
}

bool wf_order_redeliver(struct wf_ordered *o)
{
    uint32_t before;
    bool all;

    do {
        before = o->expect;
        all = true;
        for (int k = 0; k < o->carriers; k++)
            all = settle(o, k) && all;
    } while (o->parted && o->expect != before);
    return all;
}

/* Tell the sender of a piece, unless an acknowledgement has. */
static void announce(struct wf_ordered *o, int k)
{
    if (o->carrier[k].landed)
        wf_carrier_say_due(o, k);
}

static void piece_landed(struct wf_ordered *o, int k, const struct wf_stage *g)
{
    if (g->dead || o->failed)
        return;
    if (is_piece(&g->hdr))
        wf_carrier_landed(o, k, wf_le32(g->hdr.seq));
    hear(o, g->core, k, &g->hdr);
}

static void stage_landed(struct wf_sink *sink, int status)
{
    struct wf_stage *g = wf_container(sink, struct wf_stage, sink);
    struct wf_ordered *o = g->order;
    int k = wf_carrier_of(o, g->core);

    g->busy = false;
    g->dead = status < 0;
    if (!g->dead && !o->failed && !o->carrier[k].seal &&
        !wf_order_right(o, &g->hdr, g->data, true)) {
        g->dead = true;
        damaged(o, k);
    }
    if (wf_le16(g->hdr.flags) & WF_FLAG_PARTED)
        piece_landed(o, k, g);
    else if (g->dead) /* nothing behind a gap is of use */
        for (struct wf_stage *later = g->next; later; later = later->next)
            later->dead = true;
    settle(o, k);
    if (o->parted)
        wf_order_redeliver(o);
    announce(o, k);
}

/* By seq; those of an encrypted carrier say none. */
static void insert(struct wf_carrier *c, struct wf_stage *g)
{
    struct wf_stage **at = &c->stage, *next;
    bool last = !c->stage || c->seal ||
                (int32_t)(wf_le32(g->hdr.seq) -
                          wf_le32(c->last_stage->hdr.seq)) > 0;

    if (last && c->stage)
        at = &c->last_stage->next;
    while (!last && (next = *at) &&
           (int32_t)(wf_le32(g->hdr.seq) - wf_le32(next->hdr.seq)) >= 0)
        at = &next->next;
    g->next = *at;
    *at = g;
    if (!g->next)
        c->last_stage = g;
}

static bool is_staged(const struct wf_carrier *c, const struct wf_wire *w)
{
    for (const struct wf_stage *g = c->stage; g; g = g->next)
        if (!g->dead && g->hdr.seq == w->seq)
            return true;
    return false;
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
    g->payload = g->data;
    g->busy = have < plen;
    g->sink.done = stage_landed;
    g->sink.sink.len = plen;
    g->sink.sink.one = (struct iovec){g->data, plen};
    g->sink.sink.seg = stage_seg;
    if (have)
        memcpy(g->data, data, have);
    insert(c, g);
    wf_order_unusual(o);
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

/* A sealed carrier brings nothing else, and no other brings that. */
static bool container_taken(const struct wf_ordered *o, int k,
                            const struct wf_wire *w, const void *data,
                            bool whole)
{
    const struct wf_seal *seal = o->carrier[k].seal;

    if (weft_hdr_len((const weft_hdr *)w) != WEFT_HDR ||
        !(w->type & WF_SEQUENCED))
        return false;
    if (seal)
        return wf_seal_header(seal, w);
    return w->type != (WF_SEALED | WF_SEQUENCED) && wf_order_right(o, w, data, whole);
}

/* From a sender whose carriers share. */
static int arrive_parted(struct wf_ordered *o, int k, const struct wf_wire *w,
                         const void *data, size_t have, weft_sink **sink)
{
    uint32_t plen = wf_le32(w->plen);
    int32_t ahead = (int32_t)(wf_le32(w->seq) - o->expect);
    bool whole = have == plen;
    int r;

    o->parted = true;
    if (ahead < 0 || ahead >= WF_WINDOW || is_staged(&o->carrier[k], w)) {
        o->counts[WF_ORDER_DUPLICATES]++;
        o->owed = WF_ACK_EVERY;
        return whole ? WEFT_DONE : WEFT_SKIP;
    }
    if (whole && is_piece(w))
        wf_carrier_landed(o, k, wf_le32(w->seq));
    if (whole && !ahead) {
        r = take(o, o->carrier[k].core, k, w, data);
        if (r != WEFT_EAGAIN)
            wf_order_redeliver(o);
    } else {
        r = stage(o, k, w, data, have, sink);
        if (whole && r == WEFT_DONE)
            hear(o, o->carrier[k].core, k, w);
    }
    if (r == WEFT_EAGAIN)
        o->carrier[k].landed = false; /* it comes again */
    announce(o, k);
    return r;
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
    if (plen > PAYLOAD_MAX || !container_taken(o, k, w, data, whole)) {
        damaged(o, k);
        return drop;
    }
    if (o->carrier[k].stage && !wf_order_redeliver(o))
        return WEFT_EAGAIN;
    if (o->carrier[k].seal)
        return whole && !o->carrier[k].stage
                   ? open_sealed(o, k, w, data)
                   : stage(o, k, w, data, have, sink);
    if (wf_unlikely(w->flags & wf_le16(WF_FLAG_PARTED)))
        return arrive_parted(o, k, w, data, have, sink);
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
