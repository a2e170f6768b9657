/* Waiting: what sleepers share, and how who completes something wakes them.
 *
 * Threads that wait stand in a list. One of them, the leader, sleeps in epoll
 * on all endpoints; the others, the followers, sleep on a futex word of their
 * own. Whoever polls wakes exactly those whose condition came true. A leader
 * that leaves passes the role to one follower.
 *
 * Beside a thread that comes and goes every few microseconds the leader naps: it
 * neither has the endpoints armed for it each time, nor is it woken for messages
 * of that thread, which is back soon. It only looks now and then whether that
 * one still polls, and sleeps on the endpoints again once nobody does.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_WAIT_H
#define WF_WAIT_H


#include "progress/progress.h"

enum {
    OTHERS_EVERY = 256,        /* turns; a power of two */
    OTHERS_APART_MOST = 100000 /* ns */
};
enum {
    WATCH_MS = 1000, /* longest sleep, after which silent peers are called */
    LOOK_MS = 100,   /* of the helper: lost announcements cost no more */
    NAP_MS = 1       /* of a leader beside a thread that polls often */
};

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
    void (*call)(struct wf_waiter *); /* of another engine: how to wake it */
};

/* LOCK  all fields: the API section. */
struct wf_progress {
    int epoll, bell;
    int slept;            /* ms, in naps, since the last watch */
    uint32_t others;      /* turn when the other engines were polled */
    uint64_t looked, apart; /* ns; when all endpoints were, and how long to wait now */
    uint32_t all, remote; /* endpoint masks */
    wf_atomic_u32 turn; /* changed inside the section; others look whether it
                           does: others.c */
    bool tuned, crowded;     /* crowded and the limits are known */
    uint64_t spin, spin_max; /* ns */
    unsigned yields, yields_max;
    unsigned refrain, refrains; /* waits that are not to yield, next time */
    bool yielded; /* this CPU is shared: to poll longer does not help */
    unsigned shared, shared_max; /* waits in a row that found it so; limit */
    bool joined;    /* crowded because the only CPU is shared ... */
    unsigned alone; /* ... and yields in a row that found it is not */
    unsigned tests;          /* in vain and in a row */
    struct wf_state_slot *polled; /* the record of these, or NULL: state.h */
    uint64_t tested;         /* when the last of them was done, if crowded */
    struct wf_list waiters;  /* asleep, or about to be */
    bool led;                /* a leader sleeps */
    bool disarmed;           /* somebody polled since they were armed for it */
    bool naps;               /* it does not sleep on them */
    bool brisk;              /* it had better nap: they were armed again ... */
    unsigned rearmed;        /* ... so often since ... */
    uint64_t since;          /* ... then */
    /* The leader is of this other engine, until somebody polls here. */
    struct wf_instance *_Atomic guest;
    uint64_t until;          /* it sleeps at most */
    unsigned waiting;        /* threads in wf_progress_wait */
    unsigned asleep;         /* of them */
    uint8_t helping; /* the helper polls or arms: as weft_host.helping */
    bool parked;             /* the helper sleeps until it is called */
    uint16_t watch_ms, look_ms, nap_ms; /* longest sleep: leader, helper, leader
                                           that naps */
    uint64_t sleeps;         /* in the kernel, by those who wait in a call */
    uint64_t missed; /* sleeps that only the longest sleep ended, though there
                        was something: a wake-up was lost */
    struct wf_helper *helper; /* once started, with its operations */
    const struct wf_helper_ops *help;
    /* It may use these, those of MPI_Init: a cpu_set_t, which some C libraries
     * show to files with _GNU_SOURCE only. */
    unsigned long cpus[1024 / 8 / sizeof(long)];
};

static inline uint32_t wf_progress_count(struct wf_progress *p)
{
    uint32_t turn = wf_load_relaxed(&p->turn) + 1;

    wf_store_relaxed(&p->turn, turn);
    return turn;
}

/* Poll endpoints once, as wf_progress_poll, by a thread that goes on polling:
 * it must call leave before it stops. */
int wf_progress_turn(struct wf_instance *, uint32_t mask);
/* Polling disarms endpoints. Whoever has polled while a leader sleeps arms them
 * again before it goes, or nothing would ever wake that one. */
void wf_progress_leave(struct wf_instance *);
/* Ready every endpoint to wake us. False: something is there already.
 * timeout: milliseconds until a plugin wants progress(), -1 for never. */
bool wf_progress_arm(struct wf_instance *, int *timeout);
/* What sleepers sleep on exists afterwards, or WEFT_ESYS. */
int wf_progress_open_sleeper(struct wf_progress *);
/* A guest leads no more. */
void wf_progress_evict(struct wf_instance *);
/* Wake a waiter, so that it leads, if nobody does. */
void wf_progress_pass_lead(struct wf_instance *);
/* Wake the waiters whose condition holds. */
void wf_waiters_notify(struct wf_instance *);
/* Something may have happened outside progress (a message to oneself). Only
 * threads can be asleep meanwhile, so callers ask wf->api.on first. */
static inline void wf_progress_notify(struct wf_instance *wf)
{
    if (wf->progress && wf_unlikely(!wf_list_empty(&wf->progress->waiters)))
        wf_waiters_notify(wf);
}

#endif
