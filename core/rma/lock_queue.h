/* The lock on memory of this process, as its target: shared or exclusive, and
 * given in the order in which it was asked for.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_LOCK_QUEUE_H
#define WF_RMA_LOCK_QUEUE_H

#include "rma/win.h"

/* An origin asks for the lock. It has it now, or waits. */
void wf_lock_queue_ask(struct wf_win_peer *, enum wf_lock_type);
/* An origin gives its lock back, if it has one. */
void wf_lock_queue_release(struct wf_win_peer *);
/* An origin is gone: it neither holds the lock nor waits for it any more, and
 * those that waited while it held the lock are told. */
void wf_lock_queue_lose_holder(struct wf_win_peer *);
/* Returns whether any process has the lock or waits for it. */
bool wf_lock_queue_is_busy(const struct wf_win *);

#endif
