/* Endpoints and sleepers for the tests of waiting.
 *
 *   announce(e)     something comes in at an endpoint; like a transport with a
 *                   doorbell, it makes the descriptor readable only when armed
 *   doze(...)       a thread that waits for a flag, through some endpoints
 *   until_asleep    all of them stand in the list, and the leader has armed
 *
 * No test can wait for a wake-up that does not come: a leader looks by itself
 * after a while, which is longer here than any machine stands still. That it
 * found something then is counted, wf_progress.missed, and that is what the
 * tests look at.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAIT_RIG_H
#define WAIT_RIG_H

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "config/config.h"
#include "process/endpoint.h"
#include "process/rank.h"
#include "progress/wait.h"
#include "protocol/endpoint_source.h"
#include "protocol/engine.h"
#include "protocol/queues.h"
#include "route/links.h"

enum { ENDPOINTS = 2, SLEEPERS = 3, HANG_S = 200, LOST_MS = 60000 };

/* LOCK  all but fd: the API section. */
struct weft_ep {
    int fd;
    int arms;
    bool armed, came;
    int helping;              /* when it was armed */
    bool refuses;             /* arm() finds something */
    bool blind;               /* announces nothing by its descriptor */
    uint64_t deadline_in;     /* ns from arm(): then something is there */
    uint64_t due;
    void (*deliver)(void *); /* what arrives */
    void *arg;
};

struct sleeper {
    pthread_t thread;
    uint32_t mask;
    wf_atomic_u32 done;
};

static weft_ep fabrics[ENDPOINTS];
static struct sleeper sleepers[SLEEPERS];
static struct wf_rank wf_rank;
static struct wf_instance wf = {.rank = &wf_rank};
static struct wf_links links;
static struct wf_core_options options;

static void set_flag(void *arg)
{
    wf_store_release((wf_atomic_u32 *)arg, 1);
}

static bool is_flagged(void *arg)
{
    return wf_load_acquire((wf_atomic_u32 *)arg) != 0;
}

/* ---- endpoints ----------------------------------------------------------- */

static int fake_progress(weft_ep *e, int budget)
{
    uint64_t count;

    e->armed = false;
    if (e->due && wf_now(&wf) >= e->due)
        e->came = true;
    if (!e->came)
        return 0;
    e->came = e->refuses = false;
    e->due = 0;
    (void)!read(e->fd, &count, sizeof count);
    e->deliver(e->arg);
    return 1;
}

static int fake_event(weft_ep *e, int *fd)
{
    *fd = e->fd;
    return WEFT_OK;
}

static int fake_arm(weft_ep *e, uint64_t *deadline)
{
    e->arms++;
    if (e->refuses)
        e->came = true;
    if (e->came)
        return WEFT_EAGAIN;
    if (e->deadline_in)
        *deadline = e->due = wf_now(&wf) + e->deadline_in;
    e->armed = true;
    e->helping = wf_host.helping(&links.eps[e - fabrics]);
    return WEFT_OK;
}

static const weft_ops with_descriptor = {.size = sizeof with_descriptor,
                                         .progress = fake_progress,
                                         .event = fake_event,
                                         .arm = fake_arm};
static const weft_ops without = {.size = sizeof without,
                                 .progress = fake_progress};

/* Section held. */
static inline void announce_arrival(weft_ep *e, void (*deliver)(void *),
                                    void *arg)
{
    uint64_t one = 1;

    e->deliver = deliver;
    e->arg = arg;
    e->came = true;
    if (e->armed && !e->blind)
        (void)!write(e->fd, &one, sizeof one);
    e->armed = false;
}

/* ns by which each reading of the clock is later: a thread that lost its
 * CPU. */
static wf_atomic_u64 lost;

static uint64_t clock_now(void *clock)
{
    static wf_atomic_u64 lost_so_far;
    uint64_t more = wf_load_relaxed(&lost);
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + more +
           wf_add_acq_rel(&lost_so_far, more);
}

static void add_fabric(int i, const weft_ops *ops)
{
    fabrics[i] = (weft_ep){.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
    links.eps[i].ops = ops;
    links.eps[i].index = i;
    links.eps[i].wf = &wf;
    links.eps[i].ep = &fabrics[i];
    links.eps[i].attr.caps = WEFT_CAP_LOCAL;
    assert_int_equal(wf_endpoint_add_source(&links.eps[i]), 0);
}

static struct weft_loc *nobody[1]; /* that news could be told to */

static int rig_with(const weft_ops *ops)
{
    alarm(HANG_S);
    options = (struct wf_core_options){.credits = 1 << 20};
    wf_rank = (struct wf_rank){
        .home = &wf, .options = &options, .job.size = 1, .own_cpus = 64};
    links = (struct wf_links){.ep_count = ENDPOINTS,
                              .own = {.size = 1, .of = nobody}};
    wf = (struct wf_instance){
        .rank = &wf_rank, .links = &links, .now_ns = clock_now};
    memset(sleepers, 0, sizeof sleepers);
    wf_cs_allow_threads(&wf.api);
    assert_int_equal(wf_progress_init(&wf), 0);
    assert_int_equal(wf_engine_init(&wf), 0);
    wf.progress->watch_ms = wf.progress->helper_sleep_ms = LOST_MS;
    for (int i = 0; i < ENDPOINTS; i++)
        add_fabric(i, ops);
    return 0;
}

static int open_rig(void **state)
{
    return rig_with(&with_descriptor);
}

static int close_rig(void **state)
{
    wf_progress_stop_helper(&wf);
    wf_progress_fini(&wf);
    wf_engine_fini(&wf);
    for (int i = 0; i < ENDPOINTS; i++)
        close(fabrics[i].fd);
    return 0;
}

/* ---- sleepers ------------------------------------------------------------ */

static void *sleep_until_flagged(void *arg)
{
    struct sleeper *s = arg;

    wf_cs_enter(&wf.api);
    wf_progress_wait(&wf, s->mask, is_flagged, &s->done, NULL);
    wf_cs_leave(&wf.api);
    return NULL;
}

static int count_asleep(void)
{
    struct wf_list *head = &wf.progress->waiters;
    int n = 0;

    for (struct wf_list *l = head->next; l != head; l = l->next)
        n++;
    return wf.progress->led ? n : 0;
}

/* Section left while it is not so. */
static void until_asleep(int n)
{
    while (count_asleep() != n) {
        wf_cs_leave(&wf.api);
        sched_yield();
        wf_cs_enter(&wf.api);
    }
}

/* n threads sleep, each through all endpoints, number 0 as the leader. The
 * section is held then. */
static void start_sleepers(int n)
{
    wf_cs_enter(&wf.api);
    for (int i = 0; i < n; i++) {
        sleepers[i].mask = UINT32_MAX;
        assert_int_equal(pthread_create(&sleepers[i].thread, NULL,
                                        sleep_until_flagged, &sleepers[i]),
                         0);
        until_asleep(i + 1);
    }
}

/* Leave the section, until this one is through. */
static void until_woken(int i)
{
    wf_cs_leave(&wf.api);
    pthread_join(sleepers[i].thread, NULL);
    wf_cs_enter(&wf.api);
}

static void nothing_was_missed(void)
{
    assert_true(wf.progress->missed == 0);
    wf_cs_leave(&wf.api);
}

#endif
