/* Engines beside the one that a thread waits in: see engines.h.
 *
 * MPI promises that whatever is under way in a process goes on while some thread
 * of it is blocked. So a waiter polls the engines that nobody polls, and a leader
 * sleeps on their descriptors, too: as their *guest*. Whether somebody polls an
 * engine is seen from its count of turns, without touching its section: an
 * engine that is in use is left alone and looked at again some ms later.
 *
 *   in use --no turn since the last look--> a guest leads --a turn--> in use
 *
 * Who polls an engine that a guest leads takes the lead away from it, and rings,
 * so that the guest arms its sleep anew, without this engine.
 *
 * LOCK  The section of the thread's own engine is left before another one's is
 *       entered, and that only by a try.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <poll.h>
#include <unistd.h>

#include "engines.h"
#include "progress/wait.h"

enum { NAP_MIN = 4, NAP_MAX = 64 /* ms */ };

/* Has anybody polled it since this engine last looked? */
static bool in_use(struct wf_instance *wf, struct wf_instance *other)
{
    struct wf_engines *all = wf_engines(wf);
    wf_atomic_u32 *seen = &all->seen[wf->number][other->number];
    uint32_t turn = wf_load_relaxed(&other->progress->turn);
    bool moved = turn != wf_load_relaxed(seen);

    wf_store_relaxed(seen, turn);
    return moved && !wf_load_relaxed(&all->errands[other->number].due);
}

/* A turn of ours is not use by somebody. */
static void note(struct wf_instance *wf, struct wf_instance *other)
{
    wf_store_relaxed(&wf_engines(wf)->seen[wf->number][other->number],
                     wf_load_relaxed(&other->progress->turn));
}

static void visit(struct wf_instance *wf, struct wf_instance *other)
{
    if (in_use(wf, other) || !wf_cs_try(&other->api))
        return;
    wf_errands_run(other);
    wf_progress_poll(other, UINT32_MAX);
    note(wf, other);
    wf_cs_give(&other->api);
}

void wf_others_poll(struct wf_instance *wf) WF_UNANALYSED
{
    struct wf_engines *all = wf_engines(wf);

    wf_errands_run(wf); /* also where nobody ever sleeps */
    wf_leave_api(wf);
    for (unsigned i = 0; i < all->count; i++)
        if (all->all[i] != wf)
            visit(wf, all->all[i]);
    wf_enter_api(wf);
}

/* ---- sleeping ------------------------------------------------------------- */

static void sooner(int *timeout, int ms)
{
    if (ms >= 0 && (*timeout < 0 || ms < *timeout))
        *timeout = ms;
}

/* Inside `other`: make it wake us. False: it has something, or a leader. */
static bool lead_as_guest(struct wf_instance *wf, struct wf_instance *other,
                          int *timeout)
{
    struct wf_progress *p = other->progress;
    int until;

    if (wf_errands_run(other) || !wf_progress_arm(other, &until)) {
        wf_progress_poll(other, UINT32_MAX);
        note(wf, other);
        *timeout = 0;
        return false;
    }
    p->led = true;
    p->disarmed = false;
    wf_store_relaxed(&p->guest, wf);
    sooner(timeout, until);
    return true;
}

static bool look_after(struct wf_instance *wf, struct wf_instance *other,
                       int *timeout)
{
    int nap = wf_engines(wf)->nap[wf->number];
    bool leads = false;

    if (in_use(wf, other) || !wf_cs_try(&other->api)) {
        sooner(timeout, nap);
        return false;
    }
    if (other->progress->led)
        sooner(timeout, nap);
    else
        leads = lead_as_guest(wf, other, timeout);
    wf_cs_give(&other->api);
    return leads;
}

static void drain_bell(struct wf_progress *p)
{
    uint64_t count;

    if (read(p->bell, &count, sizeof count) < 0)
        return; /* it was not the bell that woke us */
}

/* After the sleep. Who was sent away leaves the engine to whom it is in use by:
 * `seen` is older than its turns. */
static void end_guest(struct wf_instance *wf, struct wf_instance *other)
{
    struct wf_progress *p = other->progress;

    if (wf_load_relaxed(&p->guest) != wf)
        return;
    wf_cs_take(&other->api);
    if (wf_load_relaxed(&p->guest) == wf) {
        wf_progress_evict(other);
        drain_bell(p);
        wf_errands_run(other);
        wf_progress_poll(other, UINT32_MAX);
        wf_progress_pass_lead(other);
        note(wf, other);
    }
    wf_cs_give(&other->api);
}

/* Twice as long after each nap in which nothing happened. */
static void next_nap(int *nap, bool quiet)
{
    *nap = !quiet ? NAP_MIN : *nap < NAP_MAX ? 2 * *nap : NAP_MAX;
}

int wf_others_sleep(struct wf_instance *wf, int timeout)
{
    struct wf_engines *all = wf_engines(wf);
    struct wf_instance *guests[WF_ENGINES_MAX];
    struct pollfd fds[WF_ENGINES_MAX];
    int *nap = &all->nap[wf->number], events;
    nfds_t n = 1;

    if (!*nap)
        *nap = NAP_MIN;

    fds[0] = (struct pollfd){.fd = wf->progress->epoll, .events = POLLIN};
    for (unsigned i = 0; i < all->count; i++) {
        struct wf_instance *other = all->all[i];
        if (other == wf || !look_after(wf, other, &timeout))
            continue;
        guests[n] = other;
        fds[n++] = (struct pollfd){.fd = other->progress->epoll,
                                   .events = POLLIN};
    }
    events = poll(fds, n, timeout);
    next_nap(nap, events == 0);
    while (--n > 0)
        end_guest(wf, guests[n]);
    return events == 0 ? timeout : 0;
}
