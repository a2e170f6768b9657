/* Idle sources: the polls of a waiter whose request several sources can
 * complete, such as a receive from MPI_ANY_SOURCE.
 *
 *   in use --a part of the time since its last news--> idle --news--> in use
 *   idle   --the pause has become the longest--> armed --news--> in use
 *
 * A source that is polled in no time is polled in every round. To poll another
 * one takes a system call, for which a message of a faster fabric would have to
 * wait. So that one is *idle* for an eighth of the time since its last news at
 * most, before it is polled again: the news for which it was polled is found an
 * eighth later at most, however slow the fabric is. The longest pause is 64
 * times what such a poll takes. A source that has reached it is armed, as
 * before a sleep; then one system call tells of all of them that they have no
 * news.
 *
 * DESIGN  No source says how long its polls take: they are timed, in units of
 * a look at the clock. The source that had news last is polled in every round,
 * whatever it takes, for the next message most likely comes from there; a call
 * that only tests stops that when it has long been idle, for a program may test
 * in vain for ever, and a waiter sleeps soon.
 * Rejected, with measurements: a thread that sleeps on the idle sources, and
 * news that the kernel writes to memory (docs/adr/017-idle-fabrics.md).
 *
 * INVARIANTS
 *   1. Whatever a waiter skips, a thread that polls finds due after
 *      WF_OTHERS_APART_MOST_NS at the latest.
 *   2. A source is armed each time before the kernel is asked about it, so any
 *      thread may poll it meanwhile.
 *
 * LOCK  The API section.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "progress/idle_sources.h"

#include <sys/epoll.h>

#include "os/tuning.h"
#include "progress/progress.h"
#include "progress/wait.h"

enum { EVENTS = 8 };

static uint32_t take_bit(uint32_t *mask)
{
    uint32_t bit = (uint32_t)__builtin_ctz(*mask);

    *mask &= *mask - 1;
    return bit;
}

/* Learn from a time: it was less, or other work came in between. */
static void learn_time(uint64_t *time, uint64_t took)
{
    *time = *time && took > *time ? wf_min_u64(took, 2 * *time) : took;
}

/* The longest pause of a source whose polls take so long. */
static uint64_t longest_pause(uint64_t cost)
{
    return wf_min_u64(WF_IDLE_COSTS * cost, WF_OTHERS_APART_MOST_NS);
}

/* The pause after which an idle source is polled again. */
static uint64_t pause_of(const struct wf_poll_pace *pace, uint64_t now)
{
    return wf_min_u64((now - pace->news_at) / WF_IDLE_PART,
                      longest_pause(pace->cost));
}

/* Tell whether something has come from a source since this was asked last. */
static bool has_arrivals(struct wf_progress *p, uint32_t bit)
{
    struct wf_poll_pace *pace = &p->pace[bit];
    bool more = pace->count && *pace->count != pace->arrivals;

    if (more)
        pace->arrivals = *pace->count;
    return more;
}

/* Date what has come from these sources since the clock was read last. Other
 * news is dated when a poll that is timed finds it. */
static void date_news(struct wf_progress *p, uint32_t mask, uint64_t now)
{
    while (mask) {
        uint32_t bit = take_bit(&mask);
        if (has_arrivals(p, bit))
            p->pace[bit].news_at = p->pace[bit].due = now;
    }
}

/* True if a poll takes much longer than a look at the clock, so that it pays to
 * look before. Sources that share a bit are no endpoints. */
static bool is_costly(const struct wf_progress *p, uint32_t bit)
{
    return bit != WF_SOURCE_BIT_SHARED &&
           p->pace[bit].cost > WF_IDLE_CLOCKS * p->clock_cost;
}

/* Poll these sources, and learn how long each takes. */
static int poll_and_time(struct wf_instance *wf, uint32_t mask, uint64_t now)
{
    struct wf_progress *p = wf->progress;
    int n = 0;

    while (mask) {
        uint32_t bit = take_bit(&mask);
        struct wf_poll_pace *pace = &p->pace[bit];
        int found = wf_progress_poll_source(p, bit);
        uint64_t end = wf_now(wf), took = end - now;
        now = end;
        n += found;
        if (found) { /* that took longer */
            pace->news_at = pace->due = now;
            continue;
        }
        learn_time(&pace->cost,
                   took > p->clock_cost ? took - p->clock_cost : 0);
        p->timed |= UINT32_C(1) << bit;
        p->costly &= ~(UINT32_C(1) << bit);
        if (is_costly(p, bit))
            p->costly |= UINT32_C(1) << bit;
        pace->due = now + pause_of(pace, now);
    }
    return n;
}

/* Poll sources to learn what is not known yet, or may have changed. */
static WF_COLD int poll_untimed(struct wf_instance *wf, uint32_t mask)
{
    uint64_t start = wf_now(wf), now = wf_now(wf);

    learn_time(&wf->progress->clock_cost, now - start);
    return poll_and_time(wf, mask, now);
}

