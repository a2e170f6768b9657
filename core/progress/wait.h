/* Waiting: the state that sleeping threads share, and how they are woken.
 *
 * Threads that wait stand in a list. One of them, the leader, sleeps in epoll
 * on all event sources; the others, the followers, sleep on a futex word of
 * their own. A thread that polls wakes exactly those whose condition came true.
 * A leader that leaves passes the role to one follower.
 *
 * Beside a thread that comes and goes every few microseconds the leader sleeps
 * on the bell alone: the sources are not armed for it each time, nor is it
 * woken for messages of that thread, which is back soon. It only checks now and
 * then whether that thread still polls, and sleeps on the sources again once no
 * thread does.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_WAIT_H
#define WF_WAIT_H

#include "progress/progress.h"
#include "progress/sleep.h"

/* The longest sleeps, ms. */
enum {
    WATCH_MS = 1000,      /* of a leader, which then checks for silent peers */
    HELPER_SLEEP_MS = 100 /* of the progress thread */
};

/* The reasons for which a sleep in epoll ends: the data of its events. */
enum { WF_WOKEN_BY_BELL = WF_SOURCE_BITS /* less: the bit of a source */ };

struct wf_helper; /* helper.c */
struct wf_sched;  /* coll/schedule.h */

/* The progress threads (helpers) as the rest of progress calls them. Reached
 * through pointers so that a static program without nonblocking calls has
 * neither them nor what libc needs for threads. */
struct wf_helper_ops {
    void (*stop)(struct wf_instance *);
    /* Called when no caller waits any more and a thread is parked. */
    void (*resume)(struct wf_instance *);
    /* Called when a caller has polled, and so disarmed the sources that armed
     * progress threads sleep on. */
    void (*note_poll)(struct wf_instance *);
};

struct wf_waiter {
    struct wf_list link;
    bool (*done)(void *);
    void *arg;
    wf_atomic_u32 awake; /* futex word of a follower */
    bool leads;
    /* Wakes a thread that waits in another engine; else NULL. */
    void (*call)(struct wf_waiter *);
};

/* How often an idle source is polled (idle_sources.c). ns. */
struct wf_poll_pace {
    uint64_t news_at;  /* when its last news came, about */
    uint64_t due;      /* when it is polled next */
    uint64_t cost;     /* of a poll that finds nothing */
    uint64_t arrivals; /* those that news_at is about */
    const uint64_t *count; /* of arrivals: wf_source_count_arrivals */
};

/* The state of polling and waiting in one engine.
 * LOCK  all fields: the API section. */
struct wf_progress {
    int epoll;             /* holds the sources' descriptors and the bell */
    int bell;              /* eventfd that wakes the leader */
    int slept;             /* ms since the last check for silent peers */
    uint32_t others_round; /* the round in which other engines were polled */
    /* When all sources were polled last, and the time until that is due. */
    uint64_t all_polled_at, all_polls_apart; /* ns */
    /* The event sources: all, those of each bit, and those that share one. */
    struct wf_list sources;
    const struct wf_event_source *by_bit[WF_SOURCE_BITS];
    struct wf_event_source shared; /* polls the sources that share a bit, */
    unsigned sharing;              /* so many, */
    struct wf_list *next_shared;   /* and this one next */
    uint32_t all;                  /* the bits in use */
    const struct wf_progress_handlers *handlers;
    bool resume_requested; /* the end of a poll calls resume_arrivals */
    bool may_help; /* a progress thread runs or may be started: helper.c */
    /* Schedules that are driven on at the end of a poll: they leave the API
     * section, so no plugin's progress function may be on the stack. There
     * are none while run_deferred is NULL. */
    struct wf_list deferred;
    int (*run_deferred)(struct wf_instance *);

    /* Idle sources: idle_sources.c. */
    uint32_t timed;   /* it is known how long their polls take, */
    uint32_t costly;  /* and that this is long */
    uint32_t skipped; /* by the rounds of the waiter that polled last */
    uint32_t looks;   /* at the clock */
    uint64_t clock_cost, ask_cost; /* ns for a look at the clock, the kernel */
    struct wf_poll_pace pace[WF_SOURCE_BITS];
    uint64_t wakeups[WF_SOURCE_BITS]; /* sleeps that its news ended */

    /* The number of poll rounds. Changed inside the section; other_engines.c
     * reads it from outside to see whether the engine is in use. */
    wf_atomic_u32 rounds;
    wf_atomic_u32 helper_rounds; /* those of the progress threads among them */

    /* How a waiter stays awake. */
    bool limits_known;   /* oversubscribed and the limits below are set */
    bool oversubscribed; /* more ranks than CPUs, or the only CPU is shared */
    uint64_t spin, spin_max; /* ns */
    int spin_polls;          /* in front of such a wait: wf_progress_spin */
    unsigned yields, yields_max;
    uint64_t yield_long; /* ns: such a yield has found one that computes */
    unsigned no_yield_waits; /* so many of the next waits do not yield */
    unsigned no_yield_next;  /* the next value of no_yield_waits */
    bool cpu_shared; /* another rank is on this CPU: more polls do not help */
    unsigned shared_waits, shared_waits_max; /* waits in a row that found so */
    bool only_cpu_shared; /* oversubscribed because the only CPU is shared */
    unsigned lone_yields; /* yields in a row that found this no longer so */

