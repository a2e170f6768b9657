/* Waiting for words of mapped memory, and what the end of a process means for
 * it.
 *
 *   waiter                              writer (wake_mate)
 *   looks at the word for a moment      changes the word
 *   poll, spin or yield (progress)      full fence
 *   asleep + 1, full fence, looks       asleep of the member not 0?
 *   once more, sleeps in epoll          a message without content to it
 *
 * A wait is that of any other call (progress/wait.c), because others may need
 * this process meanwhile. It ends when the word has changed, or when the
 * process that is expected to change it is gone. The mates are watched
 * meanwhile; wf_map_lose gives up the locks of one that is gone, which changes
 * the words of those that wait for them.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/map_wait.h"

#include <stdlib.h>

#include "core_api.h"
#include "object/error.h"
#include "progress/source.h"
#include "protocol/credit.h"
#include "protocol/location.h"
#include "protocol/queues.h"
#include "rma/epoch.h"
#include "rma/lock_word.h"
#include "rma/map.h"

struct word_wait {
    struct wf_win *win;
    struct wf_event_source source;
    const wf_atomic_u32 *word;
    uint32_t value; /* until the word is another one */
    uint32_t on;    /* the mate that changes it, or WF_RMA_ANY_MEMBER */
};

static bool has_changed(const struct word_wait *w)
{
    return wf_load_acquire(w->word) != w->value; /* pairs with its writer */
}

static struct weft_loc *location_of(const struct wf_win *win, uint32_t mate)
{
    return wf_location(win->wf,
                       wf_group_proc(win->comm->local, win->map->ranks[mate]));
}

static bool is_mate_lost(const struct wf_win *win, uint32_t mate)
{
    const struct weft_loc *loc = location_of(win, mate);

    return mate != win->map->me && loc && loc->failed;
}

static bool is_over(void *arg)
{
    const struct word_wait *w = arg;

    return has_changed(w) ||
           (w->on != WF_RMA_ANY_MEMBER && is_mate_lost(w->win, w->on));
}

/* ---- sleeping ------------------------------------------------------------ */

static int poll_word(wf_source_object *wait, int budget)
{
    return has_changed((struct word_wait *)wait);
}

static int arm_word(wf_source_object *wait, uint64_t *deadline_ns)
{
    struct word_wait *w = (struct word_wait *)wait;
    struct wf_win_map *m = w->win->map;

    if (w->source.state != WF_SOURCE_ARMED)
        (void)wf_add_acq_rel(&wf_map_header(m, m->me)->asleep, 1);
    wf_fence_full(); /* pairs with wake_mate */
    return has_changed(w) ? WEFT_EAGAIN : WEFT_OK;
}

static void disarm_word(wf_source_object *wait)
{
    struct word_wait *w = (struct word_wait *)wait;
    struct wf_win_map *m = w->win->map;

    (void)wf_add_acq_rel(&wf_map_header(m, m->me)->asleep,
                         UINT32_MAX); /* minus one */
}

/* Has the end of any mate noticed from now on. */
static void begin_watching(struct wf_win *win)
{
    struct wf_win_map *m = win->map;

    if (m->waits++ > 0)
        return;
    for (uint32_t i = 0; i < m->mates; i++) {
        struct weft_loc *loc = i == m->me ? NULL : location_of(win, i);

        m->watches[i] = (struct wf_flag_wait){.loc = loc};
        if (loc)
            wf_flag_wait_begin(win->wf, &m->watches[i]);
    }
}

static void end_watching(struct wf_win *win)
{
    struct wf_win_map *m = win->map;

    if (--m->waits > 0)
        return;
    for (uint32_t i = 0; i < m->mates; i++)
        if (m->watches[i].loc)
            wf_flag_wait_end(win->wf, &m->watches[i]);
}

static void wait_with_progress(struct word_wait *w)
{
    struct wf_win *win = w->win;
    struct wf_win_peer *on =
        w->on == WF_RMA_ANY_MEMBER ? NULL : win->peers[win->map->ranks[w->on]];

    w->source = (struct wf_event_source){.name = "word of a window",
                                         .object = (wf_source_object *)w,
                                         .poll = poll_word,
                                         .arm = arm_word,
                                         .disarm = disarm_word,
                                         .fd = -1};
    wf_win_get(win);
    begin_watching(win);
    (void)wf_source_add(win->wf, &w->source, WF_SOURCE_BIT_ANY);
    wf_win_wait(win, on, is_over, w);
    wf_source_remove(win->wf, &w->source);
    end_watching(win);
    wf_win_put(win);
}

