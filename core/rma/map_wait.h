/* Waits for words of shared windows, and the locks that are such words.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_MAP_WAIT_H
#define WF_RMA_MAP_WAIT_H

#include "os/single.h"
#include "rma/lock_word.h"
#include "rma/map.h"

/* A process is gone: those that wait for it do not wait for ever. */
void wf_map_lose(struct wf_win *, struct weft_loc *);
/* Prepares map->waiting. False: out of memory. */
bool wf_map_init_waiting(struct wf_win *);

/* Wakes the mates that are to be woken, outside of the section. */
void wf_map_wake_due(struct wf_win *);

/* Returns the window-wide lock, which lies with the first mate. */
static inline struct wf_rma_lock wf_map_lock_of_all(const struct wf_win *win)
{
    const struct wf_win_map *m = win->map;

    return wf_rma_lock_of_all(wf_map_header(m, 0), m->me, &m->waiting);
}

/* Enter and leave map->busy (lock_beside.h), for some instructions. A process
 * of one thread does not enter: the second thread cannot come meanwhile. */
static inline void wf_map_enter_words(struct wf_win_map *m)
{
    uint32_t looks = 0, none = 0;

    while (!wf_single_thread() && !wf_cas_acq_rel(&m->busy, &none, 1)) {
        none = 0; /* pairs with wf_map_leave_words_only */
        wf_cpu_relax();
        if (++looks % WF_RMA_STRIPE_SPINS == 0)
            sched_yield();
    }
}

static inline void wf_map_leave_words_only(struct wf_win_map *m)
{
    if (wf_load_relaxed(&m->busy))
        wf_store_release(&m->busy, 0); /* pairs with wf_map_enter_words */
}

/* Leaves, and wakes those who wait for what was changed. */
static inline void wf_map_leave_words(struct wf_win *win)
{
    bool due = win->map->any_due;

    wf_map_leave_words_only(win->map);
    if (wf_unlikely(due))
        wf_map_wake_due(win);
}

#endif
