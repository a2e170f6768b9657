/* Locks that are words in shared memory, taken and given back beside the API
 * section.
 *
 * LOCK  map->busy, a short lock of the window: what its calls change together,
 * which is the epoch, the number of locks, and what this process has noted in
 * the words. Nobody who has it waits, or enters the section: a call that has to
 * wait leaves it first, and whom it is to wake it wakes afterwards.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_LOCK_BESIDE_H
#define WF_RMA_LOCK_BESIDE_H

#include "rma/win.h"

/* Try the usual call of a binding: nothing in the way, nobody to wait for.
 * False: nothing has happened. */
bool wf_rma_fast_lock(MPI_Win, int lock_type, int rank, int assert);
bool wf_rma_fast_unlock(MPI_Win, int rank);
bool wf_rma_fast_lock_all(MPI_Win, int assert);
bool wf_rma_fast_unlock_all(MPI_Win);

/* Take a lock, and give it back. The arguments are right. */
int wf_lock_beside(struct wf_win *, int rank, enum wf_lock_type, bool nocheck);
int wf_unlock_beside(struct wf_win *, int rank);
int wf_lock_all_beside(struct wf_win *, bool nocheck);
int wf_unlock_all_beside(struct wf_win *);

#endif
