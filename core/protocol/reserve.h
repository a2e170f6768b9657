/* Lanes and memory that a real-time channel sets aside in its engine
 * (comm/channel.h), for the messages that its members may have under way.
 *
 * LOCK  the API section of the engine.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RESERVE_H
#define WF_RESERVE_H

#include "base.h"

struct wf_instance;

/* The largest message and the rate of a channel that does not name them. */
enum { WF_CHANNEL_BYTES = 64, WF_CHANNEL_RATE = 1000 };

/* Messages that each member may have under way to each other one. */
struct wf_reservation {
    uint64_t bytes;    /* of the largest */
    uint32_t messages; /* their number */
    uint32_t members;  /* from which they come */
};

/* The number of messages under way for a rate: WF_CHANNEL_PERIOD_MS of it. */
uint32_t wf_reserve_depth(uint64_t rate);

/* Go on with connecting to a process and with reserving a lane to it. 0: it is
 * there. WEFT_EAGAIN: call again when the engine has been polled. Any other
 * error, recorded: there will be none. */
int wf_reserve_lane(struct wf_instance *, uint32_t id,
                    const struct wf_reservation *);

/* Set memory aside for unexpected messages, which must be within the credit. 0
 * or WEFT_E*, recorded. */
int wf_reserve_memory(struct wf_instance *, const struct wf_reservation *);
void wf_unreserve_memory(struct wf_instance *, const struct wf_reservation *);

#endif
