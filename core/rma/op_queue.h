/* The queue of operations by message at their origin, and the way past it.
 * LOCK  the API section of the window's engine.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_OP_QUEUE_H
#define WF_RMA_OP_QUEUE_H

#include "rma/operation.h"

/* Puts an operation at the end of the queue of its target, and sends what may
 * be sent. */
void wf_rma_enqueue(struct wf_rma_op *);
/* Sends what waits in the queue, as far as it may go. */
void wf_rma_pump(struct wf_win_peer *);
/* Ends all operations with a target that is gone. */
void wf_rma_lose_target(struct wf_win_peer *);

/* Returns whether an operation that is one message may be sent now, by
 * wf_rma_send_whole. */
bool wf_rma_may_pass_queue(struct wf_win_peer *, const struct wf_rma_call *);
/* Sends an operation that is one message and is not answered. Returns an error
 * class, recorded. */
int wf_rma_send_whole(struct wf_win_peer *, const struct wf_rma_call *);
/* Sends a question if it may go now; else returns false. */
bool wf_rma_ask_past_queue(struct wf_win_peer *, enum wf_rma_kind,
                           uint64_t number);

#endif
