/* Sealed carriers: handshakes give them their keys.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_CARRIER_SEAL_H
#define WF_PROTOCOL_CARRIER_SEAL_H

#include "base.h"

struct weft_core;
struct weft_loc;
struct wf_auth_session;
struct wf_ordered;

/* Give each carrier over a network a seal, before it carries anything. 0 or
 * WEFT_ENOMEM. */
int wf_carrier_add_seals(struct wf_ordered *);

/* A handshake with process `id` is done (wf_rank.on_authenticated). */
void wf_carrier_add_session(struct weft_core *, uint32_t id,
                            const struct wf_auth_session *);

/* A carrier has connected: send what waited for its session. */
void wf_carrier_note_connected(struct weft_loc *, struct weft_core *);

#endif
