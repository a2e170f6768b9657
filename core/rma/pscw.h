/* Synchronisation of groups: post, start, complete, wait.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_PSCW_H
#define WF_RMA_PSCW_H

struct wf_win_peer;

/* The target of a coming epoch has called MPI_Win_post. */
void wf_pscw_take_post(struct wf_win_peer *);
/* Waits until a target of this epoch has called MPI_Win_post, or is lost. */
void wf_pscw_await_post(struct wf_win_peer *);

#endif
