/* The end of operations at their origin: results, answers and failures.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_FINISH_H
#define WF_RMA_FINISH_H

#include "rma/operation.h"

struct wf_rma_message;

/* Handle messages that come back from a target. */
void wf_rma_take_result(struct wf_win_peer *, struct wf_rma_message *);
void wf_rma_take_answer(struct wf_win_peer *, const struct wf_rma_message *);
void wf_rma_take_failure(struct wf_win_peer *, const struct wf_rma_message *);
/* Ends one part of an operation; the last one completes it and frees it. */
void wf_rma_end_part(struct wf_rma_op *, uint8_t part);
/* Creates the request of an operation. NULL: out of memory, recorded. */
struct wf_req *wf_rma_create_request(struct wf_win_peer *);
/* Notes that a target has work that is not synchronised. */
void wf_rma_mark_dirty(struct wf_win_peer *);
/* The place in win->dirty is given back. */
void wf_rma_mark_clean(struct wf_win_peer *);

#endif
