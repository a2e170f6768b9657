/* The helper: a thread that makes progress while the program computes.
 *
 *                 attend: an operation is left to itself
 *     parked ---------------> napping ---------------------> serving
 *       ^                      |   ^                          |  ^   |
 *       |  nothing owed, or    |   |  the program polls       |  |   v
 *       |  the program waits   |   +--------------------------+  asleep in
 *       +----------------------+                                 the kernel,
 *                                                                endpoints armed
 *
 * DESIGN  Nonblocking calls that leave an operation unfinished (a rendezvous, a
 * receive of many bytes, a collective) attend it: it counts as owed until it
 * completes. The first one starts the thread. While something is owed the API
 * section is on, also below MPI_THREAD_MULTIPLE; the call that finds nothing
 * owed any more switches it off (critical.h). So a program that leaves nothing
 * to itself has neither thread nor lock.
 *
 * The helper enters only by wf_cs_try, never while a caller is inside or
 * waits to be, and leaves as soon as one comes. A program that polls or waits
 * needs no help: then the helper takes a nap, twice as long each time. It
 * sleeps armed only when nobody has polled since it last looked.
 *
 * Each time that it wakes on the CPU where the program computes costs that one
 * tens of microseconds. So whoever wants it sets its timer: it wakes once, when
 * the nap is over that it would take first, and not at all for an operation
 * after which others follow before that. A program that waits does what it would;
 * it is called when the last of those who wait goes.
 *
 * User operations never run here: schedules with one stay deferred until the
 * program calls.
 *
 * LOCK  everything here: the API section, but nap, which the helper writes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "progress/helper.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "os/quota.h"
#include "protocol/short.h"

enum {
    NAP_MIN = 100000, /* ns: calls that wait at once are mostly over */
    NAP_MAX = 1600000,
    NAP_CALM = 10000000, /* where nobody depends on it */
    NAP_TOO_LONG = 300000, /* ns: more than that longer than what is wanted */
    URGENT = 1 << 20,  /* bytes of a message that has to be matched soon */
    MEETING = 4 << 20, /* bytes of one whose announcement is worth ... */
    MEETING_NS = 2000, /* ... this, which is 1 or 2 % of it */
    ALONE = 6          /* bytes per ns: one side copies, by the kernel */
};

struct wf_helper {
    struct wf_instance *wf;
    pthread_t thread;
    bool stop;
    bool armed;         /* asleep on the endpoints, or about to be */
    bool expired;       /* nothing ended its last sleep */
    bool spare;         /* there are more CPUs than processes */
    uint32_t turn;      /* of the last look */
    wf_atomic_u32 nap;  /* ns, how long the next one is */
    long napping;       /* ns, the nap that it takes; 0: none, or it is over */
    int timer;          /* of the callers: ends any sleep */
};

/* ---- the thread ----------------------------------------------------------- */

/* On the timer, which is the first, and on others. What ended it: the number of
 * descriptors. */
static int sleep_on(struct pollfd *fds, nfds_t n, const struct timespec *most)
{
    uint64_t count;
    int found = ppoll(fds, n, most, NULL);

    if (found > 0 && fds[0].revents &&
        read(fds[0].fd, &count, sizeof count) < 0)
        return found; /* set again meanwhile */
    return found;
}

/* ns < 0: until somebody calls. The section is left. */
static void nap(struct wf_helper *h, long ns)
{
    struct pollfd fd = {.fd = h->timer, .events = POLLIN};
    struct timespec t = {.tv_nsec = ns};

    sleep_on(&fd, 1, ns < 0 ? NULL : &t);
}

static void longer(struct wf_helper *h)
{
    uint32_t twice = 2 * wf_load_relaxed(&h->nap);

    wf_store_relaxed(&h->nap, twice < NAP_MAX ? twice : NAP_MAX);
}

/* Leave the section for a while, or until there is something to do again. */
static void rest(struct wf_helper *h)
{
    struct wf_progress *p = h->wf->progress;
    bool calm = h->wf->api.owed == h->wf->api.calm;
    long ns = calm ? NAP_CALM : wf_load_relaxed(&h->nap);

    longer(h);
    h->napping = ns;
    h->expired = false;
    if (!h->wf->api.owed || p->waiting) {
        p->parked = true;
        ns = -1;
    }
    wf_cs_give(&h->wf->api);
    nap(h, ns);
}

