/* The progress thread: it drives operations forward while the program computes.
 * In names it is the helper.
 *
 *                an operation is left to it
 *     parked ---------------> pausing -------------------> polling
 *       ^                      |   ^                        |  ^   |
 *       |  no operations left  |   |  the program polls     |  |   v
 *       |  to it, or the       |   +------------------------+  asleep in
 *       |  program waits       |                               the kernel,
 *       +----------------------+                               endpoints armed
 *
 * DESIGN  A nonblocking call that returns before its operation is complete (a
 * rendezvous, a receive of many bytes, a collective) leaves it to the progress
 * thread: it counts in api.helper_ops until it completes. The first such
 * operation starts the thread. While there are any the API section is on, also
 * below MPI_THREAD_MULTIPLE; the call that finds none any more switches it off
 * (critical.h). So a program without such operations has neither thread nor
 * lock.
 *
 * The thread enters only by wf_cs_try_lock, never while a caller is inside or
 * waits to be, and leaves as soon as one comes. A program that polls or waits
 * needs no help: then the thread pauses, twice as long each time. It sleeps on
 * the endpoints only if the program has not polled since its own last poll.
 *
 * Each time that the thread wakes on the CPU where the program computes costs
 * the program tens of microseconds. So callers set its timer instead of waking
 * it: it wakes once, after the first pause that it would take, and an operation
 * that is followed by others before that causes no wake-up of its own. While
 * the program waits it does the polling; the last waiter that leaves sets the
 * timer.
 *
 * User operations never run here: schedules with one stay deferred until the
 * program calls.
 *
 * LOCK  everything here: the API section, but pause_ns, which the thread
 *       writes.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "protocol/helper.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "config/config.h"
#include "os/quota.h"
#include "os/tuning.h"
#include "process/rank.h"
#include "progress/progress.h"
#include "progress/wait.h"
#include "protocol/queues.h"
#include "protocol/request.h"
#include "report/error.h"

struct wf_helper {
    struct wf_instance *wf;
    pthread_t thread;
    bool stop;
    bool armed;             /* asleep on the endpoints, or about to be */
    bool timed_out;         /* no event ended its last sleep */
    bool has_spare_cpu;     /* there are more CPUs than processes */
    uint32_t seen_round;    /* the poll round of its last check */
    wf_atomic_u32 pause_ns; /* the length of the next pause */
    long pausing_ns;        /* of the present pause; 0: none, or it is over */
    int timer;              /* set by callers: ends any sleep */
};

/* ---- the thread ---------------------------------------------------------- */

/* Sleep on descriptors, of which the first is the timer. Returns the number of
 * those that ended the sleep. */
static int sleep_on(struct pollfd *fds, nfds_t n, const struct timespec *most)
{
    uint64_t count;
    int found = ppoll(fds, n, most, NULL);

    if (found > 0 && fds[0].revents &&
        read(fds[0].fd, &count, sizeof count) < 0)
        return found; /* the timer was set again meanwhile */
    return found;
}

/* Sleep until the timer ends, or for ns >= 0 at the longest. The section is
 * left. */
static void sleep_until_called(struct wf_helper *h, long ns)
{
    struct pollfd fd = {.fd = h->timer, .events = POLLIN};
    struct timespec t = {.tv_nsec = ns};

    sleep_on(&fd, 1, ns < 0 ? NULL : &t);
}

static void double_pause(struct wf_helper *h)
{
    uint32_t twice = 2 * wf_load_relaxed(&h->pause_ns);

    wf_store_relaxed(&h->pause_ns, twice < WF_HELPER_PAUSE_MOST_NS
                                       ? twice
                                       : WF_HELPER_PAUSE_MOST_NS);
}

