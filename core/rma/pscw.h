/* Synchronisation of groups: post, start, complete, wait.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_PSCW_H
#define WF_RMA_PSCW_H

struct wf_win_peer;

/* The target of a coming epoch has called MPI_Win_post. */
void wf_pscw_take_post(struct wf_win_peer *);

#endif
