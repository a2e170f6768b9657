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
/* Prepares map->waiting and map->lock_of_all, and tells the mates how this
 * process sleeps. False: out of memory. */
bool wf_map_init_waiting(struct wf_win *);
/* Sets map->writers_fence, when all mates have told that. */
void wf_map_choose_fence(struct wf_win_map *);

/* Wakes the mates that are to be woken, outside of the section. */
void wf_map_wake_due(struct wf_win *);

/* Inside the section: wait until a word is not `value` any more, or the mate
 * that changes it is gone; and wake those of these members, all of them mates,
 * that may wait for a word which has changed. */
void wf_map_await_word(struct wf_win *, const wf_atomic_u32 *word,
                       uint32_t value, uint32_t mate);
void wf_map_wake_members(struct wf_win *, const int *ranks, int count);

/* Enters map->busy when the thread that is inside has left. */
void wf_map_enter_busy_words(struct wf_win_map *);
/* Enter and leave map->busy (lock_beside.h), for some instructions. A process
 * of one thread does not enter: the second thread cannot come meanwhile. */
static inline void wf_map_enter_words(struct wf_win_map *m)
{
    uint32_t none = 0;

    /* pairs with wf_map_leave_words_only */
    if (!wf_single_thread() && wf_unlikely(!wf_cas_acq_rel(&m->busy, &none, 1)))
        wf_map_enter_busy_words(m);
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
