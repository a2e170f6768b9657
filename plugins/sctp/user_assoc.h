/* The declarations that the files around libusrsctp share; the interface for
 * the rest of the transport is stack.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SCTP_USER_ASSOC_H
#define WF_SCTP_USER_ASSOC_H

#include "library.h"
#include "stack.h"

enum {
    /* retransmitted packets are built without room for the common header */
    USER_HEAD = sizeof(struct sctp_common_header),
    USER_SLACK = 1024 /* a sender does not take so little for an open window */
};

/* stack.c: the library; NULL before the first endpoint has entered. */
const struct wf_sctp_library *wf_sctp_stack_library(void);

/* user_packet.c: sends a packet of the association `addr`; the library calls
 * it, under the lock. */
int wf_sctp_user_output(void *addr, void *packet, size_t n, uint8_t tos,
                        uint8_t df);

#endif
