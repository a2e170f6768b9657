/* Passive targets (MPI-5.0 s12.5.3, s12.5.4): lock, unlock, flush.
 *
 * Locks are words in shared memory where all members are on one node; else
 * they are given by messages. Then MPI_Win_lock sends nothing: the first
 * operation asks for the lock, or the unlock does. Only the lock on a process's
 * own memory is waited for, because loads and stores follow. MPI_Win_lock_all
 * wants the lock of each member that an operation goes to, and costs nothing
 * for the others.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core_api.h"
#include "object/error.h"
#include "rma/epoch.h"
#include "rma/finish.h"
#include "rma/map.h"
#include "rma/map_wait.h"
#include "rma/message.h"
#include "rma/operation.h"
#include "rma/start.h"

static int check_locks(const struct wf_win *win)
{
    if (!win->no_locks)
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_RMA_SYNC,
                    "%s was made with the hint no_locks = true",
                    wf_win_name(win).text);
}

/* ---- the two ways of a lock ---------------------------------------------- */

/* How the locks of a window are taken and given back. */
struct lock_way {
    struct wf_win_peer *(*find)(struct wf_win *, int rank, int *rc);
    int (*take)(struct wf_win_peer *, enum wf_lock_type, bool nocheck);
    int (*give_back)(struct wf_win_peer *);
    int (*take_all)(struct wf_win *);
    void (*give_all_back)(struct wf_win *); /* all operations are complete */
};

/* Takes the lock on a member that is a word in shared memory. */
static int take_word(struct wf_win_peer *p, enum wf_lock_type type,
                     bool nocheck)
{
    struct wf_win *win = p->win;
    int rc = MPI_SUCCESS;

    p->lock_type = type;
    p->lock_nocheck = nocheck;
    p->lock_state = WF_LOCK_ASKED;
    if (!nocheck) {
        rc = wf_map_lock(p, type == WF_LOCK_EXCLUSIVE);
        win->words_held += !rc;
    }
    p->lock_state = rc ? WF_LOCK_OPEN : WF_LOCK_HELD;
    if (rc && --win->locks == 0)
        win->access = WF_ACCESS_NONE;
    return rc;
}

static int give_word_back(struct wf_win_peer *p)
{
    if (!p->lock_nocheck) {
        p->win->words_held--;
        wf_map_unlock(p, p->lock_type == WF_LOCK_EXCLUSIVE);
    }
    wf_epoch_poll_sometimes(p->win);
    return wf_epoch_take_error(p);
}

static int take_all_words(struct wf_win *win)
{
    int rc = wf_map_lock_all(win);

    win->access = rc ? WF_ACCESS_NONE : WF_ACCESS_LOCK_ALL;
    return rc;
}

static const struct lock_way by_words = {.find = wf_win_find,
                                         .take = take_word,
                                         .give_back = give_word_back,
                                         .take_all = take_all_words,
                                         .give_all_back = wf_map_unlock_all};

/* Takes the lock on memory of this process. */
static int take_own(struct wf_win_peer *p)
{
    int rc = wf_rma_ask(p, WF_RMA_FLUSH);

    return rc ? rc : wf_epoch_flush(p);
}

static int want_lock(struct wf_win_peer *p, enum wf_lock_type type,
                     bool nocheck)
{
    wf_epoch_want_lock(p, type, nocheck);
    return p->rank == p->win->comm->rank && !p->lock_nocheck ? take_own(p)
                                                             : MPI_SUCCESS;
}

static int give_lock_back(struct wf_win_peer *p)
{
    int rc = p->leg->ask(p, true);
    int error = wf_epoch_flush(p);

    wf_rma_mark_clean(p);
    return rc ? rc : error;
}

static int want_own_shared(struct wf_win *win)
{
    int rc;
    struct wf_win_peer *own = wf_win_reach(win, win->comm->rank, &rc);

    if (!own)
        return rc;
    wf_epoch_want_lock(own, WF_LOCK_SHARED, false);
    wf_rma_mark_dirty(own);
    return take_own(own);
}

/* The flush that completed the operations gave the locks back. */
static void note_given_back(struct wf_win *win)
{
}

static const struct lock_way by_messages = {.find = wf_win_reach,
                                            .take = want_lock,
                                            .give_back = give_lock_back,
                                            .take_all = want_own_shared,
                                            .give_all_back = note_given_back};

static const struct lock_way *lock_way_of(const struct wf_win *win)
{
    return wf_map_has_lock_words(win) ? &by_words : &by_messages;
}

/* ---- lock and unlock ----------------------------------------------------- */

int wf_mpi_win_lock(struct wf_instance *wf, int lock_type, int rank, int assert,
                    struct wf_win *win)
{
    struct wf_win_peer *p;
    int rc = wf_epoch_check_rank(win, rank);

    if (rc == MPI_SUCCESS)
        rc = check_locks(win);
    if (rc == MPI_SUCCESS)
        rc = wf_epoch_check_assert(assert, MPI_MODE_NOCHECK);
    if (rc == MPI_SUCCESS && lock_type != MPI_LOCK_EXCLUSIVE &&
        lock_type != MPI_LOCK_SHARED)
        rc = wf_error(MPI_ERR_LOCKTYPE,
                      "lock_type is %d but must be MPI_LOCK_SHARED or "
                      "MPI_LOCK_EXCLUSIVE",
                      lock_type);
    if (rc == MPI_SUCCESS && win->access != WF_ACCESS_LOCK)
        rc = wf_epoch_check_open(win, "MPI_Win_lock");
    if (rc || rank == MPI_PROC_NULL)
        return rc;
    p = lock_way_of(win)->find(win, rank, &rc);
    if (!p)
        return rc;
    if (p->lock_state != WF_LOCK_OPEN)
        return wf_error(MPI_ERR_RMA_SYNC,
                        "this process has locked rank %d of %s already", rank,
                        wf_win_name(win).text);
    win->access = WF_ACCESS_LOCK;
    win->locks++;
    return lock_way_of(win)->take(
        p, lock_type == MPI_LOCK_SHARED ? WF_LOCK_SHARED : WF_LOCK_EXCLUSIVE,
        assert &MPI_MODE_NOCHECK);
}

