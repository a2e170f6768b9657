/* Declarations that the files of the point-to-point chapter share.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_P2P_API_H
#define WF_P2P_API_H

#include "lock/critical.h"
#include "protocol/p2p.h"

struct wf_send_args {
    const void *buf;
    uint64_t count;
    struct wf_type *type;
    int dest, tag;
};

/* Send a message from a copy in the attached buffer (MPI_Bsend). */
int wf_bsend(struct wf_comm *, const struct wf_send_args *);

/* Up to so many bytes of noncontiguous data are packed before the section is
 * entered, so that it is held for a shorter time. */
enum { WF_PACK_OUTSIDE = 1024 };
/* Pack the data into `room` and let *a describe the packed bytes; false: they
 * do not fit. */
bool wf_pack_small(struct wf_send_args *, uint8_t room[WF_PACK_OUTSIDE]);
/* Pack small noncontiguous data, in builds in which the section is not around
 * the whole call. */
static inline bool wf_pack_outside(struct wf_send_args *a,
                                   uint8_t room[WF_PACK_OUTSIDE])
{
    return WF_BRIEF && wf_unlikely(!wf_type_is_contiguous(a->type)) &&
           wf_pack_small(a, room);
}

#endif
