/* The receiving half of an ordered pair: checks containers, drops duplicates,
 * assembles those that come in parts, opens sealed ones, and keeps each until
 * its sequence number is next (order_deliver.c). See order.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/order_arrive.h"

#include <stdlib.h>

#include "os/tuning.h"
#include "progress/progress.h"
#include "protocol/carrier.h"
#include "protocol/carrier_control.h"
#include "protocol/location.h"
#include "protocol/order_deliver.h"
#include "protocol/order_fast.h"
#include "report/error.h"

enum { PAYLOAD_MAX = 16 << 20, SEALED_SMALL = 4096 };

/* ---- sequence ------------------------------------------------------------ */

/* Whether the sender stripes and containers before this one are still to come,
 * by other carriers. */
static bool is_early(const struct wf_ordered *o, const struct wf_wire *w)
{
    return wf_order_is_striped(w) && (int32_t)(wf_le32(w->seq) - o->expect) > 0;
}

/* The next sequence number on a carrier: behind everything that is staged.
 * Staged containers older than `expect` do not count: another carrier has
 * brought copies of them. */
static uint32_t next_seq_on(const struct wf_ordered *o,
                            const struct wf_carrier *c)
{
    uint32_t seq = c->stage ? wf_le32(c->last_stage->hdr.seq) + 1 : o->expect;

    return (int32_t)(seq - o->expect) > 0 ? seq : o->expect;
}

/* ---- sealed containers --------------------------------------------------- */

static int arrive_striped(struct wf_ordered *, int k, const struct wf_wire *,
                          const void *data, size_t have, weft_sink **);

static int take_sealed(struct wf_ordered *o, int k, const struct wf_wire *outer,
                       const void *data, uint8_t *text)
{
    const struct wf_wire *w = (const struct wf_wire *)text;
    struct wf_session *by;
    weft_sink *none;
    int r;

    if (!wf_order_open_sealed(o, k, outer, data, text, &by))
        return WEFT_DONE;
    r = wf_order_is_striped(w)
            ? arrive_striped(o, k, w, text + WEFT_HDR, wf_le32(w->plen), &none)
            : wf_order_deliver(o, o->carrier[k].core, k, w, text + WEFT_HDR);
    if (r != WEFT_EAGAIN)
        wf_seal_accept(by, outer);
    return r;
}

/* Open and deliver a sealed container that is complete, in a plugin's
 * memory. */
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

/* ---- containers that come in parts --------------------------------------- */

static int stage_seg(weft_sink *s, uint64_t off, struct iovec *v, int max)
{
    struct wf_sink *sink = wf_container(s, struct wf_sink, sink);
    struct wf_stage *g = wf_container(sink, struct wf_stage, sink);

    if (off >= s->len || max < 1)
        return 0;
    *v = (struct iovec){g->data + off, s->len - off};
    return 1;
}

static uint64_t stage_bytes(uint64_t plen)
{
    return sizeof(struct wf_stage) + plen;
}

/* Free the first container of one of the carrier's lists. */
static void free_first_stage(struct wf_carrier *c, struct wf_stage **list)
{
    struct wf_stage *g = *list;

    WF_ASSERT(c->staged >= stage_bytes(g->sink.sink.len));
    *list = g->next;
    c->staged -= stage_bytes(g->sink.sink.len);
    free(g);
}

void wf_order_free_staged(struct wf_carrier *c)
{
    while (c->stage)
        free_first_stage(c, &c->stage);
    while (c->sealed)
        free_first_stage(c, &c->sealed);
}

static bool is_open(const struct wf_stage *g)
{
    return g->payload != g->data;
}

/* Decrypt a staged container in place. false: it is old, or the peer has not
 * sealed it. */
static bool open_staged(struct wf_ordered *o, int k, struct wf_stage *g)
{
    struct wf_wire outer = g->hdr;
    struct wf_session *by;

    if (!wf_order_open_sealed(o, k, &outer, g->data, g->data, &by))
        return false;
    wf_seal_accept(by, &outer);
    memcpy(&g->hdr, g->data, WEFT_HDR);
    g->payload += WEFT_HDR;
    return true;
}

/* Deliver a staged container. WEFT_DONE; WEFT_EAGAIN: no memory, the next
 * maintenance round tries again. */
static int deliver_stage(struct wf_ordered *o, struct wf_stage *g)
{
    int r = wf_order_deliver(o, g->core, wf_carrier_index_of(o, g->core),
                             &g->hdr, g->payload);

    if (r == WEFT_EAGAIN)
        wf_progress_request_resume(o->loc->wf);
    return r;
}

static bool is_wanted(const struct wf_ordered *o, const struct wf_stage *g)
{
    return !g->dead && !o->failed;
}

static void stage_opened(struct wf_ordered *o, int k);

/* Open complete containers in arrival order, and deliver them; those of a
 * sender that stripes are staged by number instead. false: no memory. */
