/* The choice of the transport that carries an ordered pair: see order.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_CARRIER_H
#define WF_PROTOCOL_CARRIER_H

#include "base.h"

struct weft_core;
struct weft_loc;
struct wf_instance;
struct wf_ordered;
struct wf_wire;

/* The index of the carrier through this endpoint, or -1. */
int wf_carrier_index_of(const struct wf_ordered *, const struct weft_core *);

/* Note that the carrier answered WEFT_EAGAIN. */
void wf_carrier_note_blocked(struct wf_ordered *, int carrier);

/* Give up a carrier that failed or delivered nonsense. The maintenance round
 * replaces its peer, which may be on the stack now. */
void wf_carrier_give_up(struct wf_ordered *, int carrier, const char *why);

/* The plugin reports that a connection is down. true: the location is ordered
 * and the report is dealt with. */
bool wf_carrier_handle_down(struct weft_loc *, struct weft_core *, int status,
                            const char *why);

/* The plugin takes containers again. */
void wf_carrier_resume(struct weft_loc *, struct weft_core *);

/* Process an ACK, PING or PONG. */
void wf_carrier_take_control(struct wf_ordered *, struct weft_core *,
                             const struct wf_wire *);

/* Note that a valid container of this epoch came in. */
void wf_carrier_note_heard(struct wf_ordered *, struct weft_core *,
                           uint8_t epoch);

/* Connect the current carrier, so that the peer's death is noticed. */
void wf_carrier_connect(struct wf_ordered *);

/* Declare the peer dead. Not from a callback. */
void wf_carrier_declare_dead(struct wf_ordered *, const char *why);

/* The maintenance round of all pairs: timers, and everything that callbacks may
 * not do. It runs now and then, and at the end of a poll in which it was
 * requested. */
void wf_orders_maintain(struct wf_instance *);

/* Acknowledge what is owed and end the maintenance: both sides have finished,
 * and from now on broken carriers do not matter. */
void wf_orders_finish(struct wf_instance *);

#endif
