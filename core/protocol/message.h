/* The bridge: protocol messages become containers on a lane.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_MESSAGE_H
#define WF_PROTOCOL_MESSAGE_H

#include "base.h"
#include "protocol/wire.h"

struct weft_core;
struct weft_loc;
struct wf_tx;
struct wf_wire;

/* Send a control message without payload. It is copied, and taken in any case.
 * urgent: it may overtake containers that wait. */
void wf_message_send_control(struct weft_loc *, struct wf_wire *, bool urgent);
/* Send a control message by a lane, in turn, with a few bytes of payload (at
 * most WF_CONTROL_MAX), which are copied. */
void wf_message_send_control_on(struct weft_loc *, unsigned lane,
                                struct wf_wire *, const void *payload,
                                size_t n);

/* Send a container of the caller; t->done follows exactly once, maybe at
 * once. */
void wf_message_send(struct weft_loc *, unsigned lane, struct wf_tx *t);

/* Allocate a container with room for n bytes of payload, at one.iov_base;
 * done() frees it. NULL: out of memory. */
struct wf_tx *wf_message_alloc(size_t n);

/* Copy the payload of a container into one piece. */
void wf_message_gather(weft_tx *, void *to);

/* The plugin can send again (tx_ready): send what waits. */
void wf_message_resume(struct weft_loc *, struct weft_core *);

/* Send the containers that wait in the order lane. */
void wf_message_unblock(struct weft_loc *);

/* End the containers that wait in any lane, with this status. */
void wf_message_drop_fifo(struct weft_loc *, int status);
void wf_wire_init(struct wf_wire *, enum wf_wire_type, uint16_t flags);

#endif
