/* Silence of the current carrier of a pair, and of the peer. See carrier.c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_CARRIER_SILENCE_H
#define WF_PROTOCOL_CARRIER_SILENCE_H

#include "base.h"

struct wf_ordered;

/* Whether anything has passed on the carrier since the last call. */
bool wf_carrier_has_traffic(struct wf_ordered *, int carrier);

/* Whether the current carrier is silent: nothing is acknowledged by it, and
 * nothing passes, for longer than the limit. */
bool wf_carrier_is_silent(struct wf_ordered *, uint64_t now);

/* Restart the measurement of silence: the current carrier gave a sign. */
void wf_carrier_restart_silence(struct wf_ordered *, uint64_t now);

/* Whether an acknowledgement is overdue. */
bool wf_carrier_is_ack_overdue(const struct wf_ordered *, uint64_t now);

/* Whether no carrier has had a sign of life of the peer for the route's
 * timeout, though all were probed. */
bool wf_carrier_is_peer_lifeless(struct wf_ordered *, uint64_t now);

/* Count the answers of hosts as signs of life while no carrier is current, as
 * far as they are. */
void wf_carrier_look_beside(struct wf_ordered *, uint64_t now);

/* Whether the route's timeout has passed without a sign of life while no
 * carrier is current, and the others have had time to answer. */
bool wf_carrier_is_search_over(const struct wf_ordered *, uint64_t now);

/* Subtract a time without maintenance rounds from the silence of the peer. */
void wf_carrier_excuse_absence(struct wf_ordered *, uint64_t now);

/* The limit `ns` on silence, doubled for each recent move without progress. */
uint64_t wf_carrier_back_off_limit(const struct wf_ordered *, uint64_t ns,
                                   uint64_t now);

/* Note that the pair moves to another carrier, or to a renewed one. */
void wf_carrier_note_move(struct wf_ordered *, uint64_t now);

/* When to check again for a sign that sent containers arrive. */
uint64_t wf_carrier_next_check(const struct wf_ordered *, uint64_t now);

#endif
