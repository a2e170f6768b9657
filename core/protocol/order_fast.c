/* The fast path of an ordered pair: a short message that leaves at once by the
 * current carrier, or that comes by it and is the next one. Also checksums and
 * acknowledgement, which both directions need. See order.h.
 *
 * DESIGN  The conditions are not checked per message: o->fast holds the result
 * until something happens to a carrier, and the slow path sets it again. The
 * cost of a short message is code that the system call before it has displaced
 * from the first-level cache, so these functions are few, short, and adjacent.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/order_fast.h"

#include <stdlib.h>

#include "os/tuning.h"
#include "protocol/arrive.h"
#include "protocol/carrier.h"
#include "protocol/carrier_control.h"
#include "protocol/checked.h"
#include "protocol/fastpath.h"
#include "protocol/location.h"
#include "protocol/order.h"
#include "protocol/order_arrive.h"
#include "protocol/stripe.h"

enum {
    SPARES_MAX = 256,
    EAGER = WF_EAGER | WF_SEQUENCED | WF_WIRE_VERSION << 8 /* and no flag */
};

/* ---- checksums ----------------------------------------------------------- */

static inline void finish_header(struct wf_ordered *o, struct wf_wire *w,
                                 uint32_t seq, const void *data, size_t n)
{
    uint64_t last = (uint64_t)o->epoch << 24, sums;

    wf_wire_set_word(w, 3, seq | (uint64_t)o->expect << 32);
    wf_wire_set_word(w, 6, o->src_dst);
    o->owed = o->owed_bytes = 0;
    o->owed_since = 0;
    if (o->crc) {
        sums = o->sums(w, last, data, n);
        last |= (uint16_t)(sums >> 32 ^ sums >> 48) | sums << 32;
    }
    wf_wire_set_word(w, 7, last);
}

void wf_order_finish_header(struct wf_ordered *o, struct wf_wire *w,
                            uint32_t seq, const void *data, size_t n)
{
    finish_header(o, w, seq, data, n);
}

static inline bool has_right_sums(const struct wf_ordered *o,
                                  const struct wf_wire *w, const void *data,
                                  size_t n, bool whole)
{
    uint64_t last = wf_wire_word(w, 7), sums;
    uint32_t head;

    if (!(last & ~WF_WIRE_LAST_SUMMED) && !o->crc)
        return true; /* the sender makes no checksums */
    sums = o->sums(w, last & WF_WIRE_LAST_SUMMED, data, n);
    head = (uint32_t)(sums >> 32);
    return (uint16_t)last == (uint16_t)(head ^ head >> 16) &&
           (!whole || (uint32_t)sums == last >> 32);
}

bool wf_order_has_right_sums(const struct wf_ordered *o,
                             const struct wf_wire *w, const void *data,
                             bool whole)
{
    return has_right_sums(o, w, data, whole ? wf_le32(w->plen) : 0, whole);
}

/* ---- opening the fast path ----------------------------------------------- */

static bool can_send_at_once(const struct wf_ordered *o,
                             const struct wf_carrier *c)
{
    return !o->unsent && o->failback_to < 0 && !o->stripe && !c->blocked &&
           c->core->attr.max_short >= WF_RETAIN_INLINE;
}

/* Whether a container of it may skip wf_carrier_note_heard: that would change
 * nothing. */
static bool can_bring_next(const struct wf_carrier *c)
{
    return c->up && !c->stage && !c->failed_tries && !c->gone;
}

void wf_order_open_fast_path(struct wf_ordered *o)
{
    struct wf_carrier *c = o->at < 0 ? NULL : &o->carrier[o->at];

    wf_order_close_fast_path(o);
    if (!c || o->failed || c->seal || c->give_up ||
        c->state == WF_CARRIER_BROKEN)
        return;
    if (can_send_at_once(o, c)) {
        o->fast.peer = o->loc->peers[c->core->index];
        o->fast.send = c->core->ops->send_short;
    }
    if (can_bring_next(c))
        o->fast.from = c->core;
}

/* ---- sending ------------------------------------------------------------- */

