/* The start of operations by message at their origin.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_START_H
#define WF_RMA_START_H

#include "rma/operation.h"

/* Starts an operation by messages. *req: the program's request is wanted if req
 * is not NULL. */
int wf_rma_start(struct wf_win_peer *, const struct wf_rma_call *,
                 struct wf_req **req);
/* Puts a question, FLUSH or UNLOCK, behind the operations of the queue. */
int wf_rma_ask(struct wf_win_peer *, enum wf_rma_kind);

#endif
