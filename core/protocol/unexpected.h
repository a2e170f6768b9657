/* Unexpected messages: they are stored in memory of about their size.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_UNEXPECTED_H
#define WF_PROTOCOL_UNEXPECTED_H

#include "base.h"

struct weft_loc;
struct wf_arrived;
struct wf_engine;
struct wf_envelope_length;
struct wf_instance;
struct wf_message;
struct wf_wire;

/* Let plugins read again that were told to stop for lack of memory; and run the
 * timers of ordered pairs. */
void wf_arrive_resume(struct wf_instance *);

/* Store a message of which `have` of `room` bytes of payload are here: the rest
 * arrives through message->landing. NULL: out of memory. */
struct wf_message *wf_unexpected_create(struct weft_loc *,
                                        const struct wf_wire *, uint64_t length,
                                        size_t room, size_t have);

/* Note that there is no memory for a message from this peer, and give the peer
 * up if that lasts. */
WF_COLD void wf_unexpected_note_starvation(struct weft_loc *, size_t room);

void wf_unexpected_free(struct wf_message *);

bool wf_unexpected_take(struct wf_arrived *, void *buf, uint64_t room,
                        struct wf_envelope_length *);
/* Set memory aside for n messages of up to `room` bytes, until it is given back
 * with the same numbers. False: out of memory, or they are too large. */
bool wf_unexpected_reserve(struct wf_engine *, size_t room, uint64_t n);
void wf_unexpected_unreserve(struct wf_engine *, size_t room, uint64_t n);
void wf_unexpected_init(struct wf_engine *);
void wf_unexpected_fini(struct wf_engine *);

#endif
