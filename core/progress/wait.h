/* Waiting: what sleepers share. Private to core/progress.
 *
 * Threads that wait stand in a list. One of them, the leader, sleeps in epoll
 * on all endpoints; the others, the followers, sleep on a futex word of their
 * own. Whoever polls wakes exactly those whose condition came true. A leader
 * that leaves passes the role to one follower.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_WAIT_H
#define WF_WAIT_H

#include <sched.h>

#include "progress/progress.h"

enum { OTHERS_EVERY = 256 /* turns; a power of two */ };

struct wf_helper; /* helper.c */

/* The helper as the rest of progress sees it. Reached through pointers so that
 * a static program without nonblocking calls has neither it nor what libc needs
 * for threads. */
struct wf_helper_ops {
    void (*stop)(struct wf_instance *);
    /* Something is owed and no caller waits any more. */
    void (*recall)(struct wf_instance *);
    /* A caller has polled, and so disarmed what an armed helper sleeps on. */
    void (*disturb)(struct wf_instance *);
};

struct wf_waiter {
    struct wf_list link;
    bool (*done)(void *);
    void *arg;
    wf_atomic_u32 awake; /* futex word of a follower */
    bool leads;
};

/* LOCK  all fields: the API section. */
struct wf_progress {
    int epoll, bell;
    uint32_t all, remote; /* endpoint masks */
    uint32_t turn;
    bool tuned, crowded;     /* crowded and the limits are known */
    uint64_t spin, spin_max; /* ns */
    unsigned yields, yields_max;
    unsigned refrain, refrains; /* waits that are not to yield, next time */
    bool yielded; /* this CPU is shared: to poll longer does not help */
    unsigned shared, shared_max; /* waits in a row that found it so; limit */
    struct wf_list waiters;  /* asleep, or about to be */
    bool led;                /* a leader sleeps */
    bool disarmed;           /* somebody polled since it armed the endpoints */
    unsigned waiting;        /* threads in wf_progress_wait */
    bool helping;            /* the helper polls */
    struct wf_helper *helper; /* once started, with its operations */
    const struct wf_helper_ops *help;
    cpu_set_t cpus;           /* it may use: those of MPI_Init */
};

/* Poll endpoints once, as wf_progress_poll, by a thread that goes on polling:
 * it must call leave before it stops. */
int wf_progress_turn(struct wf_instance *, uint32_t mask);
/* Polling disarms endpoints. A sleeping leader must arm them again before the
 * last poller goes, or nothing would ever wake it. */
void wf_progress_leave(struct wf_instance *);
/* Ready every endpoint to wake us. False: something is there already.
 * timeout: milliseconds until a plugin wants progress(), -1 for never. */
bool wf_progress_arm(struct wf_instance *, int *timeout);
/* What sleepers sleep on exists afterwards, or WEFT_ESYS. */
int wf_progress_open_sleeper(struct wf_progress *);
/* Wake the waiters whose condition holds. */
void wf_waiters_notify(struct wf_instance *);

#endif
