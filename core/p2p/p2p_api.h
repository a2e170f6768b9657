/* What the files of this chapter share.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_P2P_API_H
#define WF_P2P_API_H

#include "progress/critical.h"
#include "protocol/p2p.h"

struct wf_send_args {
    const void *buf;
    uint64_t count;
    struct wf_type *type;
    int dest, tag;
};

/* Buffered send: copies into the attached buffer if it cannot leave at once. */
int wf_bsend(struct wf_comm *, const struct wf_send_args *);

/* Small data that is not one block is packed into `room` before the section is
 * entered, where that is not around the whole call. false: it is not so. */
enum { WF_PACK_OUTSIDE = 1024 };
bool wf_pack_small(struct wf_send_args *, uint8_t room[WF_PACK_OUTSIDE]);
static inline bool wf_pack_outside(struct wf_send_args *a,
                                   uint8_t room[WF_PACK_OUTSIDE])
{
    return WF_BRIEF && wf_unlikely(!wf_type_contiguous(a->type)) &&
           wf_pack_small(a, room);
}

#endif
