/* Polling: which event sources are polled, and how often.
 *
 * A waiter polls the sources that can complete its request in every round, and
 * all others once in WF_OTHERS_EVERY rounds, so that an idle fabric costs a
 * busy one next to nothing (no latency averaging). So many rounds last a
 * microsecond or two, and to ask the kernel whether a socket is idle takes half
 * as long: after each poll of the others without an event the time until the
 * next one doubles.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "progress/progress.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "config/config.h"
#include "os/tuning.h"
#include "process/rank.h"
#include "progress/engines.h"
#include "progress/idle_sources.h"
#include "progress/wait.h"
#include "report/error.h"

WF_COLD int wf_progress_init(struct wf_instance *wf)
{
    struct wf_progress *p = calloc(1, sizeof *p);

    if (!p)
        return WEFT_ENOMEM;
    p->epoll = -1;
    p->bell = -1;
    p->watch_ms = WATCH_MS;
    p->spin_polls = WF_SPIN_POLLS_OVERSUBSCRIBED; /* until limits are known */
    p->helper_sleep_ms = HELPER_SLEEP_MS;
    p->bell_sleep_ms = WF_BELL_SLEEP_MS;
    wf_list_init(&p->waiters);
    wf_list_init(&p->deferred);
    wf_sources_init(p);
    wf->progress = p;
    return 0;
}

static void close_sleeper(struct wf_progress *p)
{
    if (p->epoll >= 0)
        close(p->epoll);
    if (p->bell >= 0)
        close(p->bell);
    p->epoll = p->bell = -1;
}

/* Make the descriptors when there is something to sleep on. Afterwards both
 * exist, or none; errno says why. */
WF_COLD int wf_progress_open_sleeper(struct wf_progress *p)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.u32 = WF_WOKEN_BY_BELL};
    int error;

    if (p->epoll >= 0)
        return 0;
    p->epoll = epoll_create1(EPOLL_CLOEXEC);
    p->bell = p->epoll < 0 ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (p->bell >= 0 && epoll_ctl(p->epoll, EPOLL_CTL_ADD, p->bell, &ev) == 0)
        return 0;
    error = errno;
    close_sleeper(p);
    errno = error;
    return WEFT_ESYS;
}

WF_COLD void wf_progress_fini(struct wf_instance *wf)
{
    struct wf_progress *p = wf->progress;

    if (!p)
        return;
    wf_progress_stop_helper(wf);
    close_sleeper(p);
    wf_state_end_wait(p->polled);
    free(p);
    wf->progress = NULL;
}

WF_COLD void wf_progress_allow_helper(struct wf_instance *wf)
{
    struct wf_progress *p = wf->progress;
    cpu_set_t *cpus = (cpu_set_t *)p->cpus;

    _Static_assert(sizeof *cpus == sizeof p->cpus, "cpu_set_t");
    p->may_help = wf->rank->options->progress != WF_PROGRESS_CALLER;
    if (p->may_help && sched_getaffinity(0, sizeof *cpus, cpus) != 0)
        /* more CPUs than a cpu_set_t has: the thread inherits the mask */
        CPU_ZERO(cpus);
}

void wf_progress_stop_helper(struct wf_instance *wf)
{
    struct wf_progress *p = wf->progress;

    p->may_help = false;
    if (p->helpers)
        p->help->stop(wf);
}

void wf_progress_request_resume(struct wf_instance *wf)
{
    wf->progress->resume_requested = true;
}

bool wf_progress_is_resume_requested(const struct wf_instance *wf)
{
    return wf->progress->resume_requested;
}

WF_COLD void wf_progress_poll_unasked(struct wf_instance *wf, uint32_t asked)
{
    struct wf_progress *p = wf->progress;
    uint64_t now = wf_now(wf);

    if (now - p->all_polled_at < p->all_polls_apart)
        return;
    p->all_polled_at = now;
    p->all_polls_apart = 2 * p->all_polls_apart + WF_OTHERS_APART_NS;
    if (p->all_polls_apart > WF_OTHERS_APART_MOST_NS)
        p->all_polls_apart = WF_OTHERS_APART_MOST_NS;
    if (wf_idle_sources_poll_all(wf, ~asked) > 0)
        p->all_polls_apart = 0;
}

static inline int poll_source(struct wf_progress *p, uint32_t bit)
{
    const struct wf_event_source *s = p->by_bit[bit];

    return s->poll(s->object, p->oversubscribed ? WF_POLL_BUDGET_OVERSUBSCRIBED
                                                : WF_POLL_BUDGET);
}

int wf_progress_poll_source(struct wf_progress *p, uint32_t bit)
{
    return poll_source(p, bit);
}

/* Poll the sources in the mask, and end the round, in which n events were
 * handled before. Returns their number. */
static inline int poll_and_end_round(struct wf_instance *wf, uint32_t mask,
                                     int n)
{
    struct wf_progress *p = wf->progress;

    if (wf_unlikely((wf_progress_count_round(p) & (WF_OTHERS_EVERY - 1)) == 0))
        wf_progress_poll_unasked(wf, mask);
    if (wf_unlikely(wf->held))
        mask |= p->handlers->complete_held(wf);
    mask &= p->all;
    while (mask) {
        n += poll_source(p, (uint32_t)__builtin_ctz(mask));
        mask &= mask - 1;
    }
    if (wf_unlikely(p->resume_requested)) {
        p->resume_requested = false;
        p->handlers->resume_arrivals(wf);
    }
    if (wf_unlikely(p->run_deferred) && !p->helping)
        n += p->run_deferred(wf);
    wf_progress_note_unarmed(wf);
    if (n && !wf_list_empty(&p->waiters))
        wf_waiters_notify(wf);
    return n;
}

