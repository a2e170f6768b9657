/* Pull: a rendezvous in which the receiver fetches the payload.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_PULL_H
#define WF_PROTOCOL_PULL_H

#include "protocol/wire.h"

struct weft_core;
struct weft_loc;
struct wf_p2p;

/* Describe the send buffer for a pull. Returns the bytes written to `key`, 0 if
 * the payload must be pushed. */
size_t wf_pull_offer(struct wf_p2p *send, uint8_t key[static WF_CONTROL_MAX]);

/* Start to pull. False: the sender must push instead (approve). */
bool wf_pull_start(struct wf_p2p *recv, struct weft_loc *from,
                   struct weft_core *, uint64_t send_id, const uint8_t *key,
                   size_t n);

/* The plugin has finished a get(). */
void wf_pull_done(weft_get *, int status);

/* Release the registration and the key of a pull. */
void wf_pull_release(struct wf_p2p *);

#endif
