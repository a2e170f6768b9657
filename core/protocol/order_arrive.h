/* The receiving half of an ordered pair: checks containers, drops duplicates,
 * assembles those that come in parts, opens sealed ones, and keeps each until
 * its sequence number is next (order_deliver.c). See order.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_ORDER_ARRIVE_H
#define WF_PROTOCOL_ORDER_ARRIVE_H

#include "base.h"

struct weft_core;
struct weft_loc;
struct wf_carrier;
struct wf_ordered;

/* Process a container with WF_SEQUENCED in its type; results as wf_arrive. */
int wf_order_arrive(struct weft_core *, struct weft_loc *, const weft_hdr *,
                    const void *data, size_t have, weft_sink **);

/* Deliver staged containers whose number is next. false: memory for one is
 * lacking, call again. */
bool wf_order_redeliver(struct wf_ordered *);

/* Free the staged containers of a carrier; no plugin may use them any more. */
void wf_order_free_staged(struct wf_carrier *);

#endif
