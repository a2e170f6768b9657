/* What the files of this chapter share.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_P2P_API_H
#define WF_P2P_API_H

#include "protocol/p2p.h"

struct wf_send_args {
    const void *buf;
    uint64_t count;
    struct wf_type *type;
    int dest, tag;
};

/* Buffered send: copies into the attached buffer if it cannot leave at once. */
int wf_bsend(struct wf_comm *, const struct wf_send_args *);

#endif
