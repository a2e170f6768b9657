/* Waiting: spin for a while, then sleep in the kernel.
 *
 *   poll --nothing--> spin --budget used--> arm all endpoints --> sleep
 *    ^                  |                        | one says EAGAIN   |
 *    +----- event ------+------------------------+---- event --------+
 *
 * The spin budget adapts like an adaptive mutex: it doubles when spinning was
 * enough and halves when the wait ended in sleep anyway, between SPIN_MIN and
 * the limit. A sleep that was hardly longer than a wake-up is no such end, it
 * doubles the budget, too: two ranks that both sleep wait for nothing but each
 * other's wake-up, and if both spun for less, for ever. With more ranks than CPUs nobody spins: a rank that waits yields
 * its CPU a bounded number of times, adapted in the same way, and sleeps
 * (Plachetka: no active polling while blocked).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "progress/wait.h"

#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "engines.h"
#include "os/cpu.h"
#include "os/futex.h"
#include "os/quota.h"
#include "progress/state.h"
#include "protocol/order.h"

enum {
    SPIN_MIN = 2000,      /* ns */
    SPIN_DEFAULT = 50000, /* ns: about what a wake-up costs, */
    SPIN_MOST = 200000,   /* and where it costs more */
    SLEEP_BRIEF = 200000, /* ns: two wake-ups */
    YIELDS_MIN = 2,
    YIELDS_MAX = 64,    /* on an idle CPU about 25 us */
    YIELD_LONG = 200000, /* ns: longer than a CPU full of waiters needs, if none spins */
    YIELD_ALONE = 1500, /* ns: what a yield takes when nobody else wants the CPU,
                           at most */
    REFRAIN_MIN = 64, /* waits without a yield, after one that was bad */
    REFRAIN_MAX = 1 << 16,
    SHARED_MIN = 32, /* waits beside another rank before going elsewhere */
    ALONE_MAX = 1000, /* yields without one, where there is nowhere to go */
    CLOCK_EVERY = 32,   /* polls per look at the clock */
    OTHERS_YIELDS = 8,
    THREAD_LOOKS = 256, /* polls before a thread gives way to another: 5 us */
    TESTS_MAX = 3,       /* in vain and in a row, before one gives way */
    TESTS_APART = 20000, /* ns: who comes back later had something to do */
    TESTS_TOLD = 64, /* in vain and in a row, between two records of them */
    EVENTS_LONG = 4096, /* turns with events for others, before it is a long wait */
    OTHERS_LONG = 4096, /* polls before engines beside this one get one */
    BLIND_SLEEP_MS = 1, /* when an endpoint cannot wake us */
    SERVE_SLEEP_MS = 10,
    EVENTS = 8
};

#define FROM_LINK(l) wf_container(l, struct wf_waiter, link)

static void waiter_wake(struct wf_instance *wf, struct wf_waiter *w)
{
    if (w->call) {
        w->call(w);
        return;
    }
    if (w->leads) {
        wf_progress_kick(wf);
        return;
    }
    if (wf_load_relaxed(&w->awake))
        return;
    /* pairs with the acquire load in follow() */
    wf_store_release(&w->awake, 1);
    wf_futex_wake(&w->awake);
}

void wf_waiters_notify(struct wf_instance *wf)
{
    struct wf_list *head = &wf->progress->waiters;

    for (struct wf_list *l = head->next; l != head; l = l->next) {
        struct wf_waiter *w = wf_container(l, struct wf_waiter, link);
        if (w->done(w->arg))
            waiter_wake(wf, w);
    }
}

/* Sleep no longer than until the deadline; 0: none. */
static void sooner(int *timeout, uint64_t deadline, uint64_t now)
{
    int ms;

    if (!deadline)
        return;
    ms = deadline <= now ? 0 : (int)((deadline - now + 999999) / 1000000);
    if (*timeout < 0 || ms < *timeout)
        *timeout = ms;
}

bool wf_progress_arm(struct wf_instance *wf, int *timeout)
{
    uint64_t now = 0;

    *timeout = wf->rx_stalled ? BLIND_SLEEP_MS : -1;
    for (int i = 0; i < wf->ep_count; i++) {
        struct weft_core *c = &wf->eps[i];
        uint64_t deadline = 0;
        if (c->down || !(wf->progress->remote & 1u << i))
            continue;
        if (!c->fd_event) {
            *timeout = BLIND_SLEEP_MS;
            continue;
        }
        if (c->ops->arm(c->ep, &c->event, &deadline) == WEFT_EAGAIN)
            return false;
        if (deadline && !now)
            now = wf_now(wf);
        sooner(timeout, deadline, now);
    }
    if (wf->orders)
        sooner(timeout, wf_orders_deadline(wf), wf_now(wf));
    return true;
}

