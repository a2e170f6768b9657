/* Waiting for words of mapped memory, and what the end of a process means for
 * it.
 *
 *   waiter                              writer (wake_mate, wf_map_wake_members)
 *   leaves map->busy                    changes the word
 *   looks at the word for a moment
 *   poll, spin or yield (progress)      fence, unless waiters use membarrier
 *   asleep + 1, fence, membarrier,      asleep of the member not 0?
 *   looks once more, sleeps in epoll    a message without content to it
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

#include <sched.h>
#include <stdlib.h>

#include "core_api.h"
#include "object/error.h"
#include "os/membarrier.h"
#include "process/instance.h"
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
    wf_fence_full(); /* pairs with fence_writer */
    if (!m->writers_fence)
        (void)wf_membarrier(); /* registered when the window was made */
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

/* Looks at the word for a moment. Returns whether it has changed. */
static bool look_for_change(const struct word_wait *w)
{
    for (int looks = w->win->map->looks; looks > 0 && !has_changed(w); looks--)
        wf_cpu_relax();
    return has_changed(w);
}

void wf_map_await_word(struct wf_win *win, const wf_atomic_u32 *word,
                       uint32_t value, uint32_t mate)
{
    struct word_wait w = {.win = win, .word = word, .value = value, .on = mate};

    if (!look_for_change(&w))
        wait_with_progress(&w);
}

static int wait_for_word(void *arg, const wf_atomic_u32 *word, uint32_t value,
                         uint32_t on)
{
    struct wf_win *win = arg;
    struct word_wait w = {.win = win, .word = word, .value = value, .on = on};

    wf_map_leave_words(win);
    if (!look_for_change(&w)) {
        wf_enter_api(win->wf);
        wait_with_progress(&w);
        wf_leave_api(win->wf);
    }
    wf_map_enter_words(win->map);
    if (has_changed(&w))
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_PROC_ABORTED, "rank %d of %s is gone",
                    win->map->ranks[on], wf_win_name(win).text);
}

/* Orders the change of a word before the look at who sleeps. */
static void fence_writer(const struct wf_win_map *m)
{
    if (m->writers_fence)
        wf_fence_full(); /* pairs with arm_word */
    else
        wf_fence_compiler();
}

/* Returns whether a thread of the mate may sleep. */
static bool may_sleep(const struct wf_win_map *m, uint32_t mate)
{
    return mate == m->me || wf_load_relaxed(&wf_map_header(m, mate)->asleep);
}

/* A word has changed that the mate may wait for. It is woken by
 * wf_map_leave_words. */
static void wake_mate(void *arg, uint32_t mate)
{
    struct wf_win_map *m = ((struct wf_win *)arg)->map;

    fence_writer(m);
    if (may_sleep(m, mate))
        m->due[mate] = m->any_due = true;
}

bool wf_map_init_waiting(struct wf_win *win)
{
    struct wf_win_map *m = win->map;

    m->waiting = (struct wf_rma_waiting){wait_for_word, wake_mate, win};
    m->lock_of_all =
        wf_rma_lock_of_all(wf_map_header(m, 0), m->me, &m->waiting);
    m->watches = calloc(m->mates, sizeof *m->watches);
    m->looks = wf_win_is_oversubscribed(win) ? 0 : WF_MAP_LOOKS;
    if (!m->reused)
        wf_store_relaxed(&wf_map_header(m, m->me)->fences,
                         m->looks == 0 || !wf_membarrier_register());
    return m->watches != NULL;
}

void wf_map_choose_fence(struct wf_win_map *m)
{
    m->writers_fence = false;
    for (uint32_t i = 0; i < m->mates; i++)
        if (wf_load_relaxed(&wf_map_header(m, i)->fences))
            m->writers_fence = true;
}

/* ---- the section --------------------------------------------------------- */

void wf_map_enter_busy_words(struct wf_win_map *m)
{
    uint32_t looks = 0, none;

    do {
        wf_cpu_relax();
        if (++looks % WF_RMA_STRIPE_SPINS == 0)
            sched_yield();
        none = 0; /* pairs with wf_map_leave_words_only */
    } while (!wf_cas_acq_rel(&m->busy, &none, 1));
}

/* ---- wakes --------------------------------------------------------------- */

/* Returns a mate that is to be woken, and forgets it; UINT32_MAX: there is
 * none. */
static uint32_t take_due(struct wf_win_map *m)
{
    uint32_t i = 0;

    wf_map_enter_words(m);
    while (i < m->mates && !m->due[i])
        i++;
    if (i < m->mates)
        m->due[i] = false;
    else
        m->any_due = false;
    wf_map_leave_words_only(m);
    return i < m->mates ? i : UINT32_MAX;
}

static void send_wake(struct wf_win *win, uint32_t mate)
{
    struct weft_loc *loc = location_of(win, mate);

    if (mate == win->map->me)
        wf_win_notify(win); /* another thread of this process */
    else if (loc && !loc->failed)
        wf_credit_return(loc); /* perhaps no credit: the message wakes it */
}

void wf_map_wake_members(struct wf_win *win, const int *ranks, int count)
{
    fence_writer(win->map);
    for (int i = 0; i < count; i++) {
        uint32_t mate = win->peers[ranks[i]]->mate;

        if (may_sleep(win->map, mate))
            send_wake(win, mate);
    }
}

static void wake_due(struct wf_win *win)
{
    uint32_t mate;

    while ((mate = take_due(win->map)) != UINT32_MAX)
        send_wake(win, mate);
}

void wf_map_wake_due(struct wf_win *win)
{
    wf_enter_api(win->wf);
    wake_due(win);
    wf_leave_api(win->wf);
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
    wf_map_enter_words(m);
    wf_lock_word_fail_owner(&m->lock_of_all, gone);
    for (uint32_t i = 0; i < m->mates; i++) {
        lock = wf_rma_lock_of(wf_map_header(m, i), m->me, &m->waiting);
        wf_lock_word_fail_owner(&lock, gone);
    }
    wf_map_leave_words_only(m);
    wake_due(win);
}
