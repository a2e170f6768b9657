/* Control messages of carriers: acknowledgements, probes and their answers. See
 * order.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_CARRIER_CONTROL_H
#define WF_PROTOCOL_CARRIER_CONTROL_H

#include "base.h"

struct weft_core;
struct wf_ordered;

/* Send an acknowledgement, or leave it to the maintenance round. core: where
 * the acknowledged container came from, or NULL. */
void wf_carrier_send_ack(struct wf_ordered *, struct weft_core *);

/* Send the control messages that are due on a carrier. */
void wf_carrier_send_due(struct wf_ordered *, int carrier);

/* Note that a piece is here: the peer learns so by the same carrier. */
void wf_carrier_note_piece(struct wf_ordered *, int carrier, uint32_t seq);

/* Make a PING due, unless one is unanswered. */
void wf_carrier_request_probe(struct wf_ordered *, int carrier);

#endif
