/* Epochs (MPI-5.0 s12.5): what is open, what may be called, and the end of
 * operations.
 *
 *                 fence                     start -> complete
 *   NONE <------> FENCE       NONE <------> START
 *     `--> LOCK (members one by one)  `--> LOCK_ALL
 *
 * A fence epoch in which nothing was started gives way to another one: a fence
 * may be the end of an epoch only.
 *
 * A wait here is ended by the answer of the target, or by its death, which is
 * noticed because the process watches it; one for a lock also by the death of
 * the lock's holder.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/epoch.h"

#include "object/error.h"
#include "protocol/queues.h"
#include "rma/exposed.h"
#include "rma/finish.h"
#include "rma/map.h"
#include "rma/message.h"
#include "rma/open.h"
#include "rma/operation.h"
#include "rma/start.h"

/* ---- rules --------------------------------------------------------------- */

static const char *name_access(uint8_t access)
{
    static const char *const names[] = {
        "no epoch", "a fence epoch", "an epoch of MPI_Win_start",
        "an epoch of MPI_Win_lock", "an epoch of MPI_Win_lock_all"};

    return names[access];
}

int wf_epoch_check_rank(const struct wf_win *win, int rank)
{
    if (rank == MPI_PROC_NULL || (rank >= 0 && rank < win->comm->size))
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_RANK,
                    "rank is %d but %s has ranks 0..%d (or MPI_PROC_NULL)",
                    rank, wf_win_name(win).text, win->comm->size - 1);
}

int wf_epoch_report_assert(int assert)
{
    return wf_error(MPI_ERR_ASSERT,
                    "assert is %d, which has bits that this call does not know",
                    assert);
}

int wf_epoch_check_open(struct wf_win *win, const char *call)
{
    if (wf_win_access(win) == WF_ACCESS_FENCE && !win->fence_used)
        wf_open_set_access(win, WF_ACCESS_NONE);
    if (wf_win_access(win) == WF_ACCESS_NONE)
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_RMA_SYNC,
                    "%s while %s has %s open: end that one first", call,
                    wf_win_name(win).text, name_access(wf_win_access(win)));
}

static void note_fence_used(struct wf_win *win, bool passive)
{
    if (win->fence_used || passive)
        return;
    win->fence_used = true;
    wf_open_publish_win(win);
}

int wf_epoch_check_access(struct wf_win *win, int rank, bool passive)
{
    struct wf_win_peer *p = rank >= 0 ? win->peers[rank] : NULL;
    bool open = false;

    switch (wf_win_access(win)) {
    case WF_ACCESS_FENCE:
        note_fence_used(win, passive);
        open = !passive;
        break;
    case WF_ACCESS_START:
        open = !passive && (rank < 0 || (p && p->in_start));
        break;
    case WF_ACCESS_LOCK:
        open = rank < 0 || (p && p->lock_state != WF_LOCK_OPEN);
        break;
    case WF_ACCESS_LOCK_ALL:
        open = true;
        break;
    case WF_ACCESS_NONE:
        break;
    }
    if (open)
        return MPI_SUCCESS;
    return wf_error(
        MPI_ERR_RMA_SYNC,
        "rank %d of %s may not be accessed: this process has %s "
        "open%s",
        rank, wf_win_name(win).text, name_access(wf_win_access(win)),
        passive              ? ", and the call needs a lock on that rank"
        : wf_win_access(win) ? ", which is not for that rank"
                             : "; call MPI_Win_fence, MPI_Win_start or "
                               "MPI_Win_lock first");
}

struct wf_win_peer *wf_epoch_find_locked(struct wf_win *win, int rank, int *rc)
{
    *rc = wf_epoch_check_rank(win, rank);
    if (*rc || rank == MPI_PROC_NULL)
        return NULL;
    *rc = wf_epoch_check_access(win, rank, true);
    return *rc ? NULL : win->peers[rank];
}

struct wf_win_peer *wf_epoch_find_unlockable(struct wf_win *win, int rank,
                                             int *rc)
{
    struct wf_win_peer *p = wf_epoch_find_locked(win, rank, rc);

    if (wf_win_access(win) != WF_ACCESS_LOCK_ALL || *rc ||
        rank == MPI_PROC_NULL)
        return p;
    *rc = wf_error(MPI_ERR_RMA_SYNC,
                   "%s is locked by MPI_Win_lock_all: call MPI_Win_unlock_all",
                   wf_win_name(win).text);
    return NULL;
}

int wf_epoch_check_all_locked(const struct wf_win *win)
{
    if (wf_win_access(win) == WF_ACCESS_LOCK_ALL)
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_RMA_SYNC, "MPI_Win_lock_all was not called on %s",
                    wf_win_name(win).text);
}

int wf_epoch_report_locked(const struct wf_win_peer *p)
{
    return wf_error(MPI_ERR_RMA_SYNC,
                    "this process has locked rank %d of %s already", p->rank,
                    wf_win_name(p->win).text);
}

