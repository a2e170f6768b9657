/* Sleeping: waiters sleep in the kernel, and threads that poll wake them. See
 * wait.h for leader, followers and bell.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "progress/sleep.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "os/futex.h"
#include "os/tuning.h"
#include "progress/engines.h"
#include "progress/progress.h"
#include "progress/wait.h"

enum { EVENTS = 8 };

#define FROM_LINK(l) wf_container(l, struct wf_waiter, link)

static void wake_waiter(struct wf_instance *wf, struct wf_waiter *w)
{
    if (w->call) {
        w->call(w);
        return;
    }
    if (w->leads) {
        wf_progress_wake_leader(wf);
        return;
    }
    if (wf_load_relaxed(&w->awake))
        return;
    /* pairs with the acquire load in sleep_as_follower() */
    wf_store_release(&w->awake, 1);
    wf_futex_wake(&w->awake);
}

void wf_waiters_notify(struct wf_instance *wf)
{
    struct wf_list *head = &wf->progress->waiters;

    for (struct wf_list *l = head->next; l != head; l = l->next) {
        struct wf_waiter *w = wf_container(l, struct wf_waiter, link);
        if (w->done(w->arg))
            wake_waiter(wf, w);
    }
}

/* Arm the sources of the mask, or only those with a word. False: one has
 * news. */
static WF_COLD bool arm_sources(struct wf_instance *wf, uint32_t mask,
                                bool only_words, int *timeout)
{
    struct wf_list *head = &wf->progress->sources;

    for (struct wf_list *l = head->next; l != head; l = l->next) {
        struct wf_event_source *s =
            wf_container(l, struct wf_event_source, link);
        if (mask & wf_source_mask(s) && (s->word || !only_words) &&
            !wf_source_arm(wf, s, timeout))
            return false;
    }
    return true;
}

bool wf_progress_arm(struct wf_instance *wf, uint32_t mask, int *timeout)
{
    *timeout = wf->progress->resume_requested ? WF_BLIND_SLEEP_MS : -1;
    return arm_sources(wf, mask, false, timeout);
}

void wf_progress_drain_bell(struct wf_progress *p)
{
    uint64_t count;

    if (read(p->bell, &count, sizeof count) < 0)
        return; /* it was not the bell that woke us */
}

/* Count a sleep without an event; true once they last watch_ms in all: timers
 * wake a leader sooner, and one that leads several engines sleeps for short
 * times. */
static bool has_rested(struct wf_progress *p, int ms)
{
    p->slept += ms;
    if (p->slept < p->watch_ms)
        return false;
    p->slept = 0;
    return true;
}

/* Sleep on the bell alone for as long as some thread polls. */
static WF_COLD void sleep_on_bell(struct wf_instance *wf,
                                  struct wf_waiter *self)
{
    struct wf_progress *p = wf->progress;
    struct pollfd bell = {.fd = p->bell, .events = POLLIN};
    uint32_t rounds;
    int timeout = -1; /* ignored: it looks every millisecond */

    if (!arm_sources(wf, UINT32_MAX, true, &timeout)) {
        p->prefers_bell = false;
        wf_progress_poll_round(wf, UINT32_MAX);
        return;
    }
    p->led = self->leads = p->leader_on_bell = true;
    /* it is woken by the bell, not by its futex word */
    wf_store_relaxed(&self->awake, 1);
    p->sleeps++;
    wf_cs_leave_to_sleep(&wf->api);
    do
        rounds = wf_load_relaxed(&p->rounds);
    while (poll(&bell, 1, p->bell_sleep_ms) == 0 &&
           wf_load_relaxed(&p->rounds) != rounds);
    wf_cs_enter(&wf->api);
    p->led = self->leads = p->leader_on_bell = p->prefers_bell = false;
    wf_progress_drain_bell(p);
    wf_progress_poll_round(wf, UINT32_MAX);
}

