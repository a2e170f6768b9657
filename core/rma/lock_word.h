/* Locks of windows in shared memory: of one member's window memory, and of the
 * memory of all members.
 *
 *   63      48      32          16       0
 *   | tail  | head  | exclusive | shared |      ids of members + 1; 0: none
 *
 *   kind                      enters while            adds
 *   WF_HOLD_SHARED            exclusive == 0          1 to shared
 *   WF_HOLD_EXCLUSIVE         both are 0              its id to exclusive
 *   WF_HOLD_ANNOUNCED         shared == 0             1 to exclusive
 *
 * A member's own lock is entered shared or exclusive. The window-wide lock is
 * entered shared by lock_all, and announced by those who hold some member's
 * lock exclusively, or wait for that: so lock_all is one operation however many
 * members there are, and each exclusive lock is two. (Two levels as in foMPI,
 * Gerstenberger, Besta, Hoefler, SC13.)
 *
 * FREE LOCK  Nobody waits: one compare and swap enters, one addition leaves.
 *
 * QUEUE  Else a member becomes the tail, in the same compare and swap that
 * finds the lock closed, and tells the member before it. Only the head may
 * enter, in one step in which its successor becomes the head; nobody enters
 * past a queue. A change after which the head could enter ends with a signal to
 * it. A member that waits has read its `signal` before it looks at the word, so
 * a signal after that ends its wait.
 *
 *     outside --closed, or a queue--> queued --is head and open--> holds
 *        ^  \----------open, no queue------------------------------^ |
 *        \------------------------- leaves --------------------------/
 *     queued --the lock is lost--> outside, with an error
 *     outside --nested--> reserved --those inside leave--> holds
 *
 * NESTED  A member that holds a lock of the window must not queue for a shared
 * or announced hold: those before it may wait for what it holds. It adds its
 * hold at once, which keeps out all others that exclude it, and waits only for
 * those that are inside. The last of these signals it.
 *
 * DEATH  The word has the id of an exclusive holder, and a node says how often
 * its member holds the lock shared or announced. wf_lock_word_fail_owner
 *
 *   takes out    the shared holds of a member that is gone
 *   loses the    if it held the lock exclusively or announced, was in the
 *   lock         queue, or ended within the few instructions between word and
 *                node: all who wait, and who would have to wait later, end
 *                with MPI_ERR_PROC_ABORTED
 *
 * A holder of a lost lock may still leave it. A waiter whose `wait` returns an
 * error loses the lock as well, for its successors cannot pass it.
 *
 * LOCK  Calls of one member are made one at a time (map->busy), except that
 * others may run while one of them is in `wait`.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_LOCK_WORD_H
#define WF_RMA_LOCK_WORD_H

#include "rma/header.h"

enum wf_hold_kind { WF_HOLD_SHARED, WF_HOLD_ANNOUNCED, WF_HOLD_EXCLUSIVE };

/* A lock as one member sees it. */
struct wf_rma_lock {
    struct wf_lock_word *word;
    struct wf_lock_node *nodes; /* one of each member */
    struct wf_lock_node *own;   /* of this one */
    const struct wf_rma_waiting *waiting;
    uint32_t members, me;
    bool window_wide; /* `exclusive` is a number of members */
};

/* Return the lock of the member whose header it is; the window-wide one, which
 * all members take from the header of the same member. */
static inline struct wf_rma_lock wf_rma_lock_of(struct wf_rma_header *h,
                                                uint32_t me,
                                                const struct wf_rma_waiting *w)
{
    struct wf_lock_node *nodes = wf_rma_lock_nodes(h);

    return (struct wf_rma_lock){&h->lock,   nodes, nodes + me, w,
                                h->members, me,    false};
}

static inline struct wf_rma_lock
wf_rma_lock_of_all(struct wf_rma_header *h, uint32_t me,
                   const struct wf_rma_waiting *w)
{
    struct wf_lock_node *nodes = wf_rma_all_nodes(h);

    return (struct wf_rma_lock){&h->all,    nodes, nodes + me, w,
                                h->members, me,    true};
}

/* Enters; waits for its turn if it must. Returns MPI_SUCCESS, or an error and
 * is not inside. */
int wf_lock_word_enter(const struct wf_rma_lock *, enum wf_hold_kind);
/* The same for a member that holds another lock of the window, or this one
 * announced: not for WF_HOLD_EXCLUSIVE. */
int wf_lock_word_enter_nested(const struct wf_rma_lock *, enum wf_hold_kind);
/* Enters if that is possible at once. */
bool wf_lock_word_try(const struct wf_rma_lock *, enum wf_hold_kind);
void wf_lock_word_leave(const struct wf_rma_lock *, enum wf_hold_kind);

/* A member is gone. Every living member may call this, at any time and more
 * than once, for every lock of the window that it can reach. */
void wf_lock_word_fail_owner(const struct wf_rma_lock *, uint32_t gone);

/* ---- both levels --------------------------------------------------------- */

/* MPI_Win_lock and MPI_Win_unlock of a member that is mapped. `all` is the
 * window-wide lock; nested: this member holds another lock of the window. */
int wf_rma_lock(const struct wf_rma_lock *all, const struct wf_rma_lock *target,
                bool exclusive, bool nested);
bool wf_rma_try_lock(const struct wf_rma_lock *all,
                     const struct wf_rma_lock *target, bool exclusive);
void wf_rma_unlock(const struct wf_rma_lock *all,
                   const struct wf_rma_lock *target, bool exclusive);

/* MPI_Win_lock_all and MPI_Win_unlock_all. */
int wf_rma_lock_all(const struct wf_rma_lock *all);
void wf_rma_unlock_all(const struct wf_rma_lock *all);

#endif
