/* Rendezvous: the payload moves only when both sides know where to.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_RENDEZVOUS_H
#define WF_PROTOCOL_RENDEZVOUS_H

#include "base.h"

struct weft_core;
struct weft_loc;
struct wf_engine;
struct wf_p2p;
struct wf_wire;

/* Announce a send to its receiver: NOTIFY. */
int wf_rendezvous_notify(struct wf_p2p *send);

/* The lane for a payload of that size, where order does not matter. */
unsigned wf_bulk_lane(const struct weft_loc *, uint64_t bytes);

/* Accept a rendezvous: pull the payload, or approve. key and n are the NOTIFY's
 * payload, which came through core. */
void wf_rendezvous_accept(struct wf_p2p *recv, struct weft_loc *from,
                          struct weft_core *, uint64_t send_id,
                          const uint8_t *key, size_t n);

/* Handle an APPROVE: send the payload. */
void wf_rendezvous_approved(struct weft_loc *, const struct wf_wire *);

/* Handle a TRANSFER; as wf_arrive. */
int wf_rendezvous_transfer(struct weft_loc *, const struct wf_wire *,
                           const void *data, size_t have, weft_sink **sink);

/* Give a send an id in the pending table. 0 or WEFT_ENOMEM. */
int wf_slot_add_pending(struct wf_p2p *);

/* Remove a request from the pending or matched table, if it is there. */
void wf_slot_release(struct wf_engine *, struct wf_p2p *);

#endif
