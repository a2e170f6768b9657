/* The launcher's word on a peer: whether its process has ended, and whether it
 * is in MPI. See carrier.c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_CARRIER_LAUNCHER_H
#define WF_PROTOCOL_CARRIER_LAUNCHER_H

#include "base.h"

struct wf_ordered;

/* Whether the process has ended, while no carrier works and one reported so, or
 * the launcher was asked. */
bool wf_carrier_gone(struct wf_ordered *, uint64_t now);

/* Whether the peer is in MPI, as it says by way of the launcher. */
enum wf_presence {
    WF_PRESENCE_UNKNOWN,   /* the launcher cannot tell */
    WF_PRESENCE_UNDECIDED, /* the peer has had no time to answer */
    WF_PRESENT,            /* it is in MPI */
    WF_ABSENT              /* it runs, and is not: it computes */
};
enum wf_presence wf_carrier_presence(struct wf_ordered *, uint64_t now);

#endif
