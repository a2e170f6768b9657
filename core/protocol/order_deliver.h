/* Delivery of complete containers of an ordered pair, and predicates on their
 * headers. Only the receiving half (order_arrive.c) uses it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ORDER_DELIVER_H
#define WF_ORDER_DELIVER_H

#include "protocol/order.h"

/* Whether the sender stripes: its containers come by several carriers. */
static inline bool wf_order_is_striped(const struct wf_wire *w)
{
    return wf_le16(w->flags) & WF_FLAG_STRIPED;
}

/* Whether it is a piece of a striped message. */
static inline bool wf_order_is_piece(const struct wf_wire *w)
{
    return w->type == (WF_TRANSFER | WF_SEQUENCED) && wf_order_is_striped(w);
}

static inline bool wf_order_is_control(const struct wf_wire *w)
{
    unsigned type = w->type & ~(unsigned)WF_SEQUENCED;

    return type == WF_ACK || type == WF_PING || type == WF_PONG;
}

/* Whether the container is not the next one. A duplicate is counted; after a
 * gap the carrier is given up. */
bool wf_order_is_out_of_sequence(struct wf_ordered *, int carrier,
                                 const struct wf_wire *, uint32_t next);
/* Process what every valid header says: the epoch and the acknowledgement. */
void wf_order_process_header(struct wf_ordered *, struct weft_core *,
                             int carrier, const struct wf_wire *);
/* Deliver a complete container with right checksums. WEFT_DONE, also for one
 * that is dropped because it is not the next; WEFT_EAGAIN: no memory. */
int wf_order_deliver(struct wf_ordered *, struct weft_core *, int carrier,
                     const struct wf_wire *, const void *data);
/* Count a damaged container and give up its carrier. WEFT_DONE. */
int wf_order_reject_damaged(struct wf_ordered *, int carrier);
/* Decrypt a sealed container to `text`; *by is the session that sealed it.
 * false: it is old, or the peer has not sealed it; that is dealt with. */
bool wf_order_open_sealed(struct wf_ordered *, int carrier,
                          const struct wf_wire *outer, const void *data,
                          uint8_t *text, struct wf_session **by);

#endif
