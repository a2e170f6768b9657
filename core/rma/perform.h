/* One message of an origin, performed at its target.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_PERFORM_H
#define WF_RMA_PERFORM_H

#include "rma/message.h"
#include "rma/win.h"

/* Performs a message whose origin has the lock, or needs none. */
void wf_rma_perform(struct wf_win_peer *, const struct wf_rma_message *);
/* Logs a message that makes no sense. */
void wf_rma_log_skipped(const struct wf_win_peer *, const char *why);

#endif