    /* Polls by the program (MPI_Test). */
    unsigned failed_tests;        /* in a row */
    struct wf_state_slot *polled; /* their record, or NULL: state.h */
    uint64_t tested_at; /* when the last was done, if oversubscribed */

    /* Sleeping. */
    struct wf_list waiters; /* threads that sleep, or are about to */
    bool led;               /* a leader sleeps */
    bool disarmed; /* a thread polled since the sources were armed for it */
    bool leader_on_bell; /* the leader sleeps on the bell alone */
    /* The leader should sleep on the bell alone, because the sources were
     * armed again for it often: rearms times since rearms_since. */
    bool prefers_bell;
    unsigned rearms;
    uint64_t rearms_since;
    /* The engine whose leader also leads here, until a thread polls here. */
    struct wf_instance *_Atomic foreign_poller;
    uint64_t until;   /* when the leader's sleep ends at the latest */
    unsigned waiting; /* threads in wf_progress_wait */
    unsigned asleep;  /* those of them that sleep */
    uint8_t helping;  /* a progress thread polls or arms: weft_host.helping */
    /* Progress threads that sleep on armed sources, or until they are called */
    unsigned helpers_armed, parked;
    /* The longest sleep of the leader, of the progress thread, and of a leader
     * on the bell alone. */
    uint16_t watch_ms, helper_sleep_ms, bell_sleep_ms;
    uint64_t sleeps; /* sleeps in the kernel of threads that wait in a call */
    /* Sleeps, also of the progress thread, that timed out though an event was
     * there: a wake-up was lost. */
    uint64_t missed;
    struct wf_helper *helpers; /* the progress threads that were started, */
    struct wf_helper *helper;  /* and the one that operations are left to */
    const struct wf_helper_ops *help;
    /* The CPUs that the progress thread may use, those of MPI_Init: a
     * cpu_set_t, which some C libraries show only with _GNU_SOURCE. */
    unsigned long cpus[1024 / 8 / sizeof(long)];
};

/* Note that sources may not be armed any more for the threads that sleep. */
static inline void wf_progress_note_unarmed(struct wf_instance *wf)
{
    struct wf_progress *p = wf->progress;

    if (p->led)
        p->disarmed = true;
    /* off: a progress thread may be inside, and its numbers change */
    if (wf_unlikely(wf->api.on) && p->helpers_armed && !p->helping)
        p->help->note_poll(wf);
}

/* Count a poll round. Returns its number. */
static inline uint32_t wf_progress_count_round(struct wf_progress *p)
{
    uint32_t round = wf_load_relaxed(&p->rounds) + 1;

    wf_store_relaxed(&p->rounds, round);
    return round;
}

/* Wake waiters after an event outside of polling (a message to oneself). Only
 * where several threads may be inside can one be asleep meanwhile, so callers
 * check wf->api.on first. */
static inline void wf_progress_notify(struct wf_instance *wf)
{
    if (wf->progress && wf_unlikely(!wf_list_empty(&wf->progress->waiters)))
        wf_waiters_notify(wf);
}

struct wf_wait_cause;

/* True if there are more ranks on this host than CPUs, be it by the affinity
 * mask or by the quota of a cgroup. */
bool wf_progress_is_oversubscribed(struct wf_instance *);

/* Poll on behalf of a call that does not wait (MPI_Test, MPI_Iprobe). Also
 * polls other engines and, where there are more ranks than CPUs, gives the CPU
 * away if the program calls time and again; leaves the section meanwhile.
 * cause: what the program asks for, for the state page (state.h). */
int wf_progress_poll_for_test(struct wf_instance *, uint32_t mask,
                              const struct wf_wait_cause *cause);

/* Poll other engines, now and then; leaves the section meanwhile. For calls
 * that poll once. */
void wf_progress_poll_others(struct wf_instance *);

/* Let the other threads on this CPU run once, where ranks outnumber CPUs and no
 * thread shares the section. False: that is not so, or it took too long to be
 * worth another try. */
bool wf_progress_yield_cpu(struct wf_instance *);

/* Poll, spin and sleep until done(arg) is true. mask: the event sources that
 * can make it true. Enters and returns with the API section held; leaves it
 * while it sleeps. cause: what the caller waits for, reported to the launcher
 * before the sleep (state.h); NULL: only the name of the call is reported. */
void wf_progress_wait(struct wf_instance *, uint32_t mask, bool (*done)(void *),
                      void *arg, const struct wf_wait_cause *cause);

/* Serve peers until fd (if >= 0) becomes readable, or else until done(arg), or
 * until the deadline (0: none). For conditions no endpoint announces: sleeps
 * are short. True unless the deadline passed. API section held throughout. */
bool wf_progress_poll_until(struct wf_instance *, int fd, bool (*done)(void *),
                            void *arg, uint64_t deadline);

/* The same until done(arg), at most as long as closing may take
 * (core.close_timeout). */
bool wf_progress_poll_at_end(struct wf_instance *, bool (*done)(void *),
                             void *arg);

#endif
