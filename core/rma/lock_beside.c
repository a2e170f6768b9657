/* Locks that are words in shared memory: see lock_beside.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/lock_beside.h"

#include "object/error.h"
#include "os/race_notes.h"
#include "process/instance.h"
#include "report/call_time.h"
#include "rma/epoch.h"
#include "rma/lock_word.h"
#include "rma/map.h"
#include "rma/map_wait.h"
#include "rma/open.h"

/* Opens or ends an epoch in which the window itself allows nothing. */
static inline void set_access(struct wf_win *win, enum wf_win_epoch access)
{
    wf_store_relaxed(&win->access, (uint32_t)access);
}

enum { ALL_IS_ALLOWED = WF_OPEN_ACTIVE | WF_OPEN_PASSIVE | WF_OPEN_FLUSH };

static inline const struct wf_rma_lock *lock_of_all(const struct wf_win *win)
{
    return &win->map->lock_of_all;
}

/* ---- what is noted about a lock ------------------------------------------ */

/* Notes that the lock is held. */
static inline void note_lock(struct wf_win *win, struct wf_win_peer *p,
                             enum wf_lock_type type, bool nocheck)
{
    wf_race_note_load(0);
    win->words_held += !nocheck;
    p->lock_type = (uint8_t)type;
    p->lock_nocheck = nocheck;
    p->lock_state = WF_LOCK_HELD;
    wf_store_release(&p->target->open, ALL_IS_ALLOWED);
}

/* Notes that it is not wanted or held any more. */
static inline void note_unlock(struct wf_win *win, struct wf_win_peer *p)
{
    p->lock_state = WF_LOCK_OPEN;
    wf_store_release(&p->target->open, 0);
    if (--win->locks == 0)
        set_access(win, WF_ACCESS_NONE);
}

static inline void note_wish(struct wf_win *win)
{
    if (win->locks++ == 0)
        set_access(win, WF_ACCESS_LOCK);
}

/* Gives the lock back that is held as words. */
static inline void give_back(struct wf_win *win, struct wf_win_peer *p)
{
    win->words_held--;
    wf_race_note_store(0);
    wf_rma_unlock(lock_of_all(win), &p->lock,
                  p->lock_type == WF_LOCK_EXCLUSIVE);
    note_unlock(win, p);
}

static inline void give_all_back(struct wf_win *win)
{
    wf_race_note_store(0);
    if (!win->all_nocheck)
        wf_rma_unlock_all(lock_of_all(win));
    wf_open_set_access(win, WF_ACCESS_NONE);
}

/* ---- the usual calls ----------------------------------------------------- */

/* Returns the window if the call may be a usual one. */
static inline struct wf_win *find_usual(MPI_Win h)
{
    struct wf_win *win = (struct wf_win *)h;

    if (wf_unlikely(!wf_is_object(h, WF_KIND_WIN) || wf_call_is_timed()))
        return NULL;
    return wf_map_has_lock_words(win) && !win->no_locks ? win : NULL;
}

bool wf_rma_fast_lock(MPI_Win h, int lock_type, int rank, int assert)
{
    bool exclusive = lock_type == MPI_LOCK_EXCLUSIVE, done = false;
    struct wf_win *win = find_usual(h);
    struct wf_win_peer *p = win && !assert ? wf_open_find(win, rank, 0) : NULL;

    if (wf_unlikely(!p || (!exclusive && lock_type != MPI_LOCK_SHARED)))
        return false;
    wf_map_enter_words(win->map);
    if (wf_win_access(win) == WF_ACCESS_NONE &&
        wf_rma_try_lock(lock_of_all(win), &p->lock, exclusive)) {
        note_wish(win);
        note_lock(win, p, exclusive ? WF_LOCK_EXCLUSIVE : WF_LOCK_SHARED,
                  false);
        done = true;
    }
    wf_map_leave_words(win);
    return done;
}

bool wf_rma_fast_unlock(MPI_Win h, int rank)
{
    struct wf_win *win = find_usual(h);
    struct wf_win_peer *p = win ? wf_open_find(win, rank, WF_OPEN_FLUSH) : NULL;
    bool done = false;

    if (wf_unlikely(!p || (wf_call_now.unpolled + 1) % WF_OPEN_POLL_EVERY == 0))
        return false;
    wf_map_enter_words(win->map);
    if (wf_likely(p->lock_state == WF_LOCK_HELD && !p->lock_nocheck)) {
        give_back(win, p);
        wf_call_now.unpolled++;
        done = true;
    }
    wf_map_leave_words(win);
    return done;
}