static void drain_bell(struct wf_progress *p)
{
    uint64_t count;

    if (read(p->bell, &count, sizeof count) < 0)
        return; /* it was not the bell that woke us */
}

/* Idle turns sleep for longer and longer, up to SERVE_SLEEP_MS. */
static int idle_sleep_ms(unsigned idle)
{
    return idle < 16 ? 0 : idle < 64 ? 1 : SERVE_SLEEP_MS;
}

/* Engines that nobody looks after. Leaves the section meanwhile. */
static void poll_others(struct wf_instance *wf)
{
    struct wf_engines *engines = wf_engines(wf);
    struct wf_progress *p = wf->progress;

    p->others = wf_load_relaxed(&p->turn);
    if (wf_unlikely(engines != NULL))
        engines->ops->poll(wf);
}

void wf_progress_others(struct wf_instance *wf)
{
    struct wf_progress *p = wf->progress;

    if (wf_unlikely(wf_load_relaxed(&p->turn) - p->others > OTHERS_EVERY))
        poll_others(wf);
}

WF_COLD bool wf_progress_serve(struct wf_instance *wf, int fd, bool (*done)(void *),
                       void *arg, uint64_t deadline)
{
    struct pollfd fds[2] = {{.fd = fd, .events = POLLIN},
                            {.fd = wf->progress->epoll, .events = POLLIN}};
    unsigned idle = 0;
    int ms, timeout;

    for (;;) {
        idle = wf_progress_poll(wf, UINT32_MAX) > 0 ? 0 : idle + 1;
        poll_others(wf);
        if (done && done(arg))
            return true;
        if (deadline && wf_now(wf) >= deadline)
            return false;
        ms = wf_progress_arm(wf, &timeout) ? idle_sleep_ms(idle) : 0;
        if (poll(fds, 2, ms) > 0 && fds[0].revents)
            return true;
    }
}

/* Timers wake a leader sooner, and one that looks after several engines sleeps
 * in naps: it is the sum that counts. */
static bool long_asleep(struct wf_progress *p, int ms)
{
    p->slept += ms;
    if (p->slept < p->watch_ms)
        return false;
    p->slept = 0;
    return true;
}

/* Sleep on the bell alone for as long as somebody polls. */
static WF_COLD void nap(struct wf_instance *wf, struct wf_waiter *self)
{
    struct wf_progress *p = wf->progress;
    struct pollfd bell = {.fd = p->bell, .events = POLLIN};
    uint32_t turn;

    p->led = self->leads = p->naps = true;
    wf_store_relaxed(&self->awake, 1); /* by the bell, not by its futex word */
    p->sleeps++;
    wf_cs_go(&wf->api);
    do
        turn = wf_load_relaxed(&p->turn);
    while (poll(&bell, 1, p->nap_ms) == 0 && wf_load_relaxed(&p->turn) != turn);
    wf_cs_enter(&wf->api);
    p->led = self->leads = p->naps = p->brisk = false;
    drain_bell(p);
    wf_progress_turn(wf, UINT32_MAX);
}

/* Sleep in epoll with the section left. */
static WF_COLD void lead(struct wf_instance *wf, struct wf_waiter *self)
{
    struct wf_progress *p = wf->progress;
    struct epoll_event events[EVENTS];
    struct wf_engines *engines = wf_engines(wf);
    int timeout, n, found, slept;
    bool watch, rested;

    if (wf_progress_open_sleeper(p) < 0)
        return; /* without descriptors left it can only poll */
    if (engines && engines->ops->errands(wf))
        return;
    if (p->brisk) {
        nap(wf, self);
        return;
    }
    if (!wf_progress_arm(wf, &timeout)) {
        /* whoever has something need not be in the waiter's mask */
        wf_progress_turn(wf, UINT32_MAX);
        return;
    }
    watch = timeout < 0 || timeout > p->watch_ms;
    if (watch)
        timeout = p->watch_ms;
    p->led = self->leads = true;
    wf_store_relaxed(&self->awake, 1); /* by epoll, never by its futex word */
    p->disarmed = false;
    p->until = wf_now(wf) + (uint64_t)timeout * 1000000;
    p->sleeps++;
    wf_cs_go(&wf->api);
    slept = engines ? engines->ops->sleep(wf, timeout) : timeout;
    n = epoll_wait(p->epoll, events, EVENTS, engines ? 0 : timeout);
    wf_cs_enter(&wf->api);
    p->led = self->leads = false;
    for (int i = 0; i < n; i++)
        if (events[i].data.u32 == WF_EPS_MAX)
            drain_bell(p);
    if (engines)
        engines->ops->errands(wf);
    found = wf_progress_turn(wf, UINT32_MAX);
    rested = n == 0 && long_asleep(p, slept);
    if (rested && watch)
        p->missed += found > 0 || self->done(self->arg);
    if (rested)
        wf_failure_watch(wf);
    if (p->brisk && !self->done(self->arg))
        nap(wf, self); /* it was called for that */
}