/* Leave the section for a pause, or until the thread is needed again. */
static void pause_until_needed(struct wf_helper *h)
{
    struct wf_progress *p = h->wf->progress;
    bool quiescent = h->wf->api.helper_ops == h->wf->api.quiescent_ops;
    long ns = quiescent ? WF_HELPER_PAUSE_QUIESCENT_NS
                        : wf_load_relaxed(&h->pause_ns);

    double_pause(h);
    h->pausing_ns = ns;
    h->timed_out = false;
    if (!h->wf->api.helper_ops || p->waiting) {
        p->parked = true;
        ns = -1;
    }
    wf_cs_unlock(&h->wf->api);
    sleep_until_called(h, ns);
}

static void sleep_armed(struct wf_helper *h, int timeout)
{
    struct pollfd fds[2] = {{.fd = h->timer, .events = POLLIN},
                            {.fd = h->wf->progress->epoll, .events = POLLIN}};
    struct timespec t;
    int helper_sleep_ms = h->wf->progress->helper_sleep_ms;

    h->armed = true;
    wf_cs_unlock(&h->wf->api);
    h->timed_out = timeout < 0 || timeout > helper_sleep_ms;
    if (h->timed_out)
        timeout = helper_sleep_ms;
    t = (struct timespec){timeout / 1000, timeout % 1000 * 1000000L};
    if (sleep_on(fds, 2, &t) > 0)
        h->timed_out = false;
}

/* Poll with the section held as long as there are events, then leave it, and
 * sleep on the endpoints if the program has operations left. */
static void poll_and_leave(struct wf_helper *h)
{
    struct wf_instance *wf = h->wf;
    struct wf_progress *p = wf->progress;
    int timeout, n;
    bool armed;

    p->helping = h->has_spare_cpu ? 1 : 2;
    do {
        n = wf_progress_poll_round(wf, UINT32_MAX);
        p->missed += h->timed_out && n > 0;
        h->timed_out = false;
        if (n > 0)
            wf_store_relaxed(&h->pause_ns, WF_HELPER_PAUSE_NS);
    } while (n > 0 && wf->api.helper_ops &&
             !wf_mutex_contended(&wf->api.mutex));
    h->seen_round = wf_load_relaxed(&p->rounds);
    armed = n == 0 && wf->api.helper_ops && wf_progress_arm(wf, &timeout);
    p->helping = 0;
    if (armed)
        sleep_armed(h, timeout);
    else
        wf_cs_unlock(&wf->api);
}

/* True if the program has polled since the last check, or waits in a call. */
static bool is_program_polling(struct wf_helper *h)
{
    struct wf_progress *p = h->wf->progress;
    bool busy = p->waiting || wf_load_relaxed(&p->rounds) != h->seen_round;

    h->seen_round = wf_load_relaxed(&p->rounds);
    return busy;
}

static void *run_helper(void *arg)
{
    struct wf_helper *h = arg;
    struct wf_instance *wf = h->wf;

    wf_thread_instance = wf_home(wf);
    sleep_until_called(h, -1);
    for (;;) {
        if (!wf_cs_try_lock(&wf->api)) {
            /* a caller is inside */
            sleep_until_called(h, wf_load_relaxed(&h->pause_ns));
            double_pause(h);
            continue;
        }
        h->armed = false;
        h->pausing_ns = 0;
        wf->progress->parked = false;
        if (h->stop)
            break;
        if (!wf->api.helper_ops || is_program_polling(h))
            pause_until_needed(h);
        else
            poll_and_leave(h);
    }
    wf_cs_unlock(&wf->api);
    return NULL;
}

/* ---- the callers --------------------------------------------------------- */

/* Let the thread poll in ns, unless the program polls before that. */
static void set_wake_time(struct wf_helper *h, long ns)
{
    struct itimerspec t = {.it_value = {.tv_nsec = ns}};

    h->wf->progress->parked = false;
    h->seen_round = wf_load_relaxed(&h->wf->progress->rounds);
    h->pausing_ns = ns;
    if (timerfd_settime(h->timer, 0, &t, NULL) < 0)
        wf_log(h->wf, WF_LOG_WARN, "the helper's timer cannot be set");
}