static void sleep_armed(struct wf_helper *h, int timeout)
{
    struct pollfd fds[2] = {{.fd = h->timer, .events = POLLIN},
                            {.fd = h->wf->progress->epoll, .events = POLLIN}};
    struct timespec t;
    int look_ms = h->wf->progress->look_ms;

    h->armed = true;
    wf_cs_give(&h->wf->api);
    h->expired = timeout < 0 || timeout > look_ms;
    if (h->expired)
        timeout = look_ms;
    t = (struct timespec){timeout / 1000, timeout % 1000 * 1000000L};
    if (sleep_on(fds, 2, &t) > 0)
        h->expired = false;
}

/* One round with the section held; leaves it. */
static void serve(struct wf_helper *h)
{
    struct wf_instance *wf = h->wf;
    struct wf_progress *p = wf->progress;
    int timeout, n;
    bool armed;

    p->helping = h->spare ? 1 : 2;
    do {
        n = wf_progress_turn(wf, UINT32_MAX);
        p->missed += h->expired && n > 0;
        h->expired = false;
        if (n > 0)
            wf_store_relaxed(&h->nap, NAP_MIN);
    } while (n > 0 && wf->api.owed && !wf_mutex_contended(&wf->api.mutex));
    h->turn = wf_load_relaxed(&p->turn);
    armed = n == 0 && wf->api.owed && wf_progress_arm(wf, &timeout);
    p->helping = 0;
    if (armed)
        sleep_armed(h, timeout);
    else
        wf_cs_give(&wf->api);
}

/* Has the program polled since, or is it waiting in a call? */
static bool busy_caller(struct wf_helper *h)
{
    struct wf_progress *p = h->wf->progress;
    bool busy = p->waiting || wf_load_relaxed(&p->turn) != h->turn;

    h->turn = wf_load_relaxed(&p->turn);
    return busy;
}

static void *run(void *arg)
{
    struct wf_helper *h = arg;
    struct wf_instance *wf = h->wf;

    wf_thread_instance = wf_home(wf);
    nap(h, -1);
    for (;;) {
        if (!wf_cs_try(&wf->api)) {
            nap(h, wf_load_relaxed(&h->nap)); /* a caller is inside */
            longer(h);
            continue;
        }
        h->armed = false;
        h->napping = 0;
        wf->progress->parked = false;
        if (h->stop)
            break;
        if (!wf->api.owed || busy_caller(h))
            rest(h);
        else
            serve(h);
    }
    wf_cs_give(&wf->api);
    return NULL;
}

/* ---- the callers ---------------------------------------------------------- */

/* Let it look in ns, unless the program polls before that. */
static void call(struct wf_helper *h, long ns)
{
    struct itimerspec t = {.it_value = {.tv_nsec = ns}};

    h->wf->progress->parked = false;
    h->turn = wf_load_relaxed(&h->wf->progress->turn);
    h->napping = ns;
    if (timerfd_settime(h->timer, 0, &t, NULL) < 0)
        wf_log(h->wf, WF_LOG_WARN, "the helper's timer cannot be set");
}

/* The program's signal handlers run in its own threads. Where the program has
 * bound the thread that calls, the helper may use the other CPUs. */
static bool start(struct wf_helper *h)
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
    r = pthread_create(&h->thread, NULL, run, h);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (r == 0 && CPU_COUNT(cpus))
        pthread_setaffinity_np(h->thread, sizeof *cpus, cpus);
    if (r == 0)
        return true;
    close(h->timer);
    return false;
}

static void recall(struct wf_instance *wf)
{
    struct wf_helper *h = wf->progress->helper;

    if (wf->progress->parked)
        call(h, wf_load_relaxed(&h->nap));
}

static void disturb(struct wf_instance *wf)
{
    struct wf_helper *h = wf->progress->helper;

    if (!h->armed)
        return;
    h->armed = false;
    if (wf->progress->waiting)
        wf->progress->parked = true; /* who waits will recall it */
    else
        call(h, wf_load_relaxed(&h->nap));
}

static void stop(struct wf_instance *wf)
{
    struct wf_helper *h = wf->progress->helper;

    wf_cs_take(&wf->api);
    h->stop = true;
    call(h, 1);
    wf_cs_give(&wf->api);
    pthread_join(h->thread, NULL);
    close(h->timer);
    free(h);
    wf->progress->helper = NULL;
}

static const struct wf_helper_ops ops = {stop, recall, disturb};