void wf_epoch_want_lock(struct wf_win_peer *p, enum wf_lock_type type,
                        bool nocheck)
{
    p->lock_state = nocheck ? WF_LOCK_HELD : WF_LOCK_WANTED;
    p->lock_type = (uint8_t)type;
    p->lock_nocheck = nocheck;
    p->lock_probed = false;
    p->early = 0;
    wf_open_publish_peer(p);
}

void wf_epoch_prepare(struct wf_win_peer *p)
{
    if (wf_win_access(p->win) != WF_ACCESS_LOCK_ALL ||
        p->lock_state != WF_LOCK_OPEN || wf_map_has_lock_words(p->win) ||
        (p->win->all_nocheck && p->leg == &wf_leg_mapped))
        return; /* nothing has to be asked for */
    wf_epoch_want_lock(p, WF_LOCK_SHARED, p->win->all_nocheck);
}

/* ---- the leg of messages ------------------------------------------------- */

static int ask_by_message(struct wf_win_peer *p, bool release)
{
    bool locked = p->lock_state != WF_LOCK_OPEN && !p->lock_nocheck;

    if (p->lost)
        return MPI_SUCCESS;
    wf_exposed_flush(p);
    if (release && locked)
        return wf_rma_ask(p, WF_RMA_UNLOCK);
    if (p->unconfirmed)
        return wf_rma_ask(p, WF_RMA_FLUSH);
    wf_rma_push(p);
    return MPI_SUCCESS;
}

const struct wf_leg wf_leg_message = {.start = wf_rma_start,
                                      .ask = ask_by_message};

/* ---- completion ---------------------------------------------------------- */

bool wf_win_peer_is_local(const struct wf_win_peer *p)
{
    return p->pending == 0;
}

bool wf_win_peer_is_remote(const struct wf_win_peer *p)
{
    return p->pending == 0 && (p->answered == p->asked || p->lost);
}

static bool is_local(void *peer)
{
    return wf_win_peer_is_local(peer);
}

static bool is_remote(void *peer)
{
    return wf_win_peer_is_remote(peer);
}

int wf_epoch_take_error(struct wf_win_peer *p)
{
    int class = p->error;

    p->error = MPI_SUCCESS;
    if (wf_win_peer_is_lost(p))
        return wf_win_record_loss(p);
    if (class == MPI_ERR_PROC_ABORTED)
        return wf_error(class,
                        "a process that held a lock on rank %d of %s is gone, "
                        "and may not have finished there",
                        p->rank, wf_win_name(p->win).text);
    if (class == MPI_ERR_RMA_RANGE)
        return wf_error(class,
                        "an operation on rank %d of %s is not inside memory "
                        "that is attached there",
                        p->rank, wf_win_name(p->win).text);
    if (class)
        return wf_error(class, "rank %d of %s refused a one-sided operation",
                        p->rank, wf_win_name(p->win).text);
    return MPI_SUCCESS;
}

void wf_epoch_poll_sometimes(struct wf_win *win)
{
    if (wf_open_is_poll_due())
        wf_win_poll(win);
}

/* Waits for the end of operations. */
static void await_end(struct wf_win_peer *p, bool (*done)(void *))
{
    if (!done(p))
        wf_win_wait(p->win, p, done, p);
    else
        wf_epoch_poll_sometimes(p->win);
}

int wf_epoch_flush_local(struct wf_win_peer *p)
{
    await_end(p, is_local);
    return wf_epoch_take_error(p);
}

/* Waits for the answer to a question. */
static int finish_flush(struct wf_win_peer *p, int rc)
{
    await_end(p, is_remote);
    int error = wf_epoch_take_error(p);
    return error ? error : rc;
}

int wf_epoch_flush(struct wf_win_peer *p)
{
    return finish_flush(p, p->leg->ask(p, false));
}

int wf_epoch_ask_all(struct wf_win *win, bool release)
{
    struct wf_list *l, *next;
    int rc = MPI_SUCCESS;

    for (l = win->dirty.next; l != &win->dirty; l = next) {
        struct wf_win_peer *p = wf_container(l, struct wf_win_peer, dirty);
        int error = p->leg->ask(p, release);

        next = l->next;
        rc = rc ? rc : error;
    }
    return rc;
}

/* All are asked before the first answer is waited for. */
int wf_epoch_flush_all(struct wf_win *win, bool release)
{
    int rc = wf_epoch_ask_all(win, release);

    while (!wf_list_empty(&win->dirty)) {
        struct wf_win_peer *p =
            wf_container(win->dirty.next, struct wf_win_peer, dirty);

        int error = finish_flush(p, MPI_SUCCESS);
        rc = rc ? rc : error;
        wf_rma_mark_clean(p);
        if (release)
            p->lock_state = WF_LOCK_OPEN;
        wf_open_publish_peer(p);
    }
    return rc;
}
