/* Fetches a message by one copy from the sender's memory; both sides copy a
 * part.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_THREAD_ASSIST_H
#define WF_THREAD_ASSIST_H

#include "base.h"

/* The get() of the ADI (weft_transport.h). */
int wf_thread_get(weft_peer *, weft_get *);

/* Helps with the copy of a peer, which has sent the claim word of its job. */
void wf_assist_copy(weft_peer *, uint64_t word);

/* Tells whether the shared copy of this rank is complete. */
bool wf_assist_is_done(const weft_ep *);

/* Waits until the shared copy is complete; its memory is about to go. */
void wf_assist_await_done(weft_ep *);

#endif