/* Sleep in epoll with the section left. */
static WF_COLD void sleep_as_leader(struct wf_instance *wf,
                                    struct wf_waiter *self)
{
    struct wf_progress *p = wf->progress;
    struct epoll_event events[EVENTS];
    struct wf_engines *engines = wf_engines(wf);
    int timeout, n, found, slept;
    bool watch;

    if (wf_progress_open_sleeper(p) < 0)
        return; /* without descriptors left it can only poll */
    if (engines && engines->ops->tasks(wf))
        return;
    if (p->prefers_bell) {
        sleep_on_bell(wf, self);
        return;
    }
    if (!wf_progress_arm(wf, UINT32_MAX, &timeout)) {
        /* the source with an event may not be in the waiter's mask */
        wf_progress_poll_round(wf, UINT32_MAX);
        return;
    }
    watch = timeout < 0 || timeout > p->watch_ms;
    if (watch)
        timeout = p->watch_ms;
    WF_ASSERT(!p->led);
    p->led = self->leads = true;
    /* it is woken by epoll, never by its futex word */
    wf_store_relaxed(&self->awake, 1);
    p->disarmed = false;
    p->until = wf_now(wf) + (uint64_t)timeout * 1000000;
    p->sleeps++;
    wf_cs_leave_to_sleep(&wf->api);
    slept = engines ? engines->ops->sleep(wf, timeout) : timeout;
    n = epoll_wait(p->epoll, events, EVENTS, engines ? 0 : timeout);
    wf_cs_enter(&wf->api);
    p->led = self->leads = false;
    for (int i = 0; i < n; i++)
        if (events[i].data.u32 == WF_WOKEN_BY_BELL)
            wf_progress_drain_bell(p);
        else
            p->wakeups[events[i].data.u32]++;
    if (engines)
        engines->ops->tasks(wf);
    found = wf_progress_poll_round(wf, UINT32_MAX);
    if (n == 0 && has_rested(p, slept) && watch)
        p->missed += found > 0 || self->done(self->arg);
    if (p->prefers_bell && !self->done(self->arg))
        sleep_on_bell(wf, self); /* it was woken for that */
}

/* Sleep on the waiter's own futex word until a thread completes its request or
 * passes the lead on to it. */
static WF_COLD void sleep_as_follower(struct wf_instance *wf,
                                      struct wf_waiter *self)
{
    if (wf->progress->leader_on_bell)
        /* this thread polls no more: the leader must arm the sources */
        wf_progress_wake_leader(wf);
    wf_progress_end_polling(wf);
    wf->progress->sleeps++;
    wf_cs_leave_to_sleep(&wf->api);
    while (!wf_load_acquire(&self->awake))
        wf_futex_wait(&self->awake, 0, NULL);
    wf_cs_enter(&wf->api);
}

void wf_progress_pass_lead(struct wf_instance *wf)
{
    struct wf_progress *p = wf->progress;

    struct wf_list *l = p->waiters.next;

    while (l != &p->waiters && FROM_LINK(l)->call)
        l = l->next; /* it waits elsewhere */
    if (!p->led && l != &p->waiters)
        wake_waiter(wf, FROM_LINK(l));
}

WF_COLD void wf_progress_sleep_once(struct wf_instance *wf,
                                    bool (*done)(void *), void *arg)
{
    struct wf_progress *p = wf->progress;
    struct wf_waiter self = {.done = done, .arg = arg};

    WF_ASSERT(p->waiting > 0 && p->asleep < p->waiting);
    wf_list_append(&p->waiters, &self.link);
    p->asleep++;
    if (wf_unlikely(wf_load_relaxed(&p->foreign_poller) != NULL))
        /* a thread that waits here leads this engine itself */
        wf_progress_remove_foreign_poller(wf);
    if (done(arg))
        /* an event came while the section was left, when this was no waiter
         * yet */
        ;
    else if (p->led)
        sleep_as_follower(wf, &self);
    else
        sleep_as_leader(wf, &self);
    p->asleep--;
    wf_list_remove(&self.link);
    wf_progress_pass_lead(wf);
}