/* Sleep on a word of our own until somebody completes our request or hands us
 * the lead. */
static WF_COLD void follow(struct wf_instance *wf, struct wf_waiter *self)
{
    if (wf->progress->naps)
        wf_progress_kick(wf); /* nobody polls any more */
    wf_progress_leave(wf);
    wf->progress->sleeps++;
    wf_cs_go(&wf->api);
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
        waiter_wake(wf, FROM_LINK(l));
}

static WF_COLD void sleep_once(struct wf_instance *wf, bool (*done)(void *), void *arg)
{
    struct wf_progress *p = wf->progress;
    struct wf_waiter self = {.done = done, .arg = arg};

    wf_list_append(&p->waiters, &self.link);
    p->asleep++;
    if (wf_unlikely(wf_load_relaxed(&p->guest) != NULL))
        wf_progress_evict(wf); /* who waits here looks after this engine */
    for (struct wf_flag_wait *w = wf->flag_waits; w; w = w->next)
        w->arm(w);
    if (done(arg))
        ; /* while the spin yielded the section, nobody knew to wake us */
    else if (p->led)
        follow(wf, &self);
    else
        lead(wf, &self);
    p->asleep--;
    wf_list_remove(&self.link);
    wf_progress_pass_lead(wf);
}

static void set_crowded(struct wf_progress *p, bool crowded)
{
    p->crowded = crowded;
    p->yields_max = crowded ? YIELDS_MAX : 0;
    p->spin = p->spin_max = crowded ? 0 : SPIN_DEFAULT;
}

/* Before the first wait rather than at start: short programs never ask. */
static WF_COLD void tune(struct wf_instance *wf)
{
    struct wf_progress *p = wf->progress;

    p->tuned = true;
    set_crowded(p, wf->local_count > 1 &&
                       (wf->local_count > wf->cpus ||
                        wf->local_count > wf_quota_cpus()));
    if (wf->options->spin != WF_AUTO) {
        p->spin = p->spin_max = wf->options->spin;
        p->yields_max = 0;
    }
    p->refrains = REFRAIN_MIN;
    p->shared_max = SHARED_MIN;
    p->yields = YIELDS_MAX;
}

bool wf_progress_crowded(struct wf_instance *wf)
{
    if (!wf->progress->tuned)
        tune(wf);
    return wf->progress->crowded;
}

/* Let the others on this CPU run once. Returns how long that took. */
static uint64_t yield_cpu(struct wf_instance *wf)
{
    uint64_t start = wf_now(wf);

    wf_cs_go(&wf->api);
    sched_yield();
    wf_cs_enter(&wf->api);
    return wf_now(wf) - start;
}

/* Who was found on our only CPU has gone when many yields in a row found nobody. */
static WF_COLD void look_whether_alone(struct wf_progress *p, uint64_t took)
{
    if (took > YIELD_ALONE)
        p->alone = 0;
    else if (++p->alone > ALONE_MAX) {
        p->alone = 0;
        p->joined = false;
        set_crowded(p, false);
    }
}

/* One of them kept it beyond the spin budget that the others have, too: it
 * computes, and a wake-up gets the CPU back sooner than a place in the queue. */
static bool computes(struct wf_progress *p, uint64_t took)
{
    return took >= YIELD_LONG + p->spin_max;
}

/* False: there is one that computes. */
static bool give_way(struct wf_instance *wf)
{
    uint64_t took = yield_cpu(wf);

    if (wf_unlikely(wf->progress->joined))
        look_whether_alone(wf->progress, took);
    return !computes(wf->progress, took);
}