/* Remove the container that was appended last: the carrier did not take it. */
WF_COLD static void undo_send(struct wf_ordered *o, struct wf_retained *r,
                              struct wf_retained **before, int rc)
{
    *before = NULL;
    o->last = before;
    o->next--;
    o->count--;
    o->bytes -= r->tx.tx.len;
    wf_order_recycle_retained(r);
    if (rc == WEFT_EAGAIN)
        wf_carrier_note_blocked(o, o->at);
    else
        wf_carrier_give_up(o, o->at, "it refused a message");
}

/* Append the spare container r and send it. false: the carrier did not take it,
 * and nothing else has happened. */
static inline bool retain_and_send(struct wf_ordered *o, struct wf_retained *r,
                                   const void *data, uint64_t n, uint64_t h0,
                                   uint64_t h1, uint64_t h2)
{
    struct wf_retained **before = o->last;
    struct wf_carrier *c = &o->carrier[o->at];
    struct wf_wire *w = &r->tx.hdr;
    int rc;

    wf_copy_short(r->small, data, n);
    wf_wire_set_word(w, 0,
                     (h0 | WF_SEQUENCED) & ~((uint64_t)WEFT_HDR_SHORT << 16));
    wf_wire_set_word(w, 1, h1);
    wf_wire_set_word(w, 2, h2);
    wf_wire_set_word(w, 4, 0);
    wf_wire_set_word(w, 5, 0);
    WF_ASSERT(o->spares > 0 && n <= WF_RETAIN_INLINE && r->data == r->small);
    o->spare = r->next;
    o->spares--;
    r->tx.tx.len = n;
    r->next = NULL;
    r->via = (int8_t)o->at;
    r->with_plugin = r->acked = r->flying = false;
    WF_ASSERT(!*before && o->at >= 0 && !o->unsent);
    *before = r;
    o->last = &r->next;
    o->count++;
    o->bytes += n;
    r->seq = o->next++;
    finish_header(o, w, r->seq, r->small, n);
    rc = o->fast.send(o->fast.peer, (const weft_hdr *)w, r->small, n, 0);
    if (wf_unlikely(rc < 0)) {
        undo_send(o, r, before, rc);
        return false;
    }
    c->sent++;
    c->sent_bytes += n;
    return true;
}

int wf_order_send_words(const void *data, uint64_t h0, weft_peer *peer,
                        uint64_t h1, uint64_t h2)
{
    struct wf_ordered *o = (struct wf_ordered *)peer;
    struct wf_retained *r = o->spare;
    uint64_t n = h0 >> 32;

    if (wf_likely(o->fast.send && r && n <= WF_RETAIN_INLINE &&
                  o->count < WF_WINDOW && o->bytes < WF_RETAIN_MAX) &&
        wf_likely(retain_and_send(o, r, data, n, h0, h1, h2)))
        return WEFT_OK;
    return wf_fastpath_send_header(data, h0, (weft_peer *)o->loc, h1, h2);
}

/* ---- acknowledgement ----------------------------------------------------- */

void wf_order_recycle_retained(struct wf_retained *r)
{
    struct wf_ordered *o = r->order;

    WF_ASSERT(!r->with_plugin && !r->flying);
    if (wf_unlikely(r->data != r->small)) {
        free(r->data);
        r->data = r->small;
    }
    if (wf_unlikely(r->tx.tx.one.iov_base != NULL))
        r->tx.tx.one = (struct iovec){0};
    r->p = NULL;
    r->whole = NULL;
    if (o->spares >= SPARES_MAX) {
        free(r);
        return;
    }
    r->next = o->spare;
    o->spare = r;
    o->spares++;
}

/* End the retention of the oldest container; status: for its request. */
static inline void release_first(struct wf_ordered *o, int status)
{
    struct wf_retained *r = o->first;
    struct wf_tx *whole = r->whole;

    WF_ASSERT(o->count > 0 && o->bytes >= r->tx.tx.len);
    o->first = r->next;
    if (!o->first)
        o->last = &o->first;
    if (wf_unlikely(o->unsent == r))
        o->unsent = r->next;
    o->count--;
    o->bytes -= r->tx.tx.len;
    if (wf_unlikely(r->flying && status == WEFT_OK))
        wf_stripe_note_acked(o, r);
    else if (wf_unlikely(r->flying))
        wf_stripe_end_flight(o, r);
    r->acked = true;
    r->p = NULL;
    if (wf_likely(!r->with_plugin))
        wf_order_recycle_retained(r);
    if (wf_unlikely(whole != NULL))
        whole->done(whole, status);
}

