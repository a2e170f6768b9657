/* Passive targets (MPI-5.0 s12.5.3, s12.5.4): lock, unlock, flush.
 *
 * Locks are words in shared memory where all members are on one node
 * (lock_beside.c); else they are given by messages. Then MPI_Win_lock sends
 * nothing: the first operation asks for the lock, or the unlock does. Only the
 * lock on a process's own memory is waited for, because loads and stores
 * follow. MPI_Win_lock_all wants the lock of each member that an operation goes
 * to, and costs nothing for the others.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core_api.h"
#include "object/error.h"
#include "process/instance.h"
#include "rma/epoch.h"
#include "rma/finish.h"
#include "rma/lock_beside.h"
#include "rma/map.h"
#include "rma/message.h"
#include "rma/open.h"
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

/* ---- locks that are given by messages ------------------------------------ */

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

static int lock_inside(struct wf_win *win, int rank, enum wf_lock_type type,
                       bool nocheck)
{
    struct wf_win_peer *p;
    int rc = MPI_SUCCESS;

    if (wf_win_access(win) != WF_ACCESS_LOCK)
        rc = wf_epoch_check_open(win, "MPI_Win_lock");
    p = rc ? NULL : wf_win_reach(win, rank, &rc);
    if (!p)
        return rc;
    if (p->lock_state != WF_LOCK_OPEN)
        return wf_epoch_report_locked(p);
    wf_open_set_access(win, WF_ACCESS_LOCK);
    win->locks++;
    return want_lock(p, type, nocheck);
}

static int give_lock_back(struct wf_win_peer *p)
{
    int rc = p->leg->ask(p, true);
    int error = wf_epoch_flush(p);

    wf_rma_mark_clean(p);
    return rc ? rc : error;
}

static int unlock_inside(struct wf_win *win, int rank)
{
    int rc;
    struct wf_win_peer *p = wf_epoch_find_unlockable(win, rank, &rc);

    if (!p)
        return rc;
    rc = give_lock_back(p);
    p->lock_state = WF_LOCK_OPEN;
    wf_open_publish_peer(p);
    if (--win->locks == 0)
        wf_open_set_access(win, WF_ACCESS_NONE);
    return rc;
}

static int lock_all_inside(struct wf_win *win, bool nocheck)
{
    struct wf_win_peer *own;
    int rc = wf_epoch_check_open(win, "MPI_Win_lock_all");

    if (rc)
        return rc;
    win->all_nocheck = nocheck;
    wf_open_set_access(win, WF_ACCESS_LOCK_ALL);
    if (nocheck)
        return MPI_SUCCESS;
    own = wf_win_reach(win, win->comm->rank, &rc);
    if (!own)
        return rc;
    wf_epoch_want_lock(own, WF_LOCK_SHARED, false);
    wf_rma_mark_dirty(own);
    return take_own(own);
}

static int unlock_all_inside(struct wf_win *win)
{
    int rc = wf_epoch_check_all_locked(win);

    if (rc)
        return rc;
    rc = wf_epoch_flush_all(win, true);
    wf_open_set_access(win, WF_ACCESS_NONE);
    return rc;
}

/* ---- lock and unlock ----------------------------------------------------- */

int wf_mpi_win_lock(struct wf_instance *wf, int lock_type, int rank, int assert,
                    struct wf_win *win)
{
    bool nocheck = assert &MPI_MODE_NOCHECK;
    enum wf_lock_type type =
        lock_type == MPI_LOCK_SHARED ? WF_LOCK_SHARED : WF_LOCK_EXCLUSIVE;
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
    if (rc || rank == MPI_PROC_NULL)
        return rc;
    if (wf_map_has_lock_words(win))
        return wf_lock_beside(win, rank, type, nocheck);
    wf_enter_api(win->wf);
    rc = lock_inside(win, rank, type, nocheck);
    wf_leave_api(win->wf);
    return rc;
}

