/* Flow control of eager data: it limits what a sender leaves unread at a
 * receiver.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_CREDIT_H
#define WF_PROTOCOL_CREDIT_H

#include "base.h"

struct weft_loc;

/* Return the credit of consumed messages to their sender. */
void wf_credit_return(struct weft_loc *);

/* The peer has returned credit: CREDIT. */
void wf_credit_received(struct weft_loc *, uint64_t bytes);

#endif
