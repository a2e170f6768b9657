/* Operations at their target: what arrives, and its effect on memory.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_TARGET_H
#define WF_RMA_TARGET_H

#include "rma/message.h"
#include "rma/win.h"

struct wf_rma_swap;
struct wf_type;

/* Handles a message of one-sided communication. */
void wf_rma_arrive(struct wf_windows *, struct weft_loc *from,
                   const struct wf_rma_message *);
/* Performs the messages that waited until their origin had the lock. */
void wf_rma_perform_kept(struct wf_win_peer *);
/* Frees the messages of an origin that waits. */
void wf_rma_drop_kept(struct wf_win_peer *);

#endif