/* Start the thread. It blocks all signals, for the program's handlers run in
 * the program's threads. Where the program has bound the calling thread to a
 * CPU, the progress thread may use the other ones. */
static bool start_thread(struct wf_helper *h)
{
    const cpu_set_t *cpus = (const cpu_set_t *)h->wf->progress->cpus;
    sigset_t all, old;
    int r;

    h->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (h->timer < 0)
        return false;
    wf_mutex_prepare();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    r = pthread_create(&h->thread, NULL, run_helper, h);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (r == 0 && CPU_COUNT(cpus))
        pthread_setaffinity_np(h->thread, sizeof *cpus, cpus);
    if (r == 0)
        return true;
    close(h->timer);
    return false;
}

static void resume_helper(struct wf_instance *wf)
{
    struct wf_helper *h = wf->progress->helper;

    if (wf->progress->parked)
        set_wake_time(h, wf_load_relaxed(&h->pause_ns));
}

static void disarm_helper(struct wf_instance *wf)
{
    struct wf_helper *h = wf->progress->helper;

    if (!h->armed)
        return;
    h->armed = false;
    if (wf->progress->waiting)
        wf->progress->parked = true; /* the waiting thread will resume it */
    else
        set_wake_time(h, wf_load_relaxed(&h->pause_ns));
}

static void stop_helper(struct wf_instance *wf)
{
    struct wf_helper *h = wf->progress->helper;

    wf_cs_lock(&wf->api);
    h->stop = true;
    set_wake_time(h, 1);
    wf_cs_unlock(&wf->api);
    pthread_join(h->thread, NULL);
    close(h->timer);
    free(h);
    wf->progress->helper = NULL;
}

static const struct wf_helper_ops ops = {stop_helper, resume_helper,
                                         disarm_helper};

/* Start the thread if there is none. False: there will never be one. */
static bool ensure_helper(struct wf_instance *wf)
{
    struct wf_progress *p = wf->progress;
    struct wf_helper *h = p->helper;

    if (h)
        return true;
    p->may_help = false; /* this is tried once */
    if (wf->rank->options->progress == WF_PROGRESS_AUTO &&
        wf_progress_is_oversubscribed(wf))
        return false;
    h = calloc(1, sizeof *h);
    if (!h || wf_progress_open_sleeper(p) < 0)
        goto err;
    h->wf = wf;
    h->has_spare_cpu = wf->rank->own_cpus > 1 &&
                       wf->rank->local_count < wf->rank->cpus &&
                       wf->rank->local_count < wf_quota_cpus();
    wf_store_relaxed(&h->pause_ns, WF_HELPER_PAUSE_NS);
    h->seen_round = wf_load_relaxed(&p->rounds);
    if (!start_thread(h))
        goto err;
    p->may_help = true;
    p->helper = h;
    p->help = &ops;
    p->parked = true;
    return true;
err:
    wf_log(wf, WF_LOG_WARN,
           "no helper thread: messages move only while the "
           "program is in an MPI call");
    free(h);
    return false;
}

/* True for sends that wait for their peer, receives of many bytes, and
 * operations of several messages. */
static bool is_worth_helping(struct wf_req *r)
{
    struct wf_p2p *p = wf_p2p_of(r);

    switch ((enum wf_req_type)r->type) {
    case WF_REQ_SEND:
        return p->waits & WF_WAITS_ANSWER || p->bytes >= WF_HELP_MIN_BYTES;
    case WF_REQ_RECV:
        return p->bytes >= WF_HELP_MIN_BYTES;
    case WF_REQ_SCHEDULE:
    case WF_REQ_PARTITIONED:
        return true;
    default:
        return false;
    }
}

/* True if the sender of a large message may wait for this thread's poll. The
 * poll still comes after a short pause, since the program may wait at once. */
static bool is_urgent(struct wf_req *r)
{
    return r->type <= WF_REQ_RECV &&
           wf_p2p_of(r)->bytes >= WF_HELPER_URGENT_BYTES;
}

/* True if r is a receive that was matched, and one side moves its payload
 * alone. */
