/* Delivery of complete containers of an ordered pair: see order_deliver.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/order_deliver.h"

#include "os/tuning.h"
#include "protocol/arrive.h"
#include "protocol/carrier.h"
#include "protocol/fastpath.h"
#include "protocol/order_fast.h"
#include "protocol/stripe.h"

bool wf_order_is_out_of_sequence(struct wf_ordered *o, int carrier,
                                 const struct wf_wire *w, uint32_t next)
{
    int32_t ahead = (int32_t)(wf_le32(w->seq) - next);

    if (ahead < 0) {
        o->counts[WF_ORDER_DUPLICATES]++;
        o->owed = WF_ACK_EVERY; /* the sender has missed the last ACK */
    } else if (ahead > 0 && w->epoch == o->peer_epoch) {
        wf_carrier_give_up(o, carrier, "a message is missing");
    }
    return ahead != 0;
}

/* Hand the next container to the core, with a plain header. WEFT_DONE, or
 * WEFT_EAGAIN: no memory. */
static int deliver_container(struct wf_ordered *o, struct weft_core *core,
                             const struct wf_wire *w, const void *data)
{
    uint64_t first =
        wf_wire_word(w, 0) & ~((uint64_t)WF_FLAG_STRIPED << 16 | WF_SEQUENCED);
    uint32_t plen = (uint32_t)(first >> 32);
    struct wf_wire plain = *w;
    weft_sink *sink = NULL;

    wf_wire_set_word(&plain, 0, first);
    if (wf_arrive_plain(core, o->loc, (const weft_hdr *)&plain, data, plen,
                        &sink) == WEFT_EAGAIN)
        return WEFT_EAGAIN;
    WF_ASSERT(wf_le32(w->seq) == o->expect && !sink);
    o->expect++;
    wf_order_count_owed(o, core, w, plen);
    return WEFT_DONE;
}

/* A piece may come by any carrier, so its epoch does not tell by which one the
 * peer sends. An ACK that names a piece tells how long the piece took: that is
 * evaluated first, because the acknowledgement ends its retention. */
void wf_order_process_header(struct wf_ordered *o, struct weft_core *core,
                             int carrier, const struct wf_wire *w)
{
    wf_carrier_note_heard(o, core,
                          wf_order_is_piece(w) ? o->peer_epoch : w->epoch);
    if (wf_unlikely(w->type == (WF_ACK | WF_SEQUENCED) && wf_le64(w->a) >> 32))
        wf_stripe_note_landed(o, carrier, (uint32_t)wf_le64(w->a));
    wf_order_process_ack(o, wf_le32(w->ack), carrier == o->at);
}

int wf_order_deliver(struct wf_ordered *o, struct weft_core *core, int carrier,
                     const struct wf_wire *w, const void *data)
{
    wf_order_process_header(o, core, carrier, w);
    if (wf_unlikely(wf_order_is_control(w))) {
        wf_carrier_take_control(o, core, w);
        return WEFT_DONE;
    }
    if (wf_unlikely(wf_order_is_out_of_sequence(o, carrier, w, o->expect)))
        return WEFT_DONE;
    wf_order_open_fast_path(o);
    return deliver_container(o, core, w, data);
}

int wf_order_reject_damaged(struct wf_ordered *o, int carrier)
{
    o->counts[WF_ORDER_DAMAGED]++;
    wf_carrier_give_up(o, carrier, "a message arrived damaged");
    return WEFT_DONE;
}

/* ---- sealed containers --------------------------------------------------- */

/* Whether a sealed container of n bytes may contain this header. */
static bool is_valid_inner(const struct wf_wire *w, uint32_t n)
{
    return w->type & WF_SEQUENCED && w->type != (WF_SEALED | WF_SEQUENCED) &&
           weft_hdr_len((const weft_hdr *)w) == WEFT_HDR &&
           wf_le32(w->plen) == n - WEFT_HDR;
}

bool wf_order_open_sealed(struct wf_ordered *o, int k,
                          const struct wf_wire *outer, const void *data,
                          uint8_t *text, struct wf_session **by)
{
    enum wf_opened r = wf_seal_open(o->carrier[k].seal, outer, data, text, by);

    if (r == WF_OPENED &&
        is_valid_inner((const struct wf_wire *)text, wf_le32(outer->plen)))
        return true;
    if (r == WF_STALE)
        o->counts[WF_ORDER_DUPLICATES]++;
    else
        wf_order_reject_damaged(o, k);
    return false;
}
