/* The permission for threads to access a member's memory beside the API
 * section: by operations of the mapped leg, and by flushes that have nothing to
 * wait for.
 *
 *   a call that changes an epoch   publishes what is allowed from then on
 *   the loss of a member           takes it back for good (`mapped`)
 *   an operation                   asks, and performs itself
 *
 * DESIGN  The answer is what words of the member and of the window, for epochs
 * to all members, say together. Threads only read them, so they
 * share no line that anybody writes. A thread that operates while another one
 * ends the epoch is an error of the program; operations of one epoch follow the
 * call that has opened it, by the program's own order. A member that is lost is
 * closed at any time: its memory stays mapped as long as the window exists.
 *
 * Nobody is polled for beside the section. A thread that flushes only would
 * never serve others, so it enters the section now and then
 * (wf_open_is_poll_due).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_OPEN_H
#define WF_RMA_OPEN_H

#include "report/state.h"
#include "rma/win.h"

enum wf_open {
    WF_OPEN_ACTIVE = 1,  /* operations without a request */
    WF_OPEN_PASSIVE = 2, /* those with one, which need a lock */
    WF_OPEN_FLUSH = 4    /* flushes, which wait for nothing */
};

enum { WF_OPEN_POLL_EVERY = 64 };

/* Publish what is allowed, after the state of the member, or the epoch of the
 * window, has changed; whether the member is reached by the mapped leg. */
void wf_open_publish_peer(struct wf_win_peer *);
void wf_open_publish_win(struct wf_win *);
void wf_open_publish_leg(struct wf_win_peer *);

/* Sets the epoch of the window. */
void wf_open_set_access(struct wf_win *, enum wf_win_epoch);

/* Returns whether all that `need` names is allowed on the member. */
static inline bool wf_open_allows(const struct wf_win_peer *p, uint32_t need)
{
    uint32_t allowed = 0;

    if (need)
        allowed = wf_load_acquire(&p->open) |     /* wf_open_publish_peer */
                  wf_load_acquire(&p->win->open); /* wf_open_publish_win */
    return wf_load_relaxed(&p->mapped) && !(need & ~allowed);
}

/* Returns the member if that is so; else NULL. Any thread may ask. */
static inline struct wf_win_peer *wf_open_find(const struct wf_win *win,
                                               int rank, uint32_t need)
{
    struct wf_win_peer *p;

    if (wf_unlikely((unsigned)rank >= (unsigned)win->comm->size))
        return NULL;
    p = wf_read_published(&win->peers[rank]); /* wf_win_peer */
    return wf_likely(p && wf_open_allows(p, need)) ? p : NULL;
}

/* The same for what is allowed on all members. */
static inline bool wf_open_allows_all(const struct wf_win *win, uint32_t need)
{
    return !(need & ~wf_load_acquire(&win->open)); /* wf_open_publish_win */
}

/* Returns whether a call that waits for nothing is to poll; it counts. */
static inline bool wf_open_is_poll_due(void)
{
    return ++wf_call_now.unpolled % WF_OPEN_POLL_EVERY == 0;
}

#endif
