/* Blocking point-to-point (MPI-5.0 s3.2, s3.4, s3.10).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_P2P_BLOCKING_H
#define WF_P2P_BLOCKING_H

#include "datatype/type.h"
#include "lock/critical.h"
#include "os/tuning.h"
#include "protocol/p2p.h"

/* Pack the data into `room` and let *a describe the packed bytes; false: they
 * do not fit. Small noncontiguous data is packed before the section is entered,
 * so that it is held for a shorter time. */
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
