/* Statuses: the results of everything below the chapters (base.h, ERRORS).
 *
 *        0, or positive     success
 *       -1 .. -11           WEFT_E* of weft_transport.h, as plugins return them
 *      -32, -33             outcomes of a message
 *      -65 ..               WF_ECHAPTER - c: the error class c of a chapter, of
 *                           whose operation a request is
 *
 * object/error.h turns a status into an MPI error class and back.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_REPORT_STATUS_H
#define WF_REPORT_STATUS_H

#include "base.h"

enum wf_status {
    WF_ETRUNCATED = -32, /* the message is longer than its receive */
    WF_ESHORT = -33,     /* it is shorter, and that is asserted not to happen */
    WF_ECHAPTER = -64
};

/* Whether a peer, or the way to it, is gone. */
static inline bool wf_status_is_loss(int status)
{
    return status == WEFT_EPEER || status == WEFT_ELINK;
}

/* Whether a message has another length than its receive. */
static inline bool wf_status_is_wrong_length(int status)
{
    return status == WF_ETRUNCATED || status == WF_ESHORT;
}

#endif