static bool deliver_sealed(struct wf_ordered *o, int k)
{
    struct wf_carrier *c = &o->carrier[k];
    struct wf_stage *g;

    while ((g = c->sealed) && !g->busy) {
        if (is_wanted(o, g) && (is_open(g) || open_staged(o, k, g))) {
            if (wf_order_is_striped(&g->hdr)) {
                stage_opened(o, k);
                continue;
            }
            if (deliver_stage(o, g) == WEFT_EAGAIN)
                return false;
        }
        free_first_stage(c, &c->sealed);
    }
    return true;
}

/* Deliver complete containers of a carrier in order. false: no memory for
 * one. */
static bool deliver_staged(struct wf_ordered *o, int k)
{
    struct wf_carrier *c = &o->carrier[k];
    struct wf_stage *g;

    if (!deliver_sealed(o, k))
        return false;
    while ((g = c->stage) && !g->busy) {
        if (is_wanted(o, g) && is_early(o, &g->hdr))
            return true; /* another carrier has what comes before */
        if (is_wanted(o, g) && deliver_stage(o, g) == WEFT_EAGAIN)
            return false;
        free_first_stage(c, &c->stage);
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
            all = deliver_staged(o, k) && all;
    } while (o->peer_stripes && o->expect != before);
    return all;
}

/* Tell the sender that a piece has landed, unless an acknowledgement has. */
static void announce_landing(struct wf_ordered *o, int k)
{
    if (o->carrier[k].landed)
        wf_carrier_send_due(o, k);
}

/* A container of a sender that stripes is complete, but perhaps not the next:
 * process what its arrival and its header say. */
static void note_complete(struct wf_ordered *o, int k, const struct wf_stage *g)
{
    if (g->dead || o->failed)
        return;
    if (wf_order_is_piece(&g->hdr))
        wf_carrier_note_piece(o, k, wf_le32(g->hdr.seq));
    wf_order_process_header(o, g->core, k, &g->hdr);
}

static void stage_landed(struct wf_sink *sink, int status)
{
    struct wf_stage *g = wf_container(sink, struct wf_stage, sink);
    struct wf_ordered *o = g->order;
    int k = wf_carrier_index_of(o, g->core);

    WF_ASSERT(k >= 0 && g->busy && g->order == o);
    g->busy = false;
    g->dead = status < 0;
    if (!g->dead && !o->failed && !o->carrier[k].seal &&
        !wf_order_has_right_sums(o, &g->hdr, g->data, true)) {
        g->dead = true;
        wf_order_reject_damaged(o, k);
    }
    if (wf_order_is_striped(&g->hdr))
        note_complete(o, k, g);
    else if (g->dead) /* containers behind a gap are of no use */
        for (struct wf_stage *later = g->next; later; later = later->next)
            later->dead = true;
    deliver_staged(o, k);
    if (o->peer_stripes)
        wf_order_redeliver(o);
    announce_landing(o, k);
}

/* Append in arrival order: the sequence number is encrypted. */
static void add_sealed(struct wf_carrier *c, struct wf_stage *g)
{
    WF_ASSERT(!g->next && (!c->sealed || !c->last_sealed->next));
    *(c->sealed ? &c->last_sealed->next : &c->sealed) = g;
    c->last_sealed = g;
}