int wf_mpi_win_unlock(struct wf_instance *wf, int rank, struct wf_win *win)
{
    int rc;

    if (wf_map_has_lock_words(win))
        return wf_unlock_beside(win, rank);
    wf_enter_api(win->wf);
    rc = unlock_inside(win, rank);
    wf_leave_api(win->wf);
    return rc;
}

int wf_mpi_win_lock_all(struct wf_instance *wf, int assert, struct wf_win *win)
{
    bool nocheck = assert &MPI_MODE_NOCHECK;
    int rc = check_locks(win);

    if (rc == MPI_SUCCESS)
        rc = wf_epoch_check_assert(assert, MPI_MODE_NOCHECK);
    if (rc)
        return rc;
    if (wf_map_has_lock_words(win))
        return wf_lock_all_beside(win, nocheck);
    wf_enter_api(win->wf);
    rc = lock_all_inside(win, nocheck);
    wf_leave_api(win->wf);
    return rc;
}

int wf_mpi_win_unlock_all(struct wf_instance *wf, struct wf_win *win)
{
    int rc;

    if (wf_map_has_lock_words(win))
        return wf_unlock_all_beside(win);
    wf_enter_api(win->wf);
    rc = unlock_all_inside(win);
    wf_leave_api(win->wf);
    return rc;
}

/* ---- flush --------------------------------------------------------------- */

/* Runs the rest of a call inside the section. */
static int flush_inside(struct wf_win *win, int rank,
                        int (*flush)(struct wf_win_peer *))
{
    struct wf_win_peer *p;
    int rc;

    wf_enter_api(win->wf);
    p = wf_epoch_find_locked(win, rank, &rc);
    if (p)
        rc = flush(p);
    wf_leave_api(win->wf);
    return rc;
}

/* Makes what was stored visible before whatever this thread does next: there is
 * nothing to wait for. */
static int flush_beside(struct wf_win *win)
{
    wf_fence_full();
    if (!wf_open_is_poll_due())
        return MPI_SUCCESS;
    wf_enter_api(win->wf);
    wf_win_poll(win);
    wf_leave_api(win->wf);
    return MPI_SUCCESS;
}

int wf_mpi_win_flush(struct wf_instance *wf, int rank, struct wf_win *win)
{
    return wf_open_find_target(win, rank, WF_OPEN_FLUSH, WF_MAPPED_BYTES)
               ? flush_beside(win)
               : flush_inside(win, rank, wf_epoch_flush);
}

/* Results come once what asks for them has left. */
static int flush_local(struct wf_win_peer *p)
{
    wf_rma_push(p);
    return wf_epoch_flush_local(p);
}

int wf_mpi_win_flush_local(struct wf_instance *wf, int rank, struct wf_win *win)
{
    return wf_open_find_target(win, rank, WF_OPEN_FLUSH, WF_MAPPED_BYTES)
               ? flush_beside(win)
               : flush_inside(win, rank, flush_local);
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
static int flush_all_inside(struct wf_win *win, bool local)
{
    int rc = wf_epoch_check_access(win, MPI_PROC_NULL, true), error;

    if (rc || local)
        return rc ? rc : wait_for_each(win, flush_local);
    rc = wf_epoch_ask_all(win, false);
    error = wait_for_each(win, wf_epoch_flush);
    return rc ? rc : error;
}

static int flush_all(struct wf_win *win, bool local)
{
    int rc;

    if (wf_open_allows_all(win, WF_OPEN_FLUSH))
        return flush_beside(win);
    wf_enter_api(win->wf);
    rc = flush_all_inside(win, local);
    wf_leave_api(win->wf);
    return rc;
}

int wf_mpi_win_flush_all(struct wf_instance *wf, struct wf_win *win)
{
    return flush_all(win, false);
}

int wf_mpi_win_flush_local_all(struct wf_instance *wf, struct wf_win *win)
{
    return flush_all(win, true);
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
