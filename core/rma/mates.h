/* The members of a window that are on one node, and may share memory.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_MATES_H
#define WF_RMA_MATES_H

#include "rma/map.h"

/* Returns whether the members of some node may share memory, which all find
 * alike. here: those of this node. It uses win->scratch. */
bool wf_mates_find_sharing_nodes(const struct wf_win *, bool *here);

/* Makes the list of the members on the node of this process. NULL: out of
 * memory. */
struct wf_win_map *wf_mates_make(const struct wf_win *);
void wf_mates_free(struct wf_win_map *);

/* Returns the number of a rank among the mates; UINT32_MAX: it is none. */
uint32_t wf_mate_find(const struct wf_win_map *, int rank);
/* Returns the address here of a member's window memory; NULL: it is not
 * mapped, or has no bytes and no place among others. */
char *wf_mate_find_memory(const struct wf_win *, int rank);

#endif
