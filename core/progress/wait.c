/* Waiting: spin for a while, then sleep in the kernel.
 *
 *   poll --nothing--> spin --budget used--> arm all sources --> sleep
 *    ^                  |                        | one has news   |
 *    +----- event ------+------------------------+---- event -----+
 *
 * The spin budget adapts like an adaptive mutex: it doubles when spinning was
 * enough and halves when the wait ended in sleep anyway, between WF_SPIN_MIN_NS
 * and the limit. A sleep that was hardly longer than a wake-up doubles the
 * budget, too: two ranks that both sleep wait only for each other's wake-up,
 * and would do so for ever if both spun for less. With more ranks than CPUs no
 * rank spins: a rank that waits yields its CPU a bounded number of times,
 * adapted in the same way, and sleeps (Plachetka: no active polling while
 * blocked).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "progress/wait.h"

#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include "config/config.h"
#include "os/cpu.h"
#include "os/quota.h"
#include "os/tuning.h"
#include "process/rank.h"
#include "progress/engines.h"
#include "progress/progress.h"
#include "progress/sleep.h"
#include "report/state.h"
#include "report/trace_note.h"

/* tests in vain from one record to the next, and from one look at the clock for
 * the sources that they do not ask for */
enum { TESTS_PER_RECORD = 64, TESTS_PER_UNASKED = 4 };

/* How long an idle round of a serving call may sleep: not at first, and later a
 * quarter of what the call has taken so far, so that a condition that no event
 * announces is seen after at most so much more. Other engines ring no bell
 * here, and are looked at every few milliseconds. */
static int idle_sleep_ms(struct wf_instance *wf, unsigned idle, uint64_t begun,
                         uint64_t deadline)
{
    uint64_t now = wf_now(wf), ms = (now - begun) / 4000000;

    if (idle < WF_SERVE_ROUNDS)
        return 0;
    if (wf->progress->epoll < 0) /* nothing rings */
        ms = 0;
    if (wf_engines(wf))
        ms = wf_min_u64(ms, WF_SERVE_SLEEP_MS);
    if (deadline)
        ms = wf_min_u64(ms, deadline > now ? (deadline - now) / 1000000 : 0);
    return (int)wf_min_u64(ms + 1, (uint64_t)wf->progress->watch_ms);
}

/* Poll the other engines that no thread polls. Leaves the section meanwhile. */
static void poll_others(struct wf_instance *wf)
{
    struct wf_engines *engines = wf_engines(wf);
    struct wf_progress *p = wf->progress;

    p->others_round = wf_load_relaxed(&p->rounds);
    if (wf_unlikely(engines != NULL))
        engines->ops->poll(wf);
}

void wf_progress_poll_others(struct wf_instance *wf)
{
    struct wf_progress *p = wf->progress;

    if (wf_unlikely(wf_load_relaxed(&p->rounds) - p->others_round >
                    WF_OTHERS_EVERY))
        poll_others(wf);
}

WF_COLD bool wf_progress_poll_until(struct wf_instance *wf, int fd,
                               bool (*done)(void *), void *arg,
                               uint64_t deadline)
{
    struct pollfd fds[2] = {{.fd = fd, .events = POLLIN}, {.events = POLLIN}};
    uint64_t begun = wf_now(wf);
    unsigned idle = 0;
    int ms, timeout;

    for (;;) {
        idle = wf_progress_poll(wf, UINT32_MAX) > 0 ? 0 : idle + 1;
        poll_others(wf);
        if (idle == WF_SERVE_ROUNDS) /* then it asks once more, and may sleep */
            (void)wf_progress_open_sleeper(wf->progress);
        fds[1].fd = wf->progress->epoll;
        if (done && done(arg))
            return true;
        if (deadline && wf_now(wf) >= deadline)
            return false;
        ms = 0;
        if (wf_progress_arm(wf, UINT32_MAX, &timeout)) {
            ms = idle_sleep_ms(wf, idle, begun, deadline);
            ms = timeout < 0 || ms < timeout ? ms : timeout;
        }
        if (poll(fds, 2, ms) <= 0)
            continue;
        if (fds[0].revents)
            return true;
        wf_progress_drain_bell(wf->progress);
    }
}

bool wf_progress_poll_at_end(struct wf_instance *wf, bool (*done)(void *),
                             void *arg)
{
    return wf_progress_poll_until(
        wf, -1, done, arg, wf_now(wf) + wf->rank->options->close_timeout);
}

static void set_spin(struct wf_progress *p, uint64_t ns)
{
    p->spin = p->spin_max = ns;
    p->spin_polls = ns ? WF_SPIN_POLLS : WF_SPIN_POLLS_OVERSUBSCRIBED;
}