static bool is_moved_by_one_side(struct wf_req *r)
{
    struct wf_p2p *p = wf_p2p_of(r);

    return r->type == WF_REQ_RECV && !(r->flags & WF_REQ_LIGHT) &&
           p->pull.core && p->pull.core->attr.caps & WEFT_CAP_GET_ALONE;
}

/* True if r is a send whose receiver fetches the payload alone, as long as it
 * can. */
static bool is_quiescent(struct wf_req *r)
{
    struct wf_p2p *p = wf_p2p_of(r);

    return r->type == WF_REQ_SEND && p->waits == WF_WAITS_ANSWER &&
           p->pull.core && p->pull.core->attr.caps & WEFT_CAP_GET_ALONE &&
           !p->loc->approves;
}

/* The pause until the next poll for r. Without a spare CPU a message that one
 * side moves alone is left to the sender, and this side only has to complete
 * it. */
static long pause_before_poll(struct wf_helper *h, struct wf_req *r)
{
    uint64_t alone;

    if (r->flags & WF_REQ_QUIESCENT)
        return WF_HELPER_PAUSE_QUIESCENT_NS;
    if (h->has_spare_cpu || !is_moved_by_one_side(r))
        return is_urgent(r) ? WF_HELPER_PAUSE_NS
                            : (long)wf_load_relaxed(&h->pause_ns);
    alone = wf_p2p_of(r)->expected / WF_ONE_SIDE_BYTES_PER_NS;
    return alone < WF_HELPER_PAUSE_QUIESCENT_NS ? (long)alone
                                                : WF_HELPER_PAUSE_QUIESCENT_NS;
}

/* Let the thread poll for r in time, but no sooner than needed. */
static void schedule_poll(struct wf_helper *h, struct wf_req *r)
{
    long ns = pause_before_poll(h, r);

    if (h->wf->progress->parked ||
        h->pausing_ns > ns + WF_HELPER_PAUSE_EXCESS_NS)
        set_wake_time(h, ns);
}

/* In most programs the sender of a large message calls at about the same time
 * as the receiver. Polling a moment for its announcement pays: the answer lets
 * the sender move the payload while this side computes, without this thread. */
void wf_helper_poll_announcement(struct wf_req *r)
{
    struct wf_instance *wf = r->wf;
    uint64_t until;

    if (!wf->progress->may_help || wf_p2p_of(r)->bytes < WF_ANNOUNCED_BYTES)
        return;
    until = wf_now(wf) + WF_ANNOUNCED_NS;
    while (!wf_req_done(r) && !is_moved_by_one_side(r)) {
        wf_progress_poll(wf, UINT32_MAX); /* at least once */
        if (wf_now(wf) >= until)
            break;
    }
}

bool wf_helper_attend(struct wf_instance *wf)
{
    if (!wf->progress->may_help)
        return false;
    wf_cs_enable_for_helper(&wf->api);
    if (!ensure_helper(wf))
        return false; /* the section is switched off at the end of this call */
    wf->api.helper_ops++;
    if (wf->progress->parked)
        set_wake_time(wf->progress->helper, WF_HELPER_PAUSE_NS);
    return true;
}

void wf_helper_stop_attending(struct wf_instance *wf)
{
    WF_ASSERT(wf->api.helper_ops > 0);
    wf->api.helper_ops--;
}

void wf_helper_register(struct wf_req *r)
{
    struct wf_instance *wf = r->wf;

    if (r->flags & WF_REQ_WITH_HELPER || !is_worth_helping(r))
        return;
    wf_cs_enable_for_helper(&wf->api);
    if (!ensure_helper(wf))
        return; /* the section is switched off at the end of this call */
    r->flags |= WF_REQ_WITH_HELPER;
    wf->api.helper_ops++;
    if (is_quiescent(r)) {
        r->flags |= WF_REQ_QUIESCENT;
        wf->api.quiescent_ops++;
    }
    schedule_poll(wf->progress->helper, r);
}
