/* The progress threads: they drive operations forward while the program
 * computes. In names such a thread is a helper.
 *
 *                     it is needed
 *     parked ---------------> pausing -------------------> polling
 *       ^                      |   ^                        |  ^   |
 *       |  no operations left  |   |  the program polls     |  |   v
 *       |  to it, or the       |   +------------------------+  asleep in
 *       |  program waits       |                               the kernel,
 *       +----------------------+                               sources armed
 *
 * DESIGN  There are two kinds.
 *
 * core.progress = auto has a thread for operations that are left to it: a
 * nonblocking call that returns before its operation is complete (a rendezvous,
 * a receive of many bytes, a collective) counts in api.helper_ops until it
 * completes (helper_requests.c). The first such operation starts the thread.
 * While there are any the API section is on, also below MPI_THREAD_MULTIPLE;
 * the call that finds none any more switches it off (critical.h). So a program
 * without such operations has neither thread nor lock.
 *
 * core.progress = thread has a thread that is *resident*: from the start it is
 * asleep on all sources whenever no thread of the program polls, so that
 * messages of any size are delivered, or stored, while the program computes.
 * progress = thread in the section of a transport gives that one such a thread
 * of its own, which drives it alone. The section is on for good then. With
 * `auto` the thread is resident for as long as there is a window on whose
 * memory others may operate at any time (wf_helper_attend), and the section is
 * on for as long. The program enters it by its bias (os/mutex.h), which the
 * thread suspends only when the program has not polled since the last look, and
 * takes nothing away: that look is outside of the section.
 *
 * The thread enters only by a try-lock, never while a caller is inside or waits
 * to be, and leaves as soon as one comes. A program that polls or waits needs
 * no help: then the thread pauses, twice as long each time. It sleeps on its
 * sources only if the program has not polled since its own last poll.
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
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "protocol/helper.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "config/config.h"
#include "os/quota.h"
#include "os/tuning.h"
#include "process/endpoint.h"
#include "process/rank.h"
#include "progress/progress.h"
#include "protocol/helper_thread.h"
#include "report/error.h"
#include "route/links.h"

/* The timer, the bell and a descriptor of each source; or the timer and one
 * epoll descriptor for all sources. */
enum { DESCRIPTORS_MAX = 2 + WF_SOURCE_BITS };

struct descriptors {
    struct pollfd fds[DESCRIPTORS_MAX];
    nfds_t n;
};

/* ---- the thread ---------------------------------------------------------- */

static bool is_needed(const struct wf_helper *h)
{
    return wf_helper_is_resident(h) || h->wf->api.helper_ops;
}

/* Enter the section, unless a thread is inside. */
static bool try_enter_section(struct wf_helper *h)
{
    return wf_cs_try_lock_suspending(&h->wf->api, &h->suspended_bias);
}

static void leave_section(struct wf_helper *h)
{
    wf_cs_unlock_resuming(&h->wf->api, h->suspended_bias);
}

/* Set a flag of a thread, and keep the number of threads that have it. */
static void set_counted(bool *flag, unsigned *count, bool on)
{
    if (*flag == on)
        return;
    *flag = on;
    *count += on ? 1 : -1u;
}

static void set_armed(struct wf_helper *h, bool armed)
{
    set_counted(&h->armed, &h->wf->progress->helpers_armed, armed);
}

static void set_parked(struct wf_helper *h, bool parked)
{
    set_counted(&h->parked, &h->wf->progress->parked, parked);
}

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

/* Returns the length of this pause, and doubles that of the next one. */
static uint32_t take_pause(struct wf_helper *h)
{
    uint32_t ns = wf_load_relaxed(&h->pause_ns);

    wf_store_relaxed(&h->pause_ns, 2 * ns < WF_HELPER_PAUSE_MOST_NS
                                       ? 2 * ns
                                       : WF_HELPER_PAUSE_MOST_NS);
    return ns;
}

/* Pause without having entered: a caller is inside, or the program polls. */
static void pause_outside(struct wf_helper *h)
{
    uint32_t ns = take_pause(h);

    wf_store_relaxed(&h->pausing_ns, ns);
    sleep_until_called(h, (long)ns);
}

/* Leave the section for a pause, or until the thread is needed again. */
static void pause_until_needed(struct wf_helper *h)
{
    struct wf_instance *wf = h->wf;
    bool quiescent = !wf_helper_is_resident(h) &&
                     wf->api.helper_ops == wf->api.quiescent_ops;
    uint32_t ns = take_pause(h);
    bool parks = !is_needed(h) || wf->progress->waiting;

    if (quiescent)
        ns = WF_HELPER_PAUSE_QUIESCENT_NS;
    wf_store_relaxed(&h->pausing_ns, ns);
    h->timed_out = false;
    set_parked(h, parks);
    leave_section(h);
    sleep_until_called(h, parks ? -1 : (long)ns);
}

