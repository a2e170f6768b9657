/* Receiving: passes containers from the own mailbox to the core. See mailbox.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_THREAD_DELIVER_H
#define WF_THREAD_DELIVER_H

#include "base.h"

/* Handles at most budget containers; returns how many. */
int wf_thread_receive(weft_ep *, int budget);
int wf_thread_recv_words(weft_peer *, weft_want *);

#endif
