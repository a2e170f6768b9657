/* The communicator and the peer of a wait, as the state page shows them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_GROUP_DESCRIBE_WAIT_H
#define WF_GROUP_DESCRIBE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

struct wf_comm;
struct wf_wait;

/* Sets name and context id of the communicator, which may be NULL. */
void wf_wait_set_comm(struct wf_wait *, const struct wf_comm *);
/* Sets the peer, and with a communicator its rank in
 * the job; it is a rank of the peer group, or with `local` of the local group,
 * or else WF_STATE_ANY. */
void wf_wait_set_peer(struct wf_wait *, const struct wf_comm *, bool local,
                      int64_t peer);

#endif
