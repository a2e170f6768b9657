/* A container of an ordered pair that is complete: order_take.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/order_take.h"

#include "protocol/short.h"

bool wf_order_off_turn(struct wf_ordered *o, int carrier,
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
static int deliver_container(struct wf_ordered *o, struct weft_core *core,
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

/* Pieces go by any carrier, so they do not tell where the peer is. An ACK that names
 * one says how long it took, of which nothing is known any more once it counts as
 * acknowledged. */
void wf_order_hear(struct wf_ordered *o, struct weft_core *core, int carrier,
                   const struct wf_wire *w)
{
    wf_carrier_heard(o, core, wf_order_piece(w) ? o->peer_epoch : w->epoch);
    if (wf_unlikely(w->type == (WF_ACK | WF_SEQUENCED) && wf_le64(w->a) >> 32))
        wf_stripe_landed(o, carrier, (uint32_t)wf_le64(w->a));
    wf_order_acked(o, wf_le32(w->ack), carrier == o->at);
}

int wf_order_take(struct wf_ordered *o, struct weft_core *core, int carrier,
                  const struct wf_wire *w, const void *data)
{
    wf_order_hear(o, core, carrier, w);
    if (wf_unlikely(wf_order_control(w))) {
        wf_carrier_control(o, core, w);
        return WEFT_DONE;
    }
    if (wf_unlikely(wf_order_off_turn(o, carrier, w, o->expect)))
        return WEFT_DONE;
    wf_order_usual(o);
    return deliver_container(o, core, w, data);
}

int wf_order_damaged(struct wf_ordered *o, int carrier)
{
    o->counts[WF_ORDER_DAMAGED]++;
    wf_carrier_fault(o, carrier, "a message arrived damaged");
    return WEFT_DONE;
}

/* ---- sealed containers ---- */

/* Is this header one that may come out of a sealed container of n bytes? */
static bool is_valid_inner(const struct wf_wire *w, uint32_t n)
{
    return w->type & WF_SEQUENCED && w->type != (WF_SEALED | WF_SEQUENCED) &&
           weft_hdr_len((const weft_hdr *)w) == WEFT_HDR &&
           wf_le32(w->plen) == n - WEFT_HDR;
}

bool wf_order_unwrap(struct wf_ordered *o, int k, const struct wf_wire *outer,
                     const void *data, uint8_t *text, struct wf_session **by)
{
    enum wf_opened r = wf_seal_open(o->carrier[k].seal, outer, data, text, by);

    if (r == WF_OPENED &&
        is_valid_inner((const struct wf_wire *)text, wf_le32(outer->plen)))
        return true;
    if (r == WF_STALE)
        o->counts[WF_ORDER_DUPLICATES]++;
    else
        wf_order_damaged(o, k);
    return false;
}
