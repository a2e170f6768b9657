/* Several engines in one rank, so that threads on different communicators, and
 * real-time channels, share nothing.
 *
 *   rank -- engine 0: the instance, with all that the rank has once (home)
 *        |    MPI_COMM_WORLD, MPI_COMM_SELF, every 1st of n communicators
 *        +- engine 1: a further instance     ... every 2nd
 *        +- ...
 *        +- engine 8: of a channel           ... one communicator
 *
 * An engine has its own endpoints, locations, queues, requests, sleepers and
 * API section; it shares the configuration, the launcher's connection, the key
 * and the environment (object/env.h) with the first. A communicator is on one
 * engine for good: comm->wf. So is everything that belongs to it (messages,
 * requests, schedules), and order, wildcards and matching never see another
 * engine.
 *
 * DESIGN  Engines are opened when the first communicator is derived at
 * MPI_THREAD_MULTIPLE, before its members agree on the context id. Together
 * with the id they agree on the number of engines that all of them have, and
 * the id then determines the engine. An engine has a business card of its own
 * ("weft.card.RANK.NUMBER"), so its peers are the engines of the same number.
 * The engine of a channel (comm/channel.h) is opened when its communicator is
 * made, at any thread level, and no other communicator is on it.
 *
 * A thread is inside the section of one engine at a time, never of two. It has
 * work done in another engine by posting a cross-engine task to it.
 *
 * The functions are reached through a table, so that programs without derived
 * communicators contain none of this code.
 *
 * LOCK  section tasks: the queues of tasks; section boot and launcher_busy: the
 *       launcher's connection, once there are several engines (launcher.h);
 *       section objects of the environment: which channels are taken. Engines
 *       of channels are added while others run, and stay. The rest does not
 *       change once the table is published.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ENGINES_H
#define WF_ENGINES_H

#include "process/rank.h"

enum {
    WF_ENGINES_MAX = 8, /* engines that communicators are dealt to */
    /* Engines of channels; their numbers follow. Not more than the bits that
     * the agreement on a context id has for them (comm/context.c). */
    WF_CHANNELS_MAX = 6,
    WF_ENGINES_ALL = WF_ENGINES_MAX + WF_CHANNELS_MAX
};

/* A cross-engine task is a function that runs inside another engine's section,
 * called by the thread that polls there next. */
struct wf_engine_task {
    struct wf_engine_task *next;
    void (*run)(struct wf_engine_task *);
    bool posted; /* LOCK section tasks */
};

/* The queue of the tasks that were posted to one engine. */
struct wf_engine_tasks {
    wf_atomic_u32 due; /* the queue is not empty */
    struct wf_engine_task *first, **last;
};

/* The functions that make and end an engine; registered by the instance. */
struct wf_engine_makers {
    /* Opens engine `number` of the rank. Fails if it lacks a transport that the
     * first one has. */
    int (*open)(struct wf_instance *home, unsigned number,
                struct wf_instance **out);
    /* Closes an engine at once, without waiting for messages to leave. */
    void (*close)(struct wf_instance *);
};

/* The functions that wait.c and the bindings call where there are several
 * engines. */
struct wf_engines_ops {
    /* Polls the other engines in whose sections no thread is; leaves the
     * caller's section meanwhile. */
    void (*poll)(struct wf_instance *);
    /* The sleep of a leading waiter: on its own engine's descriptors and on
     * those of engines that no thread polls. Called with the section left.
     * Returns for how many milliseconds nothing happened. */
    int (*sleep)(struct wf_instance *, int timeout);
    /* Runs the tasks that were posted to this engine; true: there were some. */
    bool (*tasks)(struct wf_instance *);
    void (*post)(struct wf_instance *to, struct wf_engine_task *);
    /* Requests of several engines: p2p/several_engines.c. `several` tells
     * whether they are; if they are all of one, it stores that one. */
    bool (*several)(struct wf_instance **, int n, const MPI_Request *);
    int (*waitall)(struct wf_instance *, int, MPI_Request *, MPI_Status *);
    int (*waitany)(struct wf_instance *, int, MPI_Request *, int *,
                   MPI_Status *);
    int (*waitsome)(struct wf_instance *, int, MPI_Request *, int *, int *,
                    MPI_Status *);
    int (*testall)(struct wf_instance *, int, MPI_Request *, int *,
                   MPI_Status *);
    int (*testany)(struct wf_instance *, int, MPI_Request *, int *, int *,
                   MPI_Status *);
    int (*testsome)(struct wf_instance *, int, MPI_Request *, int *, int *,
                    MPI_Status *);
    int (*startall)(struct wf_instance *, int, MPI_Request *);
    int (*request_get_status_all)(struct wf_instance *, int,
                                  const MPI_Request *, int *, MPI_Status *);
    int (*request_get_status_any)(struct wf_instance *, int,
                                  const MPI_Request *, int *, int *,
                                  MPI_Status *);
    int (*request_get_status_some)(struct wf_instance *, int,
                                   const MPI_Request *, int *, int *,
                                   MPI_Status *);
};