static void add_descriptor(struct descriptors *d, int fd)
{
    if (fd >= 0 && d->n < DESCRIPTORS_MAX)
        d->fds[d->n++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

/* Collect what the thread sleeps on. One that drives all sources has the epoll
 * descriptor for them and the bell. */
static void collect_descriptors(const struct wf_helper *h,
                                struct descriptors *d)
{
    struct wf_progress *p = h->wf->progress;
    struct wf_list *head = &p->sources;

    d->n = 0;
    add_descriptor(d, h->timer);
    if (h->mask == UINT32_MAX) {
        add_descriptor(d, p->epoll);
        return;
    }
    add_descriptor(d, p->bell);
    for (struct wf_list *l = head->next; l != head; l = l->next) {
        const struct wf_event_source *s =
            wf_container(l, struct wf_event_source, link);
        if (h->mask & wf_source_mask(s))
            add_descriptor(d, s->fd);
    }
}

static void sleep_armed(struct wf_helper *h, int timeout)
{
    struct descriptors d;
    struct timespec t;
    int most = h->wf->progress->helper_sleep_ms;

    set_armed(h, true);
    collect_descriptors(h, &d);
    leave_section(h);
    h->timed_out = timeout < 0 || timeout > most;
    if (h->timed_out)
        timeout = most;
    t = (struct timespec){timeout / 1000, timeout % 1000 * 1000000L};
    if (sleep_on(d.fds, d.n, &t) > 0)
        h->timed_out = false;
}

/* The number of the program's poll rounds. A look from outside of the section
 * may see those of the threads too late, and then takes them for some of the
 * program. */
static uint32_t count_program_rounds(const struct wf_progress *p)
{
    return wf_load_relaxed(&p->rounds) - wf_load_relaxed(&p->helper_rounds);
}

static int poll_sources(struct wf_helper *h)
{
    struct wf_progress *p = h->wf->progress;

    wf_store_relaxed(&p->helper_rounds, wf_load_relaxed(&p->helper_rounds) + 1);
    return wf_progress_poll_round(h->wf, h->mask);
}

/* Poll with the section held as long as there are events, then leave it, and
 * sleep on the sources if the thread is still needed. */
static void poll_and_leave(struct wf_helper *h)
{
    struct wf_instance *wf = h->wf;
    struct wf_progress *p = wf->progress;
    int timeout, n;
    bool armed;

    p->helping = h->has_spare_cpu ? 1 : 2;
    if (!p->led)
        wf_progress_drain_bell(p); /* or it would end each sleep */
    do {
        n = poll_sources(h);
        p->missed += h->timed_out && n > 0;
        h->timed_out = false;
        if (n > 0)
            wf_store_relaxed(&h->pause_ns, WF_HELPER_PAUSE_NS);
    } while (n > 0 && is_needed(h) && !wf_mutex_contended(&wf->api.mutex));
    wf_store_relaxed(&h->seen_round, count_program_rounds(p));
    armed = n == 0 && is_needed(h) && wf_progress_arm(wf, h->mask, &timeout);
    p->helping = 0;
    if (armed)
        sleep_armed(h, timeout);
    else
        leave_section(h);
}

/* True if the program has polled since the last check. */
static bool has_program_polled(struct wf_helper *h)
{
    uint32_t rounds = count_program_rounds(h->wf->progress);
    bool polled = rounds != wf_load_relaxed(&h->seen_round);

    wf_store_relaxed(&h->seen_round, rounds);
    return polled;
}

/* True if a resident thread need not enter: the program polls. Where it sleeps
 * in a call, or computes, only the section tells. */
static bool may_stay_outside(struct wf_helper *h)
{
    return wf_helper_is_resident(h) && !wf_load_relaxed(&h->stop) &&
           has_program_polled(h);
}

static void *run_helper(void *arg)
{
    struct wf_helper *h = arg;
    struct wf_instance *wf = h->wf;

    wf_thread_instance = wf_home(wf);
    sleep_until_called(h, -1);
    for (;;) {
        if (may_stay_outside(h) || !try_enter_section(h)) {
            pause_outside(h);
            continue;
        }
        set_armed(h, false);
        set_parked(h, false);
        wf_store_relaxed(&h->pausing_ns, 0);
        if (wf_load_relaxed(&h->stop))
            break;
        if (!is_needed(h) || wf->progress->waiting || has_program_polled(h))
            pause_until_needed(h);
        else
            poll_and_leave(h);
    }
    leave_section(h);
    return NULL;
}

/* ---- the callers --------------------------------------------------------- */

void wf_helper_set_wake_time(struct wf_helper *h, uint32_t ns)
{
    struct itimerspec t = {.it_value = {.tv_nsec = (long)ns}};

    set_parked(h, false);
    wf_store_relaxed(&h->seen_round, count_program_rounds(h->wf->progress));
    wf_store_relaxed(&h->pausing_ns, ns);
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

/* No thread of the program waits any more. */
static void resume_helpers(struct wf_instance *wf)
{
    for (struct wf_helper *h = wf->progress->helpers; h; h = h->next)
        if (h->parked && is_needed(h))
            wf_helper_set_wake_time(h, wf_load_relaxed(&h->pause_ns));
}

/* The program has polled: the sources are armed no more. */
static void disarm_helpers(struct wf_instance *wf)
{
    for (struct wf_helper *h = wf->progress->helpers; h; h = h->next) {
        if (!h->armed)
            continue;
        set_armed(h, false);
        if (wf->progress->waiting)
            set_parked(h, true); /* the waiting thread will resume it */
        else
            wf_helper_set_wake_time(h, wf_load_relaxed(&h->pause_ns));
    }
}

static void stop_thread(struct wf_helper *h)
{
    struct wf_instance *wf = h->wf;

    wf_cs_lock(&wf->api);
    wf_store_relaxed(&h->stop, 1);
    wf_helper_set_wake_time(h, 1);
    wf_cs_unlock(&wf->api);
    pthread_join(h->thread, NULL);
    close(h->timer);
    free(h);
}

static void stop_helpers(struct wf_instance *wf)
{
    struct wf_progress *p = wf->progress;
    struct wf_helper *h = p->helpers, *next;

    for (; h; h = next) {
        next = h->next;
        stop_thread(h);
    }
    p->helpers = p->helper = NULL;
}

static const struct wf_helper_ops ops = {stop_helpers, resume_helpers,
                                         disarm_helpers};

/* Start a thread that drives these sources. NULL: there is none. */
static struct wf_helper *start_helper(struct wf_instance *wf, uint32_t mask,
                                      bool resident)
{
    struct wf_progress *p = wf->progress;
    struct wf_helper *h = calloc(1, sizeof *h);

    if (!h || wf_progress_open_sleeper(p) < 0)
        goto err;
    h->wf = wf;
    h->mask = mask;
    h->resident = resident;
    h->has_spare_cpu = wf->rank->own_cpus > 1 &&
                       wf->rank->local_count < wf->rank->cpus &&
                       wf->rank->local_count < wf_quota_cpus();
    wf_store_relaxed(&h->pause_ns, WF_HELPER_PAUSE_NS);
    wf_store_relaxed(&h->seen_round, count_program_rounds(p));
    if (!start_thread(h))
        goto err;
    h->next = p->helpers;
    p->helpers = h;
    p->help = &ops;
    set_parked(h, true);
    return h;
err:
    wf_log(wf, WF_LOG_WARN,
           "no helper thread: messages move only while the "
           "program is in an MPI call");
    free(h);
    return NULL;
}

/* The endpoints that have a thread of their own. */
static uint32_t find_own_threads(const struct wf_instance *wf)
{
    uint32_t mask = 0;

    for (int i = 0; i < wf->links->ep_count; i++)
        if (wf->links->eps[i].config && wf->links->eps[i].config->thread)
            mask |= UINT32_C(1) << i;
    return mask;
}

bool wf_helper_ensure(struct wf_instance *wf)
{
    struct wf_progress *p = wf->progress;

    if (p->helper)
        return true;
    if (p->may_help && (wf->rank->options->progress != WF_PROGRESS_AUTO ||
                        !wf_progress_is_oversubscribed(wf)))
        p->helper = start_helper(wf, ~find_own_threads(wf), false);
    p->may_help = p->helper != NULL; /* this is tried once */
    return p->may_help;
}

/* Inside the section. */
static void start_residents_inside(struct wf_instance *wf)
{
    struct wf_progress *p = wf->progress;
    uint32_t own = find_own_threads(wf);
    struct wf_helper *h;

    if (p->helpers)
        return; /* another thread has started them, or one for operations */
    if (p->may_help && wf->rank->options->progress == WF_PROGRESS_THREAD) {
        p->helper = start_helper(wf, ~own, true);
        p->may_help = p->helper != NULL;
    }
    for (uint32_t left = own; left; left &= left - 1)
        /* its timers and the like, too, which have no descriptor */
        start_helper(wf, (left & -left) | ~WF_SOURCES_ENDPOINTS, true);
    for (h = p->helpers; h; h = h->next)
        wf_helper_set_wake_time(h, WF_HELPER_PAUSE_NS);
}

static void start_residents(struct wf_instance *wf)
{
    if (wf->api.threads)
        WF_SECTION(api, wf)
            start_residents_inside(wf);
}

const struct wf_helpers weft_helpers = {start_residents};
