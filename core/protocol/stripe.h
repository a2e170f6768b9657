/* Stripes: the chunks of large messages are sent by several carriers at once.
 * See order.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_STRIPE_H
#define WF_PROTOCOL_STRIPE_H

#include "base.h"

struct wf_ordered;
struct wf_retained;

/* The carrier that a piece goes by now; -1: it has to wait. */
int wf_stripe_choose(const struct wf_ordered *, const struct wf_retained *);

/* Note that a carrier has taken a piece. */
void wf_stripe_note_sent(struct wf_ordered *, int carrier,
                         struct wf_retained *);

/* Note that the peer has what this carrier took, up to seq. */
void wf_stripe_note_landed(struct wf_ordered *, int carrier, uint32_t seq);

/* Note that the peer has a piece in flight, by an acknowledgement of all pieces
 * up to it. */
void wf_stripe_note_acked(struct wf_ordered *, struct wf_retained *);

/* Take a piece out of the flight of its carrier. */
void wf_stripe_end_flight(struct wf_ordered *, struct wf_retained *);

/* The part of the maintenance round for carriers beside the current one. */
void wf_stripe_maintain(struct wf_ordered *, uint64_t now);

/* Whether a carrier beside the current one has pieces in flight, so that a
 * round is due soon. */
bool wf_stripe_has_pieces(const struct wf_ordered *);

#endif