static void set_oversubscribed(struct wf_progress *p, bool oversubscribed)
{
    p->oversubscribed = oversubscribed;
    p->yields_max = oversubscribed ? WF_YIELDS_MAX : 0;
    set_spin(p, oversubscribed ? 0 : WF_SPIN_NS);
}

/* Set the limits of spinning and yielding. Done before the first wait rather
 * than at start: short programs never wait. */
static WF_COLD void choose_limits(struct wf_instance *wf)
{
    struct wf_progress *p = wf->progress;
    uint32_t ranks = wf->rank->local_count;
    uint64_t cpus = wf_min_u64((uint64_t)wf->rank->cpus, wf_quota_cpus());

    p->limits_known = true;
    p->yield_long = WF_YIELD_LONG_NS;
    if (cpus && ranks > cpus)
        p->yield_long += WF_YIELD_TURN_NS * ((ranks - 1) / cpus);
    set_oversubscribed(p, ranks > 1 && ranks > cpus);
    if (wf->rank->options->spin != WF_AUTO) {
        set_spin(p, wf->rank->options->spin);
        p->yields_max = 0;
    }
    p->no_yield_next = WF_NO_YIELD_MIN;
    p->shared_waits_max = WF_SHARED_WAITS_MIN;
    p->yields = WF_YIELDS_MAX;
}

bool wf_progress_is_oversubscribed(struct wf_instance *wf)
{
    if (!wf->progress->limits_known)
        choose_limits(wf);
    return wf->progress->oversubscribed;
}

/* Let the other threads on this CPU run once. Returns how long that took. */
static uint64_t yield_cpu(struct wf_instance *wf)
{
    uint64_t start = wf_now(wf);

    wf_cs_leave_to_sleep(&wf->api);
    sched_yield();
    wf_cs_enter(&wf->api);
    return wf_now(wf) - start;
}

/* Count yields that found no other thread on the only CPU, where one was found
 * before; after many in a row it counts as gone. */
static WF_COLD void count_lone_yield(struct wf_progress *p, uint64_t took)
{
    if (took > WF_YIELD_ALONE_NS)
        p->lone_yields = 0;
    else if (++p->lone_yields > WF_LONE_YIELDS_MAX) {
        p->lone_yields = 0;
        p->only_cpu_shared = false;
        set_oversubscribed(p, false);
    }
}

/* True if a thread on this CPU computes: a yield took longer than the turns of
 * the other ranks on it, and than the spin budget that they have, too. Then a
 * wake-up gets the CPU back sooner than a place in the scheduler's queue. */
static bool is_computing(struct wf_progress *p, uint64_t took)
{
    return took >= p->yield_long + p->spin_max;
}

/* Yield once. False: a thread on this CPU computes. */
static bool yield_to_others(struct wf_instance *wf)
{
    uint64_t took = yield_cpu(wf);

    if (wf_unlikely(wf->progress->only_cpu_shared))
        count_lone_yield(wf->progress, took);
    return !is_computing(wf->progress, took);
}

bool wf_progress_yield_cpu(struct wf_instance *wf)
{
    return wf->progress->yields_max && !wf_cs_uses_lock(&wf->api) &&
           yield_to_others(wf);
}

/* Leave this CPU if another rank is found on it time and again. The scheduler
 * may leave two ranks on one CPU for good though another is free: it looks for
 * work to move in ticks, and at each tick only one of them wants to run. Each
 * time that leaving helped for a short time only, the number of waits until the
 * next time doubles. A rank that is bound to one CPU cannot leave: then it is
 * treated as where ranks outnumber CPUs. */
static WF_COLD void leave_shared_cpu(struct wf_instance *wf)
{
    struct wf_progress *p = wf->progress;

    if (!p->cpu_shared) {
        p->shared_waits = 0;
    } else if (++p->shared_waits > p->shared_waits_max) {
        p->shared_waits = 0;
        p->only_cpu_shared =
            wf->rank->own_cpus == 1 && wf->rank->options->spin == WF_AUTO;
        if (p->only_cpu_shared) {
            set_oversubscribed(p, true);
            return;
        }
        p->shared_waits_max *= 2;
        p->spin = p->spin_max;
        wf_cpu_leave();
    }
}

/* True if a yield finds another rank on this CPU. There are enough CPUs, but
 * the rank that we wait for may be queued behind us on ours. If both slept in
 * turn they would stay there, and each wait would take a wake-up. */
