/* The mapped leg of a window.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_MAPPED_H
#define WF_RMA_MAPPED_H

#include "rma/map.h"

/* Prepares the state about a member: its leg and its atomicity domain. False:
 * out of memory. */
bool wf_map_init_peer(struct wf_win_peer *);

/* Performs an operation on a member's memory. The epoch allows it, and it may
 * be called beside the section. */
struct wf_rma_call;
int wf_rma_perform_mapped(struct wf_win_peer *, const struct wf_rma_call *);

#endif
