/* The nodes of the members of a communicator, as far as the launcher says: the
 * same on every member.
 *
 *   members  0 1 2 3 | 4 5 | 6 7 8     ranks, node by node, ascending
 *   first    ^         ^     ^     ^   of each node, and the end
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_LAYOUT_H
#define WF_LAYOUT_H

#include "group/comm.h"

struct wf_layout {
    int nodes, mine;  /* mine: index of this process's node */
    bool consecutive; /* members[i] == i */
    int *first;       /* [nodes + 1] */
    int *members;     /* [size] */
};

/* Returns the layout of the local group, which the communicator keeps. NULL:
 * out of memory. */
const struct wf_layout *wf_layout_of(struct wf_comm *);
void wf_layout_drop(struct wf_comm *);
/* Sets the layout to one node, whatever the launcher says. */
void wf_layout_set_single_node(struct wf_comm *);

#endif