struct wf_engines {
    const struct wf_engines_ops *ops;
    /* Closes all engines but the first; called when the first ends. */
    void (*free)(struct wf_instance *home);
    unsigned count; /* of those that are dealt, including the first */
    /* By number; NULL: not open. wf_engine_if_open reads it. */
    struct wf_instance *_Atomic all[WF_ENGINES_ALL];
    /* Channels of communicators, and on offer in an agreement, one bit each.
     * LOCK section objects */
    uint32_t channels_taken;
    /* When channels last polled the other engines, ns
     * (progress/other_engines.c). */
    uint64_t others_polled_at[WF_CHANNELS_MAX];
    struct wf_lock boot; /* waiting for an answer of the launcher */
    wf_atomic_u32 launcher_busy; /* its connection is in use: launcher.h */
    struct wf_lock lock;
    struct wf_engine_tasks tasks[WF_ENGINES_ALL];
    /* seen[i][j]: the poll rounds of j when i polled it
     * (progress/other_engines.c). */
    wf_atomic_u32 seen[WF_ENGINES_ALL][WF_ENGINES_ALL];
    /* How long the leading waiter of each engine sleeps
     * (progress/other_engines.c). */
    int nap[WF_ENGINES_ALL];
};
WF_LOCK_SECTION(boot, struct wf_engines, boot, WF_RANK_BOOT)
WF_LOCK_SECTION(tasks, struct wf_engines, lock, WF_RANK_TASKS)

/* Returns the table of the rank's engines; NULL while there is only one. */
static inline struct wf_engines *wf_engines(const struct wf_instance *wf)
{
    /* pairs with the release in engines.c */
    return wf_load_acquire(&wf->rank->engines);
}

/* Returns the engine of a communicator with this context id, whose members have
 * `count` engines. Engines are dealt in turn, so that the first children of
 * MPI_COMM_WORLD get one each. */
static inline unsigned wf_engine_for(uint32_t context, unsigned count)
{
    enum { FIRST_DERIVED = 2 }; /* after world and self: comm/context.h */
    return (context - FIRST_DERIVED + 1) % count;
}

/* Returns the mask that a member with `count` engines contributes to the
 * agreement, one bit for each. The bitwise AND of all masks is that of the
 * member with the fewest engines. */
static inline uint64_t wf_engines_mask(unsigned count)
{
    return (UINT64_C(1) << count) - 1;
}

/* Returns how many engines all members have, from the AND of their masks. */
static inline unsigned wf_engines_common(uint64_t words)
{
    return words ? (unsigned)__builtin_popcountll(words) : 1;
}

/* Returns engine `number` of a rank, which is less than WF_ENGINES_ALL; NULL:
 * it is not open. */
static inline struct wf_instance *wf_engine_if_open(struct wf_engines *all,
                                                    unsigned number)
{
    /* pairs with the release in comm/engines.c */
    return wf_load_acquire(&all->all[number]);
}

/* Returns engine `number` of wf's rank, which is open. */
static inline struct wf_instance *wf_engine(struct wf_instance *wf,
                                            unsigned number)
{
    return number == wf->number ? wf
                                : wf_engine_if_open(wf_engines(wf), number);
}

/* Returns the open engine of the rank that follows e by number; NULL: e is the
 * last one. So a loop from the first goes over all. */
static inline struct wf_instance *wf_engine_after(const struct wf_instance *e)
{
    struct wf_engines *all = wf_engines(e);
    struct wf_instance *next = NULL;

    for (unsigned i = e->number + 1; all && !next && i < WF_ENGINES_ALL; i++)
        next = wf_engine_if_open(all, i);
    return next;
}

/* Whether an engine is that of a channel. */
static inline bool wf_engine_is_channel(const struct wf_instance *wf)
{
    return wf->number >= WF_ENGINES_MAX;
}

/* Leave the section of one engine and enter that of another of the same
 * rank. */
static inline void wf_engine_switch(struct wf_instance *from,
                                    struct wf_instance *to) WF_UNANALYSED
{
    if (from == to)
        return;
    wf_leave_api(from);
    wf_enter_api(to);
}

/* Have e run soon in the section of `to`. Called inside another engine's
 * section. The caller may not change e before it has run. */
static inline void wf_engine_task_post(struct wf_instance *to,
                                       struct wf_engine_task *e)
{
    wf_engines(to)->ops->post(to, e);
}
/* Take a task back, if it has not run. */
void wf_engine_task_cancel(struct wf_instance *to, struct wf_engine_task *e);

bool wf_engine_tasks_run(struct wf_instance *);
void wf_engine_task_put(struct wf_instance *to, struct wf_engine_task *);

#endif
