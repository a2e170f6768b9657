/* On which nodes the members of a communicator are, as far as the launcher
 * says: the same on every member.
 *
 *   members  0 1 2 3 | 4 5 | 6 7 8     ranks, node by node, ascending
 *   first    ^         ^     ^     ^   of each node, and the end
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_LAYOUT_H
#define WF_LAYOUT_H

#include "comm/comm.h"

struct wf_layout {
    int nodes, mine;  /* mine: the node of this process */
    bool consecutive; /* members[i] == i */
    int *first;       /* [nodes + 1] */
    int *members;     /* [size] */
};

/* Of the local group; kept by the communicator. NULL: out of memory. */
const struct wf_layout *wf_layout_of(struct wf_comm *);
void wf_layout_drop(struct wf_comm *);
/* This one is on one node, whatever the launcher says. */
void wf_layout_single(struct wf_comm *);

#endif
