/* Epochs: what is open, what may be called, and the end of operations.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_EPOCH_H
#define WF_RMA_EPOCH_H

#include "rma/win.h"

/* The way by which operations reach a member's memory. Each member of a window
 * has one. The calls below are made inside the epoch's rules: epoch.c. */
struct wf_rma_call;
struct wf_leg {
    /* Starts an operation; *req, if req is not NULL, becomes its request.
     * Returns an error class. */
    int (*start)(struct wf_win_peer *, const struct wf_rma_call *,
                 struct wf_req **req);
    /* Has all operations so far completed at the target; with release, the lock
     * given back after that. Does not wait. */
    int (*ask)(struct wf_win_peer *, bool release);
};

/* Whether all operations on a member are complete here, or here and there. */
bool wf_win_peer_is_local(const struct wf_win_peer *);
bool wf_win_peer_is_remote(const struct wf_win_peer *);

/* Operations by messages: the arrival unit of the target performs them. */
extern const struct wf_leg wf_leg_message;
/* Operations on memory that this process has mapped: mapped.c. */
extern const struct wf_leg wf_leg_mapped;

/* Checks that an operation on a member is inside an epoch, and notes it.
 * passive: only epochs that a lock has opened count. */
int wf_epoch_check_access(struct wf_win *, int rank, bool passive);
/* Checks that a new access epoch may be opened. */
int wf_epoch_check_open(struct wf_win *, const char *call);
/* Returns the state about a member that this process has locked. NULL: it has
 * not, *rc; or the rank is MPI_PROC_NULL, *rc MPI_SUCCESS. */
struct wf_win_peer *wf_epoch_find_locked(struct wf_win *, int rank, int *rc);
/* The same for MPI_Win_unlock, which is not for MPI_Win_lock_all. */
struct wf_win_peer *wf_epoch_find_unlockable(struct wf_win *, int rank,
                                             int *rc);
/* Checks that all members are locked by MPI_Win_lock_all. */
int wf_epoch_check_all_locked(const struct wf_win *);
/* Reports that a member is locked already. */
int wf_epoch_report_locked(const struct wf_win_peer *);
/* Wants the lock on a member: the next message asks for it. */
void wf_epoch_want_lock(struct wf_win_peer *, enum wf_lock_type, bool nocheck);
/* Prepares for an operation on a member: in an epoch of MPI_Win_lock_all the
 * first one wants its lock. */
void wf_epoch_prepare(struct wf_win_peer *);
/* Checks a rank, which may be MPI_PROC_NULL. */
int wf_epoch_check_rank(const struct wf_win *, int rank);
int wf_epoch_report_assert(int assert);
/* Checks an assertion argument against the bits that the call knows. */
static inline int wf_epoch_check_assert(int assert, int known)
{
    return wf_likely(!(assert & ~known)) ? MPI_SUCCESS
                                         : wf_epoch_report_assert(assert);
}

/* Polls now and then. A process that only synchronises with itself or by shared
 * memory, in a loop perhaps until another one changes its memory, waits for no
 * message; without this it would never serve the others. */
void wf_epoch_poll_sometimes(struct wf_win *);
/* Has the operations on a member completed there. */
int wf_epoch_flush(struct wf_win_peer *);
/* Has those on all members with operations completed, and with release the
 * locks given back after that. Does not wait. */
int wf_epoch_ask_all(struct wf_win *, bool release);
/* The same, and waits for it. */
int wf_epoch_flush_all(struct wf_win *, bool release);
/* Waits until the operations on a member are complete here. */
int wf_epoch_flush_local(struct wf_win_peer *);
/* Returns the first error of operations on a member, and forgets it. */
int wf_epoch_take_error(struct wf_win_peer *);

#endif