static bool shares_cpu(struct wf_instance *wf)
{
    struct wf_progress *p = wf->progress;
    uint64_t took;

    if (p->no_yield_waits) {
        p->no_yield_waits--;
        return false;
    }
    took = yield_cpu(wf);
    p->cpu_shared = took > WF_YIELD_ALONE_NS && !is_computing(p, took);
    leave_shared_cpu(wf);
    if (!is_computing(p, took))
        p->no_yield_next = WF_NO_YIELD_MIN;
    else { /* a thread computes here: an event would have had to wait for it */
        p->no_yield_waits = p->no_yield_next;
        p->no_yield_next = p->no_yield_next < WF_NO_YIELD_MAX
                               ? 2 * p->no_yield_next
                               : WF_NO_YIELD_MAX;
    }
    return p->cpu_shared;
}

/* True if more threads poll than there are CPUs. The next message may come from
 * one that does not run: spinning keeps it from that, and sleeping takes a
 * wake-up for each message, of a processor that has gone idle meanwhile. */
static bool threads_exceed_cpus(struct wf_instance *wf)
{
    struct wf_progress *p = wf->progress;
    unsigned awake = p->waiting - p->asleep;

    return wf_unlikely(awake > 1) && p->spin_max &&
           (awake > wf->rank->own_cpus ||
            awake * wf->rank->local_count > wf->rank->cpus);
}

/* Poll until done, yielding between polls, or until that does not help. Among
 * threads a few microseconds of polls precede each yield: an answer may be on
 * its way from another CPU. */
static bool yield_until_done(struct wf_instance *wf, uint32_t mask,
                             bool (*done)(void *), void *arg)
{
    unsigned polls_per_yield =
        wf->progress->yields_max ? 1 : WF_POLLS_PER_YIELD;
    unsigned rounds_per_clock = wf->progress->yields_max ? 1 : WF_IDLE_ROUNDS;
    unsigned left = wf->progress->yields, events = 0;

    for (unsigned rounds = 1;; rounds++) {
        bool event =
            wf_progress_poll_asked(wf, mask, rounds_per_clock, true) > 0;
        if (event)
            left = wf->progress->yields;
        if (done(arg))
            return true;
        if (event && ++events == WF_EVENTS_LONG)
            return false;
        if (rounds % polls_per_yield != 0 && !wf_cs_is_contended(&wf->api))
            continue;
        if (left % WF_OTHERS_YIELDS == 0)
            poll_others(wf);
        if (left == 0 || !yield_to_others(wf))
            return false;
        left--;
    }
}

/* Yield if the program did nothing else since its last test. It cannot sleep,
 * but the rank it waits for may be queued behind it on its CPU. */
static void yield_between_tests(struct wf_instance *wf)
{
    struct wf_progress *p = wf->progress;
    uint64_t last = p->tested_at;

    p->tested_at = wf_now(wf);
    if (p->tested_at - last > WF_TESTS_APART_NS)
        return;
    yield_cpu(wf);
    p->tested_at = wf_now(wf);
}

/* Record a test after WF_TESTS_MAX without an event, and yield where ranks
 * outnumber CPUs. */
static WF_COLD void note_failed_test(struct wf_instance *wf,
                                     const struct wf_wait_cause *cause)
{
    struct wf_progress *p = wf->progress;

    if (p->failed_tests % TESTS_PER_RECORD == 0)
        wf_state_record_polls(wf, &p->polled, cause, p->failed_tests);
    if (wf_progress_is_oversubscribed(wf))
        yield_between_tests(wf);
}

int wf_progress_poll_for_test(struct wf_instance *wf, uint32_t mask,
                     const struct wf_wait_cause *cause)
{
    struct wf_progress *p = wf->progress;
    int n = wf_progress_poll_asked(wf, mask, 1, false);

    if (p->failed_tests % TESTS_PER_UNASKED == 0)
        wf_progress_poll_unasked(wf, mask);
    wf_progress_end_polling(wf);
    wf_progress_poll_others(wf);
    if (n > 0)
        p->failed_tests = 0;
    else if (wf_unlikely(++p->failed_tests > WF_TESTS_MAX))
        note_failed_test(wf, cause);
    return n;
}

/* Poll until done or until the spin budget is used up. */
static bool spin_until_done(struct wf_instance *wf, uint32_t mask,
                            bool (*done)(void *), void *arg)
{
    struct wf_progress *p = wf->progress;
    uint64_t start = 0, now;
    unsigned idle = 0, yields = WF_YIELDS_MAX, events = 0;

    for (;;) {
        bool event = wf_progress_poll_asked(wf, mask, WF_IDLE_ROUNDS, true) > 0;
        if (event)
            idle = 0;
        if (done(arg))
            return true;
        if (event && ++events == WF_EVENTS_LONG)
            return false;
        if (threads_exceed_cpus(wf))
            return false;
        wf_cs_yield(&wf->api);
        if (idle++ && !p->spin_max)
            return false; /* another rank needs this CPU */
        if (idle % WF_POLLS_PER_CLOCK != 0)
            continue;
        if (idle % WF_OTHERS_EVERY == 0)
            poll_others(wf);
        now = wf_now(wf);
        if (idle == WF_POLLS_PER_CLOCK || !start)
            start = now;
        else if (now - start < p->spin)
            continue;
        else if (yields-- == 0 || !shares_cpu(wf))
            return false;
    }
}