int wf_progress_poll_round(struct wf_instance *wf, uint32_t mask)
{
    return poll_and_end_round(wf, mask, 0);
}

int wf_progress_poll_asked(struct wf_instance *wf, uint32_t mask,
                           unsigned rounds, bool waits)
{
    struct wf_progress *p = wf->progress;
    int n = 0;

    mask &= p->all;
    if (mask & (mask - 1)) {
        if ((wf_load_relaxed(&p->rounds) & (rounds - 1)) == 0)
            n = wf_idle_sources_poll_due(wf, mask, waits);
        mask &= ~p->skipped;
    }
    return poll_and_end_round(wf, mask, n);
}

/* Poll once for a thread that spins. False: it must stop spinning. */
static inline bool poll_while_spinning(struct wf_instance *wf,
                                       const struct wf_event_source *s,
                                       int budget)
{
    struct wf_progress *p = wf->progress;

    if (wf_likely((wf_progress_count_round(p) & (WF_OTHERS_EVERY - 1)) &&
                  !p->resume_requested && !p->run_deferred && !wf->held))
        s->poll(s->object, budget);
    else if (wf_cs_uses_lock(&wf->api))
        /* the calls below may leave the section, which only a waiter can */
        return false;
    else {
        uint32_t asked = wf_source_mask(s);

        wf_progress_poll_unasked(wf, asked);
        wf_progress_poll_round(wf, asked);
    }
    return true;
}

/* True if another thread waits for the section. */
static inline bool must_stop_spinning(struct wf_instance *wf)
{
    return wf_cs_uses_lock(&wf->api) && wf_cs_is_contended(&wf->api);
}

bool wf_progress_is_only_thread(struct wf_instance *wf)
{
    const struct wf_progress *p = wf->progress;

    return wf_cs_is_kept_on(&wf->api) &&
           (wf->api.helper_ops | p->waiting | p->helpers_armed) == 0;
}

void wf_progress_spin(struct wf_instance *wf, const struct wf_event_source *s,
                      int budget, const wf_atomic_u32 *state)
{
    int polls = wf->progress->spin_polls;

    while (poll_while_spinning(wf, s, budget) && wf_load_acquire(state) == 0 &&
           --polls > 0 && !must_stop_spinning(wf))
        ;
}

bool wf_progress_keep_spinning(struct wf_instance *wf,
                               const struct wf_event_source *s,
                               const wf_atomic_u32 *state, int *polls)
{
    bool oversubscribed = !wf->progress->spin_max;

    return poll_while_spinning(wf, s, 1) && wf_load_acquire(state) == 0 &&
           ++*polls < (oversubscribed ? WF_WORDS_POLLS_OVERSUBSCRIBED
                                      : WF_WORDS_POLLS) &&
           !must_stop_spinning(wf) &&
           (wf_likely(!oversubscribed) || wf_progress_yield_cpu(wf));
}

/* Arm the sources for the leader while it sleeps. False: an event is there,
 * or the leader would sleep too long. */
WF_COLD static bool arm_again(struct wf_instance *wf)
{
    int timeout;

    return wf_progress_arm(wf, UINT32_MAX, &timeout) &&
           (timeout < 0 ||
            wf_now(wf) + (uint64_t)timeout * 1000000 >= wf->progress->until);
}

/* Count a rearming of the sources; true if they are rearmed often. Not for a
 * leader that polls after several engines, which has pauses of its own:
 * other_engines.c. */
WF_COLD static bool is_rearmed_often(struct wf_instance *wf)
{
    struct wf_progress *p = wf->progress;
    uint64_t now = wf_now(wf);

    if (wf_engines(wf))
        return false;
    if (p->rearms++ == 0)
        p->rearms_since = now;
    if (p->rearms < WF_REARMS_MAX)
        return false;
    p->rearms = 0;
    p->prefers_bell = now - p->rearms_since < WF_REARMS_NS;
    return p->prefers_bell;
}

void wf_progress_end_polling(struct wf_instance *wf)
{
    struct wf_progress *p = wf->progress;

    if (!p->led || !p->disarmed || p->leader_on_bell)
        return;
    p->disarmed = false;
    if (wf_load_relaxed(&p->foreign_poller))
        wf_progress_remove_foreign_poller(wf);
    else if (arm_again(wf) && !is_rearmed_often(wf))
        return;
    wf_progress_wake_leader(wf);
}

void wf_progress_remove_foreign_poller(struct wf_instance *wf)
{
    struct wf_progress *p = wf->progress;

    wf_store_relaxed(&p->foreign_poller, NULL);
    p->led = false;
}

int wf_progress_poll(struct wf_instance *wf, uint32_t mask)
{
    int n = wf_progress_poll_round(wf, mask);

    wf_progress_end_polling(wf);
    return n;
}

void wf_progress_wake_leader(struct wf_instance *wf)
{
    uint64_t one = 1;

    if (wf->progress && wf->progress->bell >= 0 &&
        write(wf->progress->bell, &one, sizeof one) < 0 && errno != EAGAIN)
        wf_log(wf, WF_LOG_WARN, "the doorbell cannot be rung");
}