bool wf_progress_give_way(struct wf_instance *wf)
{
    return wf->progress->yields_max && !wf_cs_entered(&wf->api) && give_way(wf);
}

/* The scheduler may leave two ranks on one CPU for good though another is free:
 * it looks for work to move in ticks, and at each tick only one of them wants
 * to run. So whoever finds the other there time and again goes; each time it
 * helped for short only, it waits twice as long with the next. Who is bound to
 * that CPU cannot go: then it is as where ranks outnumber CPUs. */
static WF_COLD void move_apart(struct wf_instance *wf)
{
    struct wf_progress *p = wf->progress;

    if (!p->yielded) {
        p->shared = 0;
    } else if (++p->shared > p->shared_max) {
        p->shared = 0;
        p->joined = wf->own_cpus == 1 && wf->options->spin == WF_AUTO;
        if (p->joined) {
            set_crowded(p, true);
            return;
        }
        p->shared_max *= 2;
        p->spin = p->spin_max;
        wf_cpu_leave();
    }
}

/* CPUs suffice, yet the one that we wait for may stand behind us in the queue
 * of ours. If both slept in turn they would stay there, each wait a wake-up. */
static bool shares_cpu(struct wf_instance *wf)
{
    struct wf_progress *p = wf->progress;
    uint64_t took;

    if (p->refrain) {
        p->refrain--;
        return false;
    }
    took = yield_cpu(wf);
    p->yielded = took > YIELD_ALONE && !computes(p, took);
    move_apart(wf);
    if (!computes(p, took))
        p->refrains = REFRAIN_MIN;
    else { /* somebody computes here: what woke us would have had to wait */
        p->refrain = p->refrains;
        p->refrains = p->refrains < REFRAIN_MAX ? 2 * p->refrains : REFRAIN_MAX;
    }
    return p->yielded;
}

/* More threads poll than have a CPU. Whose message comes next may be one that
 * does not run: spinning keeps it from that, and sleeping takes a wake-up for each
 * message, of a processor that has gone idle meanwhile. */
static bool threads_crowd(struct wf_instance *wf)
{
    struct wf_progress *p = wf->progress;
    unsigned awake = p->waiting - p->asleep;

    return wf_unlikely(awake > 1) && p->spin_max &&
           (awake > wf->own_cpus || awake * wf->local_count > wf->cpus);
}

/* Poll until done, giving way between polls, or until that does not help. Among
 * threads a few microseconds of polls: an answer may be on its way from another
 * CPU. */
static bool yield(struct wf_instance *wf, uint32_t mask, bool (*done)(void *),
                  void *arg)
{
    unsigned looks = wf->progress->yields_max ? 1 : THREAD_LOOKS;
    unsigned left = wf->progress->yields, events = 0;

    for (unsigned turns = 1;; turns++) {
        bool event = wf_progress_turn(wf, mask) > 0;
        if (event)
            left = wf->progress->yields;
        if (done(arg))
            return true;
        if (event && ++events == EVENTS_LONG)
            return false;
        if (turns % looks != 0 && !wf_cs_wanted(&wf->api))
            continue;
        if (left % OTHERS_YIELDS == 0)
            poll_others(wf);
        if (left == 0 || !give_way(wf))
            return false;
        left--;
    }
}

/* A program that does nothing else between two tests waits. It cannot sleep, but
 * whom it waits for may stand behind it in the queue of its CPU. */
static void give_way_to_tested(struct wf_instance *wf)
{
    struct wf_progress *p = wf->progress;
    uint64_t last = p->tested;

    p->tested = wf_now(wf);
    if (p->tested - last > TESTS_APART)
        return;
    yield_cpu(wf);
    p->tested = wf_now(wf);
}

/* The fourth call in vain and each further one. */
static WF_COLD void test_in_vain(struct wf_instance *wf,
                                 const struct wf_wait_cause *cause)
{
    struct wf_progress *p = wf->progress;

    if (p->tests % TESTS_TOLD == 0)
        wf_state_polled(wf, cause, p->tests);
    if (wf_progress_crowded(wf))
        give_way_to_tested(wf);
}

int wf_progress_test(struct wf_instance *wf, uint32_t mask,
                     const struct wf_wait_cause *cause)
{
    struct wf_progress *p = wf->progress;
    int n = wf_progress_poll(wf, mask);

    wf_progress_others(wf);
    if (n > 0)
        p->tests = 0;
    else if (wf_unlikely(++p->tests > TESTS_MAX))
        test_in_vain(wf, cause);
    return n;
}

