/* Real-time channels: a communicator with an engine of its own, on which room,
 * credit and memory for a number of messages are set aside.
 *
 *   info keys --wf_channel_read--> terms
 *   agreement on the context id (context.h)    one channel that all have free
 *   wf_channel_make                            engine, lanes, agreement
 *   the communicator is destroyed --free--> the channel is free again
 *
 * docs/internals/real-time-channels.md has the reasons.
 *
 * LOCK  the API section of the communicator's engine.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CHANNEL_H
#define WF_CHANNEL_H

#include "group/comm.h"
#include "protocol/reserve.h"

struct wf_channel_terms; /* comm/channel_info.h */

/* The channel of a communicator. */
struct wf_channel {
    unsigned number; /* of the channel: its engine's is WF_ENGINES_MAX more */
    struct wf_reservation reservation;
    /* Gives the channel back when the communicator is destroyed. */
    void (*free)(struct wf_comm *);
};

/* Make the channel of a new communicator that no call has used yet; all
 * members call this, inside the section of the parent's engine, with a channel
 * that they have taken. With the result MPI_SUCCESS either all members have
 * made it and comm->wf is its engine, or none has; else a member is dead. */
int wf_channel_make(struct wf_comm *parent, struct wf_comm *comm,
                    const struct wf_channel_terms *, int channel);

#endif
