/* The lock on memory of this process, as its target.
 *
 *   free -- ask --> held by one (exclusive) or by several (shared)
 *             `---> waiters, a queue; a shared lock is not given past it
 *
 * A holder that dies gives its lock up, and what it has changed may be
 * incomplete. As with a robust mutex each of those that waited then gets the
 * lock in its turn, and with the next answer MPI_ERR_PROC_ABORTED; if none
 * waited and the lock was exclusive, the next that asks does.
 *
 * A wait is ended by the release of the holder; by its death, which is noticed
 * because the process watches a holder while others wait; by the death of the
 * one that waits. A waiter watches this process.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/lock_queue.h"

#include "process/rank.h"
#include "rma/target.h"
#include "route/location.h"

static bool may_have(const struct wf_win *win, enum wf_lock_type type)
{
    return !win->exclusive && (type == WF_LOCK_SHARED || win->shared == 0);
}

/* Has the death of a holder noticed. */
static void watch_holder(struct wf_win_peer *p)
{
    if (p->watched || !p->loc || p->loc->id == p->win->wf->rank->id)
        return;
    p->watched = true;
    p->watch.loc = p->loc;
    wf_flag_wait_begin(p->win->wf, &p->watch);
}

static void unwatch_holder(struct wf_win_peer *p)
{
    if (!p->watched)
        return;
    p->watched = false;
    wf_flag_wait_end(p->win->wf, &p->watch);
}

static void watch_holders(struct wf_win *win)
{
    if (win->exclusive)
        watch_holder(win->exclusive);
    for (int i = 0; win->shared && i < win->comm->size; i++)
        if (win->peers[i] && win->peers[i]->held)
            watch_holder(win->peers[i]);
}

static void give_lock(struct wf_win_peer *p, enum wf_lock_type type)
{
    struct wf_win *win = p->win;

    WF_ASSERT(!p->held && may_have(win, type));
    p->inherits |= win->abandoned;
    win->abandoned = false;
    p->held = (uint8_t)type;
    if (type == WF_LOCK_EXCLUSIVE)
        win->exclusive = p;
    else
        win->shared++;
}

/* Gives the lock to those that are next. Their messages are performed then, and
 * may give the lock back: that call leaves the work to this one. */
static void give_to_waiters(struct wf_win *win)
{
    if (win->granting)
        return;
    win->granting = true;
    while (!wf_list_empty(&win->waiters)) {
        struct wf_win_peer *p =
            wf_container(win->waiters.next, struct wf_win_peer, waiter);

        if (!may_have(win, (enum wf_lock_type)p->wanted))
            break;
        wf_list_remove(&p->waiter);
        p->waits = false;
        give_lock(p, (enum wf_lock_type)p->wanted);
        wf_rma_perform_kept(p);
    }
    win->granting = false;
    if (!wf_list_empty(&win->waiters))
        watch_holders(win);
}

void wf_lock_queue_ask(struct wf_win_peer *p, enum wf_lock_type type)
{
    struct wf_win *win = p->win;

    if (p->held || p->waits)
        return; /* it asks for what it has */
    if (wf_list_empty(&win->waiters) && may_have(win, type)) {
        give_lock(p, type);
        return;
    }
    p->waits = true;
    p->wanted = (uint8_t)type;
    wf_list_append(&win->waiters, &p->waiter);
    watch_holders(win);
}

void wf_lock_queue_release(struct wf_win_peer *p)
{
    struct wf_win *win = p->win;

    if (!p->held)
        return;
    unwatch_holder(p);
    if (p->held == WF_LOCK_EXCLUSIVE)
        win->exclusive = NULL;
    else
        win->shared--;
    p->held = WF_LOCK_TYPE_NONE;
    give_to_waiters(win);
}

void wf_lock_queue_lose_holder(struct wf_win_peer *p)
{
    struct wf_win *win = p->win;

    wf_rma_drop_kept(p);
    if (p->waits) {
        p->waits = false;
        wf_list_remove(&p->waiter);
        give_to_waiters(win);
    }
    if (!p->held)
        return;
    win->abandoned =
        p->held == WF_LOCK_EXCLUSIVE && wf_list_empty(&win->waiters);
    for (struct wf_list *l = win->waiters.next; l != &win->waiters; l = l->next)
        wf_container(l, struct wf_win_peer, waiter)->inherits = true;
    wf_lock_queue_release(p);
}

bool wf_lock_queue_is_busy(const struct wf_win *win)
{
    return win->exclusive || win->shared || !wf_list_empty(&win->waiters);
}