/* The thread exists, or there will never be one. */
static bool ready(struct wf_instance *wf)
{
    struct wf_progress *p = wf->progress;
    struct wf_helper *h = p->helper;

    if (h)
        return true;
    wf->may_help = false; /* asked once */
    if (wf->options->progress == WF_PROGRESS_AUTO && wf_progress_crowded(wf))
        return false;
    h = calloc(1, sizeof *h);
    if (!h || wf_progress_open_sleeper(p) < 0)
        goto err;
    h->wf = wf;
    h->spare = wf->own_cpus > 1 && wf->local_count < wf->cpus &&
               wf->local_count < wf_quota_cpus();
    wf_store_relaxed(&h->nap, NAP_MIN);
    h->turn = wf_load_relaxed(&p->turn);
    if (!start(h))
        goto err;
    wf->may_help = true;
    p->helper = h;
    p->help = &ops;
    p->parked = true;
    return true;
err:
    wf_log(wf, WF_LOG_WARN, "no helper thread: messages move only while the "
           "program is in an MPI call");
    free(h);
    return false;
}

/* Sends that wait for their peer, much to receive, and whatever consists of
 * several messages. */
static bool worth(struct wf_req *r)
{
    struct wf_p2p *p = wf_p2p_of(r);

    switch ((enum wf_req_type)r->type) {
    case WF_REQ_SEND:
        return p->waits & WF_WAITS_ANSWER || p->bytes >= WF_HELP_LARGE;
    case WF_REQ_RECV:
        return p->bytes >= WF_HELP_LARGE;
    case WF_REQ_SCHEDULE:
    case WF_REQ_PARTITIONED:
        return true;
    default:
        return false;
    }
}

/* The other side of a large message may depend on a look of the helper, and
 * wait for it. Which comes after a short nap, since the program may wait at
 * once. */
static bool urgent(struct wf_req *r)
{
    return r->type <= WF_REQ_RECV && wf_p2p_of(r)->bytes >= URGENT;
}

/* Has the receive r been matched, and is its message where either side moves it
 * alone? */
static bool under_way(struct wf_req *r)
{
    struct wf_p2p *p = wf_p2p_of(r);

    return r->type == WF_REQ_RECV && !(r->flags & WF_REQ_LIGHT) &&
           p->pull.core && p->pull.core->attr.caps & WEFT_CAP_GET_ALONE;
}

/* A message that its receiver fetches alone, unless it cannot. */
static bool calm(struct wf_req *r)
{
    struct wf_p2p *p = wf_p2p_of(r);

    return r->type == WF_REQ_SEND && p->waits == WF_WAITS_ANSWER &&
           p->pull.core && p->pull.core->attr.caps & WEFT_CAP_GET_ALONE &&
           !p->loc->approves;
}

/* When it is to look. Without a CPU to spare a message that is under way is left
 * to the sender, and all that remains is to say that it is over. */
static long look_at(struct wf_helper *h, struct wf_req *r)
{
    uint64_t alone;

    if (r->flags & WF_REQ_CALM)
        return NAP_CALM;
    if (h->spare || !under_way(r))
        return urgent(r) ? NAP_MIN : (long)wf_load_relaxed(&h->nap);
    alone = wf_p2p_of(r)->expected / ALONE;
    return alone < NAP_CALM ? (long)alone : NAP_CALM;
}

/* It is to look before long. */
static void want(struct wf_helper *h, struct wf_req *r)
{
    long ns = look_at(h, r);

    if (h->wf->progress->parked || h->napping > ns + NAP_TOO_LONG)
        call(h, ns);
}

/* The sender of a large message that is expected calls at about the same time,
 * in most programs. What it says is worth a moment: the answer lets it move the
 * message while this side computes, without the helper. */
void wf_helper_meet(struct wf_req *r)
{
    struct wf_instance *wf = r->wf;
    uint64_t until;

    if (!wf->may_help || wf_p2p_of(r)->bytes < MEETING)
        return;
    until = wf_now(wf) + MEETING_NS;
    while (!wf_req_done(r) && !under_way(r)) {
        wf_progress_poll(wf, UINT32_MAX); /* once, however late */
        if (wf_now(wf) >= until)
            break;
    }
}

void wf_helper_attend(struct wf_req *r)
{
    struct wf_instance *wf = r->wf;

    if (r->flags & WF_REQ_ATTENDED || !worth(r))
        return;
    wf_cs_lend(&wf->api);
    if (!ready(wf))
        return; /* the section goes off with this call */
    r->flags |= WF_REQ_ATTENDED;
    wf->api.owed++;
    if (calm(r)) {
        r->flags |= WF_REQ_CALM;
        wf->api.calm++;
    }
    want(wf->progress->helper, r);
}