/* True if a source has been idle for so long that its pause does not grow. */
static bool is_long_idle(const struct wf_progress *p, uint32_t bit,
                         uint64_t now)
{
    const struct wf_poll_pace *pace = &p->pace[bit];

    return pause_of(pace, now) == longest_pause(pace->cost);
}

/* The costly source that had news last; 0 if it is none of these. */
static uint32_t find_last_in_use(const struct wf_progress *p, uint32_t mask)
{
    uint64_t at[2] = {0, 0}; /* of the others, of the costly ones */
    uint32_t last = 0;

    while (mask) {
        uint32_t bit = take_bit(&mask);
        bool costly = p->costly >> bit & 1;
        if (p->pace[bit].news_at <= at[costly])
            continue;
        at[costly] = p->pace[bit].news_at;
        if (costly)
            last = UINT32_C(1) << bit;
    }
    return at[1] > at[0] ? last : 0;
}

/* Arm the sources and ask the kernel about them. Returns those with news. */
static uint32_t ask_kernel(struct wf_instance *wf, uint32_t mask)
{
    struct wf_progress *p = wf->progress;
    struct epoll_event events[EVENTS];
    uint32_t found = 0;
    int n;

    for (struct wf_list *l = p->sources.next; l != &p->sources; l = l->next) {
        struct wf_event_source *s =
            wf_container(l, struct wf_event_source, link);
        int timeout = -1;
        if (mask & wf_source_mask(s) &&
            (!wf_source_arm(wf, s, &timeout) || timeout == 0))
            found |= wf_source_mask(s);
    }
    n = epoll_wait(p->epoll, events, EVENTS, 0);
    for (int i = 0; i < n; i++)
        if (events[i].data.u32 != WF_WOKEN_BY_BELL)
            found |= UINT32_C(1) << events[i].data.u32;
    return found & mask;
}

/* Ask about sources that have long been idle. They have the same pause then,
 * so that they are asked about together. */
static uint32_t ask_about_idle(struct wf_instance *wf, uint32_t mask,
                               uint64_t now)
{
    struct wf_progress *p = wf->progress;
    uint32_t found = ask_kernel(wf, mask);
    uint64_t end = wf_now(wf);

    learn_time(&p->ask_cost, end - now);
    while (mask)
        p->pace[take_bit(&mask)].due = end + longest_pause(p->ask_cost);
    return found;
}

/* Those that have long been idle and can be armed. */
static uint32_t find_long_idle(const struct wf_progress *p, uint32_t mask,
                               uint64_t now)
{
    uint32_t idle = 0;

    while (mask) {
        uint32_t bit = take_bit(&mask);
        const struct wf_event_source *s = p->by_bit[bit];
        if (s->arm && s->fd >= 0 && is_long_idle(p, bit, now))
            idle |= UINT32_C(1) << bit;
    }
    return idle;
}

static uint32_t find_due(const struct wf_progress *p, uint32_t mask,
                         uint64_t now)
{
    uint32_t due = 0;

    while (mask) {
        uint32_t bit = take_bit(&mask);
        if (now >= p->pace[bit].due)
            due |= UINT32_C(1) << bit;
    }
    return due;
}

static WF_COLD int poll_due(struct wf_instance *wf, uint32_t mask, uint32_t due,
                            uint64_t now)
{
    uint32_t idle = find_long_idle(wf->progress, mask, now);

    if (due & idle) {
        due = (due & ~idle) | ask_about_idle(wf, idle, now);
        now = wf_now(wf);
    }
    return poll_and_time(wf, due, now);
}

int wf_idle_sources_poll_due(struct wf_instance *wf, uint32_t mask, bool waits)
{
    struct wf_progress *p = wf->progress;
    uint32_t untimed, costly, last, due;
    uint64_t now;
    int n = 0;

    mask &= p->all;
    untimed = mask & ~p->timed;
    if (++p->looks % WF_IDLE_TIMED_EVERY == 0)
        untimed |= mask & ~p->costly;
    if (wf_unlikely(untimed))
        n = poll_untimed(wf, untimed);
    now = wf_now(wf);
    date_news(p, mask, now);
    costly = mask & p->costly;
    last = costly ? find_last_in_use(p, mask) : 0;
    if (last && !waits && is_long_idle(p, (uint32_t)__builtin_ctz(last), now))
        last = 0;
    p->skipped = costly & ~last;
    due = find_due(p, p->skipped, now);
    return due ? n + poll_due(wf, p->skipped, due, now) : n;
}

int wf_idle_sources_poll_all(struct wf_instance *wf, uint32_t mask)
{
    struct wf_progress *p = wf->progress;
    uint32_t untimed = mask & p->all & ~p->timed, idle;
    uint64_t now;
    int n = untimed ? poll_untimed(wf, untimed) : 0;

    mask &= p->all & ~untimed;
    now = wf_now(wf);
    date_news(p, mask, now);
    idle = find_long_idle(p, mask & p->costly, now);
    if (idle)
        mask = (mask & ~idle) | ask_about_idle(wf, idle, now);
    return n + wf_progress_poll_round(wf, mask);
}
