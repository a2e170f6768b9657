/* Packets that arrive in parts: see part.c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SCTP_PART_H
#define WF_SCTP_PART_H

#include <stdint.h>

struct wf_sctp_datagram;

/* Packets whose parts are coming in; the place of one is its number modulo
 * JOINTS. */
enum { JOINTS = 16 };
struct wf_sctp_joint {
    uint8_t *bytes; /* NULL: it is free */
    uint32_t n, number, assoc;
    uint64_t have; /* bit i: part i is here */
};
struct wf_sctp_joints {
    struct wf_sctp_joint joint[JOINTS];
};

/* Takes a part. Returns the packet of d->offer bytes if it is whole now, valid
 * until the next call; else NULL. */
const uint8_t *wf_sctp_join_part(struct wf_sctp_joints *,
                                 const struct wf_sctp_datagram *);
void wf_sctp_joints_free(struct wf_sctp_joints *);

#endif