/* The budget for the next wait: doubled if it was enough, else halved. */
static uint64_t adapt_budget(uint64_t budget, bool paid, uint64_t min,
                             uint64_t max)
{
    budget = paid ? 2 * budget : budget / 2;
    if (budget < min)
        budget = min;
    return budget > max ? max : budget;
}

static bool stay_awake_by_yields(struct wf_instance *wf, uint32_t mask,
                                 bool (*done)(void *), void *arg)
{
    struct wf_progress *p = wf->progress;
    bool paid = yield_until_done(wf, mask, done, arg);

    if (p->yields != WF_YIELDS_MAX || !paid)
        p->yields = (unsigned)adapt_budget(p->yields, paid, WF_YIELDS_MIN,
                                           WF_YIELDS_MAX);
    return paid;
}

/* Stay awake for a while. True: done(arg) is. */
static bool stay_awake(struct wf_instance *wf, uint32_t mask,
                       bool (*done)(void *), void *arg)
{
    struct wf_progress *p = wf->progress;
    bool paid;

    if (p->yields_max || threads_exceed_cpus(wf))
        return stay_awake_by_yields(wf, mask, done, arg);
    p->cpu_shared = false;
    paid = spin_until_done(wf, mask, done, arg);
    if (!paid && threads_exceed_cpus(wf))
        return stay_awake_by_yields(wf, mask, done, arg);
    if (p->cpu_shared)
        p->spin = adapt_budget(p->spin, false, WF_SPIN_MIN_NS, p->spin_max);
    else if (paid && p->spin != p->spin_max)
        p->spin = adapt_budget(p->spin, true, WF_SPIN_MIN_NS, p->spin_max);
    return paid;
}

/* Records that the thread is about to sleep, or has slept for `ns`. */
static WF_COLD void note_sleep(struct wf_instance *wf,
                               enum wf_trace_event event, uint64_t ns)
{
    wf_trace_note(wf, event, &(struct wf_trace_about){.bytes = ns});
    if (event == WF_TRACE_SLEEP)
        wf_trace_read_clock(wf->trace); /* it may be killed there */
}

/* Sleep, and adapt the spin budget: spinning was not enough, but would have
 * been for longer if the sleep was brief. Where a thread computes on this CPU
 * that is not known: the rank we wait for may be queued behind it. */
static WF_COLD void sleep_and_adapt(struct wf_instance *wf,
                                    bool (*done)(void *), void *arg)
{
    struct wf_progress *p = wf->progress;
    uint64_t start = wf_now(wf);
    bool brief;

    if (WF_TRACING(wf))
        note_sleep(wf, WF_TRACE_SLEEP, 0);
    wf_progress_sleep_once(wf, done, arg);
    if (WF_TRACING(wf))
        note_sleep(wf, WF_TRACE_WAKE, wf_now(wf) - start);
    if (!p->spin_max || p->cpu_shared)
        return;
    brief = !p->no_yield_waits && wf_now(wf) - start < WF_SLEEP_BRIEF_NS;
    if (brief && p->spin == p->spin_max && wf->rank->options->spin == WF_AUTO &&
        p->spin_max < WF_SPIN_MOST_NS)
        p->spin_max *= 2;
    p->spin = adapt_budget(p->spin, brief, WF_SPIN_MIN_NS, p->spin_max);
}

void wf_progress_wait(struct wf_instance *wf, uint32_t mask,
                      bool (*done)(void *), void *arg,
                      const struct wf_wait_cause *cause)
{
    struct wf_progress *p = wf->progress;
    struct wf_state_slot *record = NULL;

    if (wf_unlikely(!p->limits_known))
        choose_limits(wf);
    p->waiting++;
    if (wf_unlikely(wf_load_relaxed(&p->rounds) - p->others_round >
                    WF_OTHERS_LONG))
        poll_others(wf);
    while (!done(arg) && !stay_awake(wf, mask, done, arg)) {
        if (!record)
            record = wf_state_begin_wait(wf, cause);
        sleep_and_adapt(wf, done, arg);
    }
    if (wf_unlikely(record != NULL))
        wf_state_end_wait(record);
    wf_progress_end_polling(wf);
    WF_ASSERT(p->waiting > 0 && p->asleep <= p->waiting);
    /* off: as in wf_progress_note_unarmed */
    if (--p->waiting == 0 && wf_unlikely(wf->api.on) && p->parked)
        p->help->resume(wf);
}
