/* Operations of the transport on memory that a member has exposed to it: a
 * second way of the leg of messages.
 *
 *   origin                                      target
 *   first operation     -- EXPOSE, its message ->  mr_expose, mr_pack
 *   rkey_open           <- KEY ------------------
 *   later ones: weft_ops.rma, while they may begin at once and need no order
 *   against messages; else a message, as before
 *   flush, unlock, complete: first the transport's flush, then the question
 *
 * LOCK  the API section of the window's engine.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_EXPOSED_H
#define WF_RMA_EXPOSED_H

#include "rma/message.h"
#include "rma/operation.h"

/* Starts an operation by the transport. Returns false if it is to be a message;
 * else *rc is an error class, and *req the program's request unless req is
 * NULL. */
bool wf_exposed_start(struct wf_win_peer *, const struct wf_rma_call *,
                      struct wf_req **req, int *rc);
/* Has the transport complete at the target what it was given. The end of that
 * is that of an operation which is pending. */
void wf_exposed_flush(struct wf_win_peer *);

/* Exposes memory of this process to the transports, unless that was done.
 * Returns whether some of them have atomic operations there. */
bool wf_exposed_offer(struct wf_win *);
/* Handle EXPOSE and KEY. */
void wf_exposed_send_key(struct wf_win_peer *);
void wf_exposed_take_key(struct wf_win_peer *, const struct wf_rma_message *);

/* Ends all operations on a member that is gone, whose key is the transport's
 * again. */
void wf_exposed_lose(struct wf_win_peer *);
/* Closes the keys of other members: this process operates no more. */
void wf_exposed_close(struct wf_win *);
/* Takes back what was offered: the others operate no more. */
void wf_exposed_withdraw(struct wf_win *);

#endif
