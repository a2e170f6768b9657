/* The permission for threads to access a member's memory beside the API
 * section: by operations of the mapped leg, and by flushes that have nothing to
 * wait for.
 *
 *   the first use of a member      publishes where its memory is
 *   a call that changes an epoch   publishes what is allowed from then on
 *   the loss of a member           takes it back for good (`mapped`)
 *   an operation                   asks, and performs itself
 *
 * DESIGN  The answer is what words of the member and of the window, for epochs
 * to all members, say together. A record of each member has all that the fast
 * path needs. Threads only read it, so they share no line that anybody writes.
 * A thread that operates while another one ends the epoch is an error of the
 * program; operations of one epoch follow the call that has opened it, by the
 * program's own order. A member that is lost is closed at any time: its memory
 * stays mapped as long as the window exists.
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

/* How the mapped leg reaches a member. */
enum wf_open_mapped {
    WF_MAPPED_NOT, /* it does not, or the member is lost */
    WF_MAPPED_BYTES,
    WF_MAPPED_WORDS /* and integers need no stripe */
};

/* Publish where the memory of a member is; that it is lost. */
void wf_open_add_target(struct wf_win_peer *);
void wf_open_lose_target(struct wf_win_peer *);
/* Publish what is allowed, after the state of the member, or the epoch of the
 * window, has changed. */
void wf_open_publish_peer(struct wf_win_peer *);
void wf_open_publish_win(struct wf_win *);

/* Sets the epoch of the window. */
void wf_open_set_access(struct wf_win *, enum wf_win_epoch);

/* Returns whether the mapped leg reaches the member. */
static inline bool wf_open_is_mapped(const struct wf_win_peer *p)
{
    return wf_load_relaxed(&p->target->mapped) != WF_MAPPED_NOT;
}

/* Returns the record of a member that is mapped so, if all that `need` names is
 * allowed on it; else NULL. Any thread may ask. */
static inline const struct wf_open_target *
wf_open_find_target(const struct wf_win *win, int rank, uint32_t need,
                    enum wf_open_mapped how)
{
    const struct wf_open_target *t;
    uint32_t allowed = 0;

    if (wf_unlikely((unsigned)rank >= win->open_target_count))
        return NULL;
    t = &win->open_targets[rank];
    if (need)
        allowed = wf_load_acquire(&t->open) |  /* wf_open_publish_peer */
                  wf_load_acquire(&win->open); /* wf_open_publish_win */
    return wf_likely(wf_load_acquire(&t->mapped) >= how && !(need & ~allowed))
               ? t /* wf_open_add_target */
               : NULL;
}

/* Returns the state about the member if that is so; else NULL. */
static inline struct wf_win_peer *wf_open_find(const struct wf_win *win,
                                               int rank, uint32_t need)
{
    if (wf_unlikely(!wf_open_find_target(win, rank, need, WF_MAPPED_BYTES)))
        return NULL;
    return wf_read_published(&win->peers[rank]); /* wf_win_peer */
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