/* Returns the state about a member that this process has locked. NULL: it has
 * not, *rc; or the rank is MPI_PROC_NULL, *rc MPI_SUCCESS. */
static struct wf_win_peer *find_locked(struct wf_win *win, int rank, int *rc)
{
    *rc = wf_epoch_check_rank(win, rank);
    if (*rc || rank == MPI_PROC_NULL)
        return NULL;
    *rc = wf_epoch_check_access(win, rank, true);
    return *rc ? NULL : win->peers[rank];
}

int wf_mpi_win_unlock(struct wf_instance *wf, int rank, struct wf_win *win)
{
    int rc;
    struct wf_win_peer *p = find_locked(win, rank, &rc);

    if (win->access == WF_ACCESS_LOCK_ALL && rc == MPI_SUCCESS &&
        rank != MPI_PROC_NULL)
        return wf_error(MPI_ERR_RMA_SYNC,
                        "%s is locked by MPI_Win_lock_all: call "
                        "MPI_Win_unlock_all",
                        wf_win_name(win).text);
    if (!p)
        return rc;
    rc = lock_way_of(win)->give_back(p);
    p->lock_state = WF_LOCK_OPEN;
    if (--win->locks == 0)
        win->access = WF_ACCESS_NONE;
    return rc;
}

int wf_mpi_win_lock_all(struct wf_instance *wf, int assert, struct wf_win *win)
{
    int rc = check_locks(win);

    if (rc == MPI_SUCCESS)
        rc = wf_epoch_check_assert(assert, MPI_MODE_NOCHECK);
    if (rc == MPI_SUCCESS)
        rc = wf_epoch_check_open(win, "MPI_Win_lock_all");
    if (rc)
        return rc;
    win->access = WF_ACCESS_LOCK_ALL;
    win->all_nocheck = assert &MPI_MODE_NOCHECK;
    return win->all_nocheck ? MPI_SUCCESS : lock_way_of(win)->take_all(win);
}

int wf_mpi_win_unlock_all(struct wf_instance *wf, struct wf_win *win)
{
    if (win->access != WF_ACCESS_LOCK_ALL)
        return wf_error(MPI_ERR_RMA_SYNC,
                        "MPI_Win_lock_all was not called on %s",
                        wf_win_name(win).text);
    int rc = wf_epoch_flush_all(win, true);
    if (!win->all_nocheck)
        lock_way_of(win)->give_all_back(win);
    win->access = WF_ACCESS_NONE;
    return rc;
}

/* ---- flush --------------------------------------------------------------- */

int wf_mpi_win_flush(struct wf_instance *wf, int rank, struct wf_win *win)
{
    int rc;
    struct wf_win_peer *p = find_locked(win, rank, &rc);

    return p ? wf_epoch_flush(p) : rc;
}

/* Results come once what asks for them has left. */
static int flush_local(struct wf_win_peer *p)
{
    wf_rma_push(p);
    return wf_epoch_flush_local(p);
}

int wf_mpi_win_flush_local(struct wf_instance *wf, int rank, struct wf_win *win)
{
    int rc;
    struct wf_win_peer *p = find_locked(win, rank, &rc);

    return p ? flush_local(p) : rc;
}

/* Waits for the members with operations, one after the other. Another thread
 * may unlock one meanwhile; then it begins anew. */
static int wait_for_each(struct wf_win *win, int (*flush)(struct wf_win_peer *))
{
    struct wf_list *l = win->dirty.next;
    int rc = MPI_SUCCESS;

    while (l != &win->dirty) {
        struct wf_win_peer *p = wf_container(l, struct wf_win_peer, dirty);
        int error = flush(p);
        rc = rc ? rc : error;
        l = wf_list_empty(&p->dirty) ? win->dirty.next : l->next;
    }
    return rc;
}

/* Asks all members first, then waits for each. Unlike at the end of an epoch
 * they stay in the list, because they hold locks. */
int wf_mpi_win_flush_all(struct wf_instance *wf, struct wf_win *win)
{
    int rc = wf_epoch_check_access(win, MPI_PROC_NULL, true);

    if (rc)
        return rc;
    rc = wf_epoch_ask_all(win, false);
    int error = wait_for_each(win, wf_epoch_flush);
    return rc ? rc : error;
}

int wf_mpi_win_flush_local_all(struct wf_instance *wf, struct wf_win *win)
{
    int rc = wf_epoch_check_access(win, MPI_PROC_NULL, true);

    return rc ? rc : wait_for_each(win, flush_local);
}

/* Memory and window are one: what was stored is seen by operations, and what
 * they have stored by loads (the unified model). A program that looks for a
 * change in a loop of this call makes progress by it. */
int wf_mpi_win_sync(struct wf_instance *wf, struct wf_win *win)
{
    wf_fence_full();
    wf_win_poll(win);
    wf_fence_full();
    return MPI_SUCCESS;
}