bool wf_rma_fast_lock_all(MPI_Win h, int assert)
{
    struct wf_win *win = find_usual(h);
    bool done = false;

    if (wf_unlikely(!win || assert))
        return false;
    wf_map_enter_words(win->map);
    if (wf_likely(wf_win_access(win) == WF_ACCESS_NONE))
        done = wf_lock_word_try(lock_of_all(win), WF_HOLD_SHARED);
    if (wf_likely(done)) {
        wf_race_note_load(0);
        win->all_nocheck = false;
        wf_open_set_access(win, WF_ACCESS_LOCK_ALL);
    }
    wf_map_leave_words(win);
    return done;
}

bool wf_rma_fast_unlock_all(MPI_Win h)
{
    struct wf_win *win = find_usual(h);
    bool done;

    if (wf_unlikely(!win))
        return false;
    wf_map_enter_words(win->map);
    done = wf_win_access(win) == WF_ACCESS_LOCK_ALL && !win->all_nocheck;
    if (wf_likely(done))
        give_all_back(win);
    wf_map_leave_words(win);
    return done;
}

/* ---- all calls ----------------------------------------------------------- */

/* Returns the state about a member, which is made if there is none. */
static struct wf_win_peer *find_peer(struct wf_win *win, int rank, int *rc)
{
    struct wf_win_peer *p = wf_open_find(win, rank, 0);

    *rc = MPI_SUCCESS;
    if (p)
        return p;
    wf_enter_api(win->wf);
    p = wf_win_find(win, rank, rc);
    wf_leave_api(win->wf);
    return p;
}

/* Takes the lock, for which it may have to wait: then others change what is
 * noted meanwhile. */
static int take_lock(struct wf_win *win, struct wf_win_peer *p,
                     enum wf_lock_type type, bool nocheck)
{
    int rc = MPI_SUCCESS;

    note_wish(win);
    p->lock_state = WF_LOCK_ASKED;
    if (!nocheck)
        rc = wf_rma_lock(lock_of_all(win), &p->lock, type == WF_LOCK_EXCLUSIVE,
                         win->words_held > 0);
    if (rc)
        note_unlock(win, p);
    else
        note_lock(win, p, type, nocheck);
    return rc;
}

int wf_lock_beside(struct wf_win *win, int rank, enum wf_lock_type type,
                   bool nocheck)
{
    int rc;
    struct wf_win_peer *p = find_peer(win, rank, &rc);

    if (!p)
        return rc;
    wf_map_enter_words(win->map);
    if (wf_win_access(win) != WF_ACCESS_LOCK)
        rc = wf_epoch_check_open(win, "MPI_Win_lock");
    if (rc == MPI_SUCCESS && p->lock_state != WF_LOCK_OPEN)
        rc = wf_epoch_report_locked(p);
    if (rc == MPI_SUCCESS)
        rc = take_lock(win, p, type, nocheck);
    wf_map_leave_words(win);
    return rc;
}

/* Polls now and then, and returns whether the member is gone. */
static int finish_unlock(struct wf_win_peer *p)
{
    bool lost = !wf_open_is_mapped(p);
    struct wf_win *win = p->win;
    int rc = MPI_SUCCESS;

    if (!lost && !wf_open_is_poll_due())
        return MPI_SUCCESS;
    wf_enter_api(win->wf);
    wf_win_poll(win);
    rc = wf_epoch_take_error(p);
    wf_leave_api(win->wf);
    return rc;
}

int wf_unlock_beside(struct wf_win *win, int rank)
{
    struct wf_win_peer *p;
    int rc;

    wf_map_enter_words(win->map);
    p = wf_epoch_find_unlockable(win, rank, &rc);
    if (p && !p->lock_nocheck)
        give_back(win, p);
    else if (p)
        note_unlock(win, p);
    wf_map_leave_words(win);
    return p ? finish_unlock(p) : rc;
}

int wf_lock_all_beside(struct wf_win *win, bool nocheck)
{
    int rc;

    wf_map_enter_words(win->map);
    rc = wf_epoch_check_open(win, "MPI_Win_lock_all");
    if (rc == MPI_SUCCESS) {
        win->all_nocheck = nocheck;
        wf_open_set_access(win, WF_ACCESS_LOCK_ALL);
        rc = nocheck ? MPI_SUCCESS : wf_rma_lock_all(lock_of_all(win));
        if (rc)
            wf_open_set_access(win, WF_ACCESS_NONE);
        wf_race_note_load(0);
    }
    wf_map_leave_words(win);
    return rc;
}

int wf_unlock_all_beside(struct wf_win *win)
{
    int rc;

    wf_map_enter_words(win->map);
    rc = wf_epoch_check_all_locked(win);
    if (rc == MPI_SUCCESS)
        give_all_back(win);
    wf_map_leave_words(win);
    return rc;
}