/* Insert into the staged containers, which are sorted by seq. */
static void insert_by_seq(struct wf_carrier *c, struct wf_stage *g)
{
    struct wf_stage **at = &c->stage, *next;
    bool last = !c->stage || (int32_t)(wf_le32(g->hdr.seq) -
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
    WF_ASSERT(!c->last_stage->next);
}

static bool is_staged(const struct wf_carrier *c, const struct wf_wire *w)
{
    for (const struct wf_stage *g = c->stage; g; g = g->next)
        if (!g->dead && g->hdr.seq == w->seq)
            return true;
    return false;
}

/* Whether a container of a sender that stripes has come before, or is outside
 * of the window; then it is counted, and an ACK becomes due. */
static bool count_if_duplicate(struct wf_ordered *o, int k,
                               const struct wf_wire *w)
{
    int32_t ahead = (int32_t)(wf_le32(w->seq) - o->expect);

    o->peer_stripes = true;
    if (ahead >= 0 && ahead < WF_WINDOW && !is_staged(&o->carrier[k], w))
        return false;
    o->counts[WF_ORDER_DUPLICATES]++;
    o->owed = WF_ACK_EVERY;
    return true;
}

/* Move the first sealed container, which is open now, to the staged ones. */
static void stage_opened(struct wf_ordered *o, int k)
{
    struct wf_carrier *c = &o->carrier[k];
    struct wf_stage *g = c->sealed;

    if (count_if_duplicate(o, k, &g->hdr)) {
        free_first_stage(c, &c->sealed);
        return;
    }
    WF_ASSERT(g && is_open(g) && !g->busy);
    c->sealed = g->next;
    insert_by_seq(c, g);
    note_complete(o, k, g);
}

/* Keep a container whose payload is to come, or whose number is not next.
 * WEFT_OK: the payload goes to *sink; WEFT_DONE: it is here; WEFT_EAGAIN. */
static int stage_container(struct wf_ordered *o, int carrier,
                           const struct wf_wire *w, const void *data,
                           size_t have, weft_sink **sink)
{
    struct wf_carrier *c = &o->carrier[carrier];
    uint32_t plen = wf_le32(w->plen);
    WF_ASSERT(have <= plen && plen <= PAYLOAD_MAX);
    struct wf_stage *g = NULL;

    if (c->staged + stage_bytes(plen) <= WF_STAGED_MAX)
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
    g->sink.sink.size = sizeof g->sink.sink;
    g->sink.sink.one = (struct iovec){g->data, plen};
    g->sink.sink.seg = stage_seg;
    if (have)
        memcpy(g->data, data, have);
    (w->type == (WF_SEALED | WF_SEQUENCED) ? add_sealed : insert_by_seq)(c, g);
    wf_order_close_fast_path(o);
    c->staged += stage_bytes(plen);
    if (g->busy)
        *sink = &g->sink.sink;
    return g->busy ? WEFT_OK : WEFT_DONE;
}

/* The order of a location, which is connected for that; NULL: it has none, or
 * has failed. */
static struct wf_ordered *find_order(struct weft_loc *from)
{
    if (!from->order && !from->lanes)
        wf_location_connect(from);
    return from->failed ? NULL : from->order;
}

/* Whether the container is valid on this carrier. A sealed carrier accepts
 * sealed containers only, any other carrier everything else. */
static bool is_acceptable(const struct wf_ordered *o, int k,
                          const struct wf_wire *w, const void *data, bool whole)
{
    const struct wf_seal *seal = o->carrier[k].seal;

    if (weft_hdr_len((const weft_hdr *)w) != WEFT_HDR ||
        !(w->type & WF_SEQUENCED))
        return false;
    if (seal)
        return wf_seal_is_header(seal, w);
    return w->type != (WF_SEALED | WF_SEQUENCED) &&
           wf_order_has_right_sums(o, w, data, whole);
}

/* Process a container of a sender that stripes. */
static int arrive_striped(struct wf_ordered *o, int k, const struct wf_wire *w,
                          const void *data, size_t have, weft_sink **sink)
{
    bool whole = have == wf_le32(w->plen);
    int r;

    if (count_if_duplicate(o, k, w))
        return whole ? WEFT_DONE : WEFT_SKIP;
    if (whole && wf_order_is_piece(w))
        wf_carrier_note_piece(o, k, wf_le32(w->seq));
    if (whole && wf_le32(w->seq) == o->expect) {
        r = wf_order_deliver(o, o->carrier[k].core, k, w, data);
        if (r != WEFT_EAGAIN)
            wf_order_redeliver(o);
    } else {
        r = stage_container(o, k, w, data, have, sink);
        if (whole && r == WEFT_DONE)
            wf_order_process_header(o, o->carrier[k].core, k, w);
    }
    if (r == WEFT_EAGAIN)
        o->carrier[k].landed = false; /* the plugin offers it again */
    announce_landing(o, k);
    return r;
}

int wf_order_arrive(struct weft_core *core, struct weft_loc *from,
                    const weft_hdr *hdr, const void *data, size_t have,
                    weft_sink **sink)
{
    const struct wf_wire *w = (const struct wf_wire *)hdr;
    struct wf_ordered *o = find_order(from);
    int k = o ? wf_carrier_index_of(o, core) : -1;
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
    if (plen > PAYLOAD_MAX || !is_acceptable(o, k, w, data, whole)) {
        wf_order_reject_damaged(o, k);
        return drop;
    }
    if ((o->carrier[k].stage || o->carrier[k].sealed) && !wf_order_redeliver(o))
        return WEFT_EAGAIN;
    if (o->carrier[k].seal)
        return whole && !o->carrier[k].sealed
                   ? open_sealed(o, k, w, data)
                   : stage_container(o, k, w, data, have, sink);
    if (wf_unlikely(wf_order_is_striped(w)))
        return arrive_striped(o, k, w, data, have, sink);
    if (whole && (!o->carrier[k].stage || wf_order_is_control(w)))
        return wf_order_deliver(o, core, k, w, data);
    if (wf_order_is_control(w)) {
        wf_order_reject_damaged(o, k); /* it has no payload */
        return drop;
    }
    if (wf_order_is_out_of_sequence(o, k, w, next_seq_on(o, &o->carrier[k])))
        return drop;
    if (whole && wf_le32(w->seq) == o->expect)
        return wf_order_deliver(o, core, k, w, data);
    return stage_container(o, k, w, data, have, sink);
}
