/* Polling of engines beside the one that a thread waits in: see engines.h.
 *
 * MPI promises that every operation of a process makes progress while some
 * thread of it is blocked. So a waiter also polls the engines that no thread
 * polls, and a leader also sleeps on their descriptors: as their *foreign
 * poller*. Whether an engine is in use is seen from its count of poll rounds,
 * without touching its section: an engine in use is left alone and checked
 * again some ms later.
 *
 *   in use --no round since the last check--> led by a foreign poller
 *   led by a foreign poller --a round--> in use
 *
 * A thread that polls an engine led by a foreign poller takes the lead from it,
 * and rings the bell, so that it sleeps again without this engine.
 *
 * LOCK  The section of the thread's own engine is left before another one's is
 *       entered, and that only by a try.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "progress/other_engines.h"

#include <poll.h>
#include <unistd.h>

#include "os/tuning.h"
#include "progress/engines.h"
#include "progress/progress.h"
#include "progress/wait.h"

/* True if a thread has polled `other` since this engine checked last, and no
 * task waits there. */
static bool is_in_use(struct wf_instance *wf, struct wf_instance *other)
{
    struct wf_engines *all = wf_engines(wf);
    wf_atomic_u32 *seen = &all->seen[wf->number][other->number];
    uint32_t rounds = wf_load_relaxed(&other->progress->rounds);
    bool moved = rounds != wf_load_relaxed(seen);

    wf_store_relaxed(seen, rounds);
    return moved && !wf_load_relaxed(&all->tasks[other->number].due);
}

/* Record that the last round of `other` was by this thread, and no use. */
static void note_own_poll(struct wf_instance *wf, struct wf_instance *other)
{
    wf_store_relaxed(&wf_engines(wf)->seen[wf->number][other->number],
                     wf_load_relaxed(&other->progress->rounds));
}

static void poll_if_unused(struct wf_instance *wf, struct wf_instance *other)
{
    if (is_in_use(wf, other) || !wf_cs_try_enter(&other->api))
        return;
    wf_engine_tasks_run(other);
    wf_progress_poll(other, UINT32_MAX);
    note_own_poll(wf, other);
    wf_cs_leave(&other->api);
}

/* Whether a thread that waits on a channel polls the other engines now: rarely,
 * because a poll that moves bulk payload lasts longer than most such waits. */
static bool is_time_for_others(struct wf_instance *wf)
{
    uint64_t *at =
        &wf_engines(wf)->others_polled_at[wf->number - WF_ENGINES_MAX];
    uint64_t now = wf_now(wf);

    if (now - *at < WF_CHANNEL_OTHERS_NS)
        return false;
    *at = now;
    return true;
}

void wf_other_engines_poll(struct wf_instance *wf) WF_UNANALYSED
{
    wf_engine_tasks_run(wf); /* also where no thread ever sleeps */
    if (wf_engine_is_channel(wf) && !is_time_for_others(wf))
        return;
    wf_leave_api(wf);
    for (struct wf_instance *e = wf_home(wf); e; e = wf_engine_after(e))
        if (e != wf)
            poll_if_unused(wf, e);
    wf_enter_api(wf);
}

/* ---- sleeping ------------------------------------------------------------ */

static void shorten_timeout(int *timeout, int ms)
{
    if (ms >= 0 && (*timeout < 0 || ms < *timeout))
        *timeout = ms;
}

/* Lead `other` and arm its endpoints. False: it has an event. Inside
 * `other`. */
static bool lead_as_foreign_poller(struct wf_instance *wf,
                                   struct wf_instance *other, int *timeout)
{
    struct wf_progress *p = other->progress;
    int until;

    if (wf_engine_tasks_run(other) ||
        !wf_progress_arm(other, UINT32_MAX, &until)) {
        wf_progress_poll(other, UINT32_MAX);
        note_own_poll(wf, other);
        *timeout = 0;
        return false;
    }
    p->led = true;
    p->disarmed = false;
    wf_store_relaxed(&p->foreign_poller, wf);
    shorten_timeout(timeout, until);
    return true;
}

/* Lead `other` unless it is in use or has a leader; then only shorten the
 * sleep, to check it again. */
static bool try_lead_other(struct wf_instance *wf, struct wf_instance *other,
                           int *timeout)
{
    int pause = wf_engines(wf)->nap[wf->number];
    bool leads = false;

    if (is_in_use(wf, other) || !wf_cs_try_enter(&other->api)) {
        shorten_timeout(timeout, pause);
        return false;
    }
    if (other->progress->led)
        shorten_timeout(timeout, pause);
    else
        leads = lead_as_foreign_poller(wf, other, timeout);
    wf_cs_leave(&other->api);
    return leads;
}

/* Give up the lead of `other` after the sleep, and poll it. If a thread there
 * has taken the lead already, the engine is in use: `seen` is older than its
 * rounds. */
static void stop_leading_other(struct wf_instance *wf,
                               struct wf_instance *other)
{
    struct wf_progress *p = other->progress;

    if (wf_load_relaxed(&p->foreign_poller) != wf)
        return;
    wf_cs_enter(&other->api);
    if (wf_load_relaxed(&p->foreign_poller) == wf) {
        wf_progress_remove_foreign_poller(other);
        wf_progress_drain_bell(p);
        wf_engine_tasks_run(other);
        wf_progress_poll(other, UINT32_MAX);
        wf_progress_pass_lead(other);
        note_own_poll(wf, other);
    }
    wf_cs_leave(&other->api);
}

/* Double the pause after each one without an event. */
static void adapt_pause(int *pause, bool quiet)
{
    *pause = !quiet                              ? WF_ENGINES_PAUSE_MS
             : *pause < WF_ENGINES_PAUSE_MOST_MS ? 2 * *pause
                                                 : WF_ENGINES_PAUSE_MOST_MS;
}

int wf_other_engines_sleep(struct wf_instance *wf, int timeout)
{
    struct wf_engines *all = wf_engines(wf);
    struct wf_instance *led[WF_ENGINES_ALL];
    struct pollfd fds[WF_ENGINES_ALL];
    int *pause = &all->nap[wf->number], events;
    nfds_t n = 1;

    if (!*pause)
        *pause = WF_ENGINES_PAUSE_MS;

    fds[0] = (struct pollfd){.fd = wf->progress->epoll, .events = POLLIN};
    for (struct wf_instance *e = wf_home(wf); e; e = wf_engine_after(e)) {
        if (e == wf || !try_lead_other(wf, e, &timeout))
            continue;
        led[n] = e;
        fds[n++] = (struct pollfd){.fd = e->progress->epoll, .events = POLLIN};
    }
    events = poll(fds, n, timeout);
    adapt_pause(pause, events == 0);
    while (--n > 0)
        stop_leading_other(wf, led[n]);
    return events == 0 ? timeout : 0;
}
