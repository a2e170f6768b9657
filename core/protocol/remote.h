/* Operations of a transport on memory that a peer has exposed.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_REMOTE_H
#define WF_PROTOCOL_REMOTE_H

#include "base.h"

/* An operation that the transport has (weft_ops.rma), with the function that
 * takes it back; called inside the API section. */
struct wf_remote {
    weft_rma rma;
    void (*done)(struct wf_remote *, int status);
};

#endif
