/* What a container of an ordered pair is, and what it does once it is complete.
 * Only the receiving half (order_arrive.c) asks.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ORDER_TAKE_H
#define WF_ORDER_TAKE_H

#include "protocol/order.h"

/* Of a sender whose carriers share. */
static inline bool wf_order_parted(const struct wf_wire *w)
{
    return wf_le16(w->flags) & WF_FLAG_PARTED;
}

/* Of the same: a piece of a large message. */
static inline bool wf_order_piece(const struct wf_wire *w)
{
    return w->type == (WF_TRANSFER | WF_SEQUENCED) && wf_order_parted(w);
}

static inline bool wf_order_control(const struct wf_wire *w)
{
    unsigned type = w->type & ~(unsigned)WF_SEQUENCED;

    return type == WF_ACK || type == WF_PING || type == WF_PONG;
}

/* Not the one that is next: a double, or one behind a gap of its carrier. */
bool wf_order_off_turn(struct wf_ordered *, int carrier, const struct wf_wire *,
                       uint32_t next);
/* What a header says besides its container. */
void wf_order_hear(struct wf_ordered *, struct weft_core *, int carrier,
                   const struct wf_wire *);
/* One that is complete and right: DONE, or EAGAIN for want of memory. */
int wf_order_take(struct wf_ordered *, struct weft_core *, int carrier,
                  const struct wf_wire *, const void *data);
/* Its carrier is given up; DONE. */
int wf_order_damaged(struct wf_ordered *, int carrier);
/* Open a sealed one. False: it is old, or nothing that the peer has sealed. */
bool wf_order_unwrap(struct wf_ordered *, int carrier,
                     const struct wf_wire *outer, const void *data,
                     uint8_t *text, struct wf_session **by);

#endif