/* Poll until done or until the spin budget is used up. */
static bool spin(struct wf_instance *wf, uint32_t mask, bool (*done)(void *),
                 void *arg)
{
    struct wf_progress *p = wf->progress;
    uint64_t start = 0, now;
    unsigned idle = 0, yields = YIELDS_MAX, events = 0;

    for (;;) {
        bool event = wf_progress_turn(wf, mask) > 0;
        if (event)
            idle = 0;
        if (done(arg))
            return true;
        if (event && ++events == EVENTS_LONG)
            return false;
        if (threads_crowd(wf))
            return false;
        wf_cs_yield(&wf->api);
        if (idle++ && !p->spin_max)
            return false; /* somebody else needs this CPU */
        if (idle % CLOCK_EVERY != 0)
            continue;
        if (idle % OTHERS_EVERY == 0)
            poll_others(wf);
        now = wf_now(wf);
        if (idle == CLOCK_EVERY || !start)
            start = now;
        else if (now - start < p->spin)
            continue;
        else if (yields-- == 0 || !shares_cpu(wf))
            return false;
    }
}

static uint64_t adapted(uint64_t budget, bool paid, uint64_t min, uint64_t max)
{
    budget = paid ? 2 * budget : budget / 2;
    if (budget < min)
        budget = min;
    return budget > max ? max : budget;
}

static bool stay_by_yields(struct wf_instance *wf, uint32_t mask,
                           bool (*done)(void *), void *arg)
{
    struct wf_progress *p = wf->progress;
    bool paid = yield(wf, mask, done, arg);

    if (p->yields != YIELDS_MAX || !paid)
        p->yields = (unsigned)adapted(p->yields, paid, YIELDS_MIN, YIELDS_MAX);
    return paid;
}

/* Stay awake for a while. True: that was enough. */
static bool stay_awake(struct wf_instance *wf, uint32_t mask,
                       bool (*done)(void *), void *arg)
{
    struct wf_progress *p = wf->progress;
    bool paid;

    if (p->yields_max || threads_crowd(wf))
        return stay_by_yields(wf, mask, done, arg);
    p->yielded = false;
    paid = spin(wf, mask, done, arg);
    if (!paid && threads_crowd(wf))
        return stay_by_yields(wf, mask, done, arg);
    if (p->yielded)
        p->spin = adapted(p->spin, false, SPIN_MIN, p->spin_max);
    else if (paid && p->spin != p->spin_max)
        p->spin = adapted(p->spin, true, SPIN_MIN, p->spin_max);
    return paid;
}

/* To spin was not enough. Had it been for longer? Where somebody computes on this
 * CPU nobody can tell: the one that we wait for may stand behind. */
static WF_COLD void sleep_and_learn(struct wf_instance *wf, bool (*done)(void *),
                                    void *arg)
{
    struct wf_progress *p = wf->progress;
    uint64_t start = wf_now(wf);
    bool brief;

    sleep_once(wf, done, arg);
    if (!p->spin_max || p->yielded)
        return;
    brief = !p->refrain && wf_now(wf) - start < SLEEP_BRIEF;
    if (brief && p->spin == p->spin_max && wf->options->spin == WF_AUTO &&
        p->spin_max < SPIN_MOST)
        p->spin_max *= 2;
    p->spin = adapted(p->spin, brief, SPIN_MIN, p->spin_max);
}

void wf_progress_wait(struct wf_instance *wf, uint32_t mask,
                      bool (*done)(void *), void *arg,
                      const struct wf_wait_cause *cause)
{
    struct wf_progress *p = wf->progress;
    struct wf_state_slot *told = NULL;

    if (wf_unlikely(!p->tuned))
        tune(wf);
    p->waiting++;
    if (wf_unlikely(wf_load_relaxed(&p->turn) - p->others > OTHERS_LONG))
        poll_others(wf);
    while (!done(arg) && !stay_awake(wf, mask, done, arg)) {
        if (!told)
            told = wf_state_begin(wf, cause);
        sleep_and_learn(wf, done, arg);
    }
    if (wf_unlikely(told != NULL))
        wf_state_end(told);
    wf_progress_leave(wf);
    if (--p->waiting == 0 && wf_unlikely(wf->api.owed) && p->helper)
        p->help->recall(wf);
}
