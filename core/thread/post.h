/* Sending: puts containers into the mailbox of the receiver. See mailbox.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_THREAD_POST_H
#define WF_THREAD_POST_H

#include "base.h"

/* Operations of the ADI (weft_transport.h). */
int wf_thread_send(weft_peer *, weft_tx *);
int wf_thread_send_short(weft_peer *, const weft_hdr *, const void *, size_t,
                         unsigned flags);
int wf_thread_send_words(const void *data, uint64_t h0, weft_peer *,
                         uint64_t h1, uint64_t h2);

#endif