static inline void process_ack(struct wf_ordered *o, uint32_t ack, bool current)
{
    if (ack - o->una > o->next - o->una)
        return; /* for containers that were never sent */
    if (ack != o->una && current) {
        o->silent_since = 0;
        o->candidate = -1;
    }
    WF_ASSERT(o->next - ack <= o->count);
    for (o->una = ack; o->first && (int32_t)(o->first->seq - ack) < 0;)
        release_first(o, WEFT_OK);
    if (wf_unlikely(o->sender_waits))
        wf_order_resume_senders(o);
}

void wf_order_process_ack(struct wf_ordered *o, uint32_t ack, bool current)
{
    process_ack(o, ack, current);
}

void wf_order_drop_retained(struct weft_loc *loc, int status)
{
    struct wf_ordered *o = loc->order;

    if (!o)
        return;
    WF_ASSERT(o->loc == loc);
    o->failed = true;
    wf_order_close_fast_path(o);
    while (o->first)
        release_first(o, status);
}

static inline void count_owed(struct wf_ordered *o, struct weft_core *core,
                              bool now, uint32_t plen)
{
    o->owed++;
    o->owed_bytes += plen;
    if (wf_unlikely(o->owed >= WF_ACK_EVERY || o->owed_bytes >= WF_ACK_BYTES ||
                    now))
        wf_carrier_send_ack(o, core);
}

void wf_order_count_owed(struct wf_ordered *o, struct weft_core *core,
                         const struct wf_wire *w, uint32_t plen)
{
    count_owed(o, core,
               w->type == (WF_TRANSFER | WF_SEQUENCED) &&
                   wf_le16(w->flags) & WF_FLAG_LAST,
               plen);
}

/* ---- receiving ----------------------------------------------------------- */

bool wf_order_arrive_fast(struct wf_ordered *o, struct weft_core *core,
                          const weft_hdr *hdr, const void *data, size_t have)
{
    const struct wf_wire *w = (const struct wf_wire *)hdr;
    uint64_t first = wf_wire_word(w, 0), order = wf_wire_word(w, 3);

    if (wf_unlikely(
            o->fast.from != core || first != (EAGER | (uint64_t)have << 32) ||
            (uint32_t)order != o->expect || w->epoch != o->peer_epoch) ||
        wf_unlikely(!has_right_sums(o, w, data, have, true)))
        return false;
    process_ack(o, (uint32_t)(order >> 32), true);
    if (wf_unlikely(wf_arrive_words(
                        core, o->loc,
                        first ^ (WF_SEQUENCED | (uint64_t)WEFT_HDR_SHORT << 16),
                        wf_wire_word(w, 1), wf_wire_word(w, 2),
                        data) != WEFT_DONE))
        return false;
    o->expect++;
    count_owed(o, core, false, (uint32_t)have);
    return true;
}

/* A pair that is ordered, or requires checksums, accepts only such containers:
 * one without the mark is damaged. */
int wf_arrive_marked(struct weft_core *core, struct weft_loc *from,
                     const weft_hdr *hdr, const void *data, size_t have,
                     weft_sink **sink)
{
    const struct wf_wire *w = (const struct wf_wire *)hdr;
    int r;

    /* the mark itself may be damaged, so the route decides what is expected */
    if (wf_unlikely(!from->order && !from->lanes))
        wf_location_connect(from);
    if (!from->order &&
        (wf_checks_are_required(from, core) || w->type & WF_CHECKED)) {
        r = wf_checked_arrive(core, from, hdr, data, have, sink);
        return wf_unlikely(r == WEFT_EAGAIN) ? wf_arrive_stalled(core, from)
                                             : r;
    }
    if (!from->order && !(w->type & WF_SEQUENCED))
        return wf_arrive_plain(core, from, hdr, data, have, sink);
    if (from->order && wf_order_arrive_fast(from->order, core, hdr, data, have))
        return WEFT_DONE;
    r = wf_order_arrive(core, from, hdr, data, have, sink);
    return wf_unlikely(r == WEFT_EAGAIN) ? wf_arrive_stalled(core, from) : r;
}