static int wait_for_word(void *arg, const wf_atomic_u32 *word, uint32_t value,
                         uint32_t on)
{
    struct wf_win *win = arg;
    struct word_wait w = {.win = win, .word = word, .value = value, .on = on};

    for (int looks = win->map->looks; looks > 0 && !has_changed(&w); looks--)
        wf_cpu_relax();
    if (!has_changed(&w))
        wait_with_progress(&w);
    if (has_changed(&w))
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_PROC_ABORTED, "rank %d of %s is gone",
                    win->map->ranks[on], wf_win_name(win).text);
}

/* A word has changed that the mate may wait for. */
static void wake_mate(void *arg, uint32_t mate)
{
    struct wf_win *win = arg;
    struct weft_loc *loc;

    if (mate == win->map->me) {
        wf_win_notify(win); /* another thread of this process */
        return;
    }
    wf_fence_full(); /* pairs with arm_word */
    if (!wf_load_relaxed(&wf_map_header(win->map, mate)->asleep))
        return;
    loc = location_of(win, mate);
    if (loc && !loc->failed)
        wf_credit_return(loc); /* perhaps no credit: the message wakes it */
}

bool wf_map_init_waiting(struct wf_win *win)
{
    struct wf_win_map *m = win->map;

    m->waiting = (struct wf_rma_waiting){wait_for_word, wake_mate, win};
    m->watches = calloc(m->mates, sizeof *m->watches);
    return m->watches != NULL;
}

/* ---- locks --------------------------------------------------------------- */

static struct wf_rma_lock lock_of(const struct wf_win *win, uint32_t mate)
{
    const struct wf_win_map *m = win->map;

    return wf_rma_lock_of(wf_map_header(m, mate), m->me, &m->waiting);
}

/* Returns the window-wide lock, which lies with the first mate. */
static struct wf_rma_lock lock_of_all(const struct wf_win *win)
{
    const struct wf_win_map *m = win->map;

    return wf_rma_lock_of_all(wf_map_header(m, 0), m->me, &m->waiting);
}

int wf_map_lock(struct wf_win_peer *p, bool exclusive)
{
    struct wf_win *win = p->win;
    struct wf_rma_lock all = lock_of_all(win), target = lock_of(win, p->mate);

    return wf_rma_lock(&all, &target, exclusive, win->words_held > 0);
}

void wf_map_unlock(struct wf_win_peer *p, bool exclusive)
{
    struct wf_rma_lock all = lock_of_all(p->win),
                       target = lock_of(p->win, p->mate);

    wf_rma_unlock(&all, &target, exclusive);
}

int wf_map_lock_all(struct wf_win *win)
{
    struct wf_rma_lock all = lock_of_all(win);

    return wf_rma_lock_all(&all);
}

void wf_map_unlock_all(struct wf_win *win)
{
    struct wf_rma_lock all = lock_of_all(win);

    wf_rma_unlock_all(&all);
}

/* ---- the end of a process ------------------------------------------------ */

void wf_map_lose(struct wf_win *win, struct weft_loc *loc)
{
    struct wf_win_map *m = win->map;
    struct wf_rma_lock lock;
    uint32_t gone = 0;

    if (!m || !m->watches)
        return;
    while (gone < m->mates &&
           wf_group_proc(win->comm->local, m->ranks[gone]) != loc->id)
        gone++;
    if (gone == m->mates || gone == m->me)
        return;
    m->gone[gone] = true;
    if (win->peers[m->ranks[gone]])
        (void)wf_win_set_location(win->peers[m->ranks[gone]], loc);
    if (!wf_map_has_lock_words(win))
        return;
    lock = lock_of_all(win);
    wf_lock_word_fail_owner(&lock, gone);
    for (uint32_t i = 0; i < m->mates; i++) {
        lock = lock_of(win, i);
        wf_lock_word_fail_owner(&lock, gone);
    }
}
