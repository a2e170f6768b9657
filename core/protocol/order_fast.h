/* The fast path of an ordered pair: a short message that leaves at once by the
 * current carrier, or that comes by it and is the next one. Also checksums and
 * acknowledgement, which both directions need. See order.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_ORDER_FAST_H
#define WF_PROTOCOL_ORDER_FAST_H

#include "base.h"

struct weft_core;
struct weft_loc;
struct wf_ordered;
struct wf_retained;
struct wf_wire;

/* The send_words of a lane for pairs with failover (order.h). */
int wf_order_send_words(const void *, uint64_t h0, weft_peer *, uint64_t h1,
                        uint64_t h2);

/* Deliver by the fast path: a whole short message that is the next one. false:
 * nothing has happened, wf_order_arrive is for it. */
bool wf_order_arrive_fast(struct wf_ordered *, struct weft_core *,
                          const weft_hdr *, const void *data, size_t have);

/* Open the fast path as far as the state of the pair allows. */
void wf_order_open_fast_path(struct wf_ordered *);

/* Whether the checksums of a container are right; whole: its payload is at
 * `data`, or else only the header is checked. */
bool wf_order_has_right_sums(const struct wf_ordered *, const struct wf_wire *,
                             const void *data, bool whole);

/* Count a delivered container with plen bytes of payload as not acknowledged,
 * and acknowledge at once if enough of them are. */
void wf_order_count_owed(struct wf_ordered *, struct weft_core *,
                         const struct wf_wire *, uint32_t plen);

/* Put a retained container that is of no more use to the spare ones. */
void wf_order_recycle_retained(struct wf_retained *);

/* Process an acknowledgement; current: it came by the current carrier. */
void wf_order_process_ack(struct wf_ordered *, uint32_t ack, bool current);

/* Fill in all of a header but type, length and envelope. The checksums cover it
 * and the n bytes at `data`. */
void wf_order_finish_header(struct wf_ordered *, struct wf_wire *, uint32_t seq,
                            const void *data, size_t n);

/* Release all retained containers with this status: the process is gone. */
void wf_order_drop_retained(struct weft_loc *, int status);

/* Deliver a container that is or should be sequenced or checksummed
 *. */
int wf_arrive_marked(struct weft_core *, struct weft_loc *, const weft_hdr *,
                     const void *data, size_t have, weft_sink **sink);

#endif
