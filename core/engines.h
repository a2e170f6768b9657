/* Several engines in one rank, so that threads on different communicators share
 * nothing.
 *
 *   rank -- engine 0: the instance, with what the rank has once (home)
 *        |    MPI_COMM_WORLD, MPI_COMM_SELF, every 1st of n communicators
 *        +- engine 1: an instance beside it ... every 2nd
 *        +- ...
 *
 * An engine has its own endpoints, Locations, queues, requests, sleepers and API
 * section; it shares the configuration, the launcher's connection, the key and
 * the environment (env/env.h) with the first. A communicator is on one engine
 * for good: comm->wf. So is everything that belongs to it (messages, requests,
 * schedules), and order, wildcards and matching never see another engine.
 *
 * DESIGN  Engines are made when the first communicator is derived at
 * MPI_THREAD_MULTIPLE, before its members agree on the context id; with the id
 * they agree how many they all have, and the id then tells the engine. An
 * engine has a card of its own ("weft.card.RANK.NUMBER"), so its peers are the
 * engines of the same number.
 *
 * A thread is inside the section of one engine at a time, never of two. What has
 * to happen in another one is put to it as an errand.
 *
 * Reached through a table, so that programs without derived communicators hold
 * none of this.
 *
 * LOCK  section errands: the queues of errands; section boot: the launcher's
 *       connection, once there are several. The rest does not change once the
 *       table is there.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ENGINES_H
#define WF_ENGINES_H

#include "instance.h"

enum { WF_ENGINES_MAX = 8 };

/* To be done inside another engine's section, by whoever polls there next. */
struct wf_errand {
    struct wf_errand *next;
    void (*run)(struct wf_errand *);
    bool posted; /* LOCK section errands */
};

struct wf_errands {
    wf_atomic_u32 due; /* the queue is not empty */
    struct wf_errand *first, **last;
};

/* What wait.c and the bindings need where there are several. */
struct wf_engines_ops {
    /* Poll the other engines where nobody is; leaves the section meanwhile. */
    void (*poll)(struct wf_instance *);
    /* A leader's sleep: on its own engine's descriptors and on those of engines
     * that nobody looks after. Section left. Returns how many milliseconds nothing
     * happened. */
    int (*sleep)(struct wf_instance *, int timeout);
    /* Run what was put to this engine. True: there was something. */
    bool (*errands)(struct wf_instance *);
    void (*post)(struct wf_instance *to, struct wf_errand *);
    /* At the end of the first. */
    void (*free)(struct wf_instance *home);
    /* Requests of several engines: p2p/mixed.c. The first tells whether they are,
     * and else names the one. */
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
    unsigned count;                          /* with the first */
    struct wf_instance *all[WF_ENGINES_MAX]; /* by number */
    struct wf_lock boot; /* the connection to the launcher */
    struct wf_lock lock;
    struct wf_errands errands[WF_ENGINES_MAX];
    wf_atomic_u32 seen[WF_ENGINES_MAX][WF_ENGINES_MAX]; /* progress/other_engines.c */
    int nap[WF_ENGINES_MAX]; /* the same; of the leader of each */
};
WF_LOCK_SECTION(boot, struct wf_engines, boot, WF_RANK_BOOT)
WF_LOCK_SECTION(errands, struct wf_engines, lock, WF_RANK_TASKS)

/* NULL: there is one engine. */
static inline struct wf_engines *wf_engines(struct wf_instance *wf)
{
    /* pairs with the release in engines.c */
    return wf_load_acquire(&wf->engines);
}

/* The engine of a communicator with this context id, where its members have
 * `count` of them: in turn, and MPI_COMM_WORLD's first children one each. */
static inline unsigned wf_engine_for(uint32_t context, unsigned count)
{
    enum { FIRST_DERIVED = 2 }; /* after world and self: comm/context.h */
    return (context - FIRST_DERIVED + 1) % count;
}

/* What a member with so many says when they agree, a bit for each: what is left of
 * the words of all is the word of those who have fewest. */
static inline uint64_t wf_engines_word(unsigned count)
{
    return (UINT64_C(1) << count) - 1;
}

static inline unsigned wf_engines_common(uint64_t words)
{
    return words ? (unsigned)__builtin_popcountll(words) : 1;
}

/* Engine `number` of wf's rank. */
static inline struct wf_instance *wf_engine(struct wf_instance *wf,
                                            unsigned number)
{
    return number == wf->number ? wf : wf_engines(wf)->all[number];
}

/* How many engines this rank has; they are made when they are wanted and not
 * there yet. The section of wf is held. */
unsigned wf_engines_ready(struct wf_instance *wf);
/* Where cards are exchanged at start only: make them then, if they are wanted.
 * NULL in a static program that derives no communicator. */
void wf_engines_early(struct wf_instance *home) __attribute__((weak));

/* From the section of one engine into that of another of the same rank. */
static inline void wf_engine_switch(struct wf_instance *from,
                                    struct wf_instance *to) WF_UNANALYSED
{
    if (from == to)
        return;
    wf_leave_api(from);
    wf_enter_api(to);
}

/* Run e in the section of `to`, soon. Inside another engine's section; e is not
 * the caller's until it has run. */
static inline void wf_errand_post(struct wf_instance *to, struct wf_errand *e)
{
    wf_engines(to)->ops->post(to, e);
}
/* Take it back, if it has not run. */
void wf_errand_cancel(struct wf_instance *to, struct wf_errand *e);

bool wf_errands_run(struct wf_instance *);
void wf_errands_put(struct wf_instance *to, struct wf_errand *);
void wf_engines_free(struct wf_instance *home);

extern const struct wf_engines_ops wf_engines_ops WF_HIDDEN; /* p2p/mixed.c */
void wf_other_engines_poll(struct wf_instance *);  /* progress/other_engines.c */
int wf_other_engines_sleep(struct wf_instance *, int timeout);

/* p2p/completion.c: one turn for requests that are not done, all of this engine;
 * true: all are complete. call: the function that asks. Section held. */
bool wf_requests_ready(struct wf_instance *, const char *call, int n,
                       const MPI_Request *);

#endif
