/* The instance: one engine of a rank, as all layers see it.
 *
 *   struct wf_process        what the process has once       process/process.h
 *     struct wf_rank         what a rank has once            process/rank.h
 *       struct wf_instance   what each of its engines has    this file
 *
 * A rank has one engine, or several (progress/engines.h); a process has one
 * rank, or several (simulation, ranks that are threads). The structures that
 * these point to belong to the layers above, which alone know what is in them:
 * a member that one layer needs goes there, not here. instance/instance.h makes
 * instances and ends them.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROCESS_INSTANCE_H
#define WF_PROCESS_INSTANCE_H

#include "lock/critical.h"

struct wf_coll_state; /* coll/state.h */
struct wf_comm;       /* group/comm.h */
struct wf_engine;     /* protocol/queues.h */
struct wf_links;      /* route/links.h */
struct wf_progress;   /* progress/wait.h */
struct wf_rank;       /* process/rank.h */
struct wf_trace;      /* report/trace.h */

struct wf_instance {
    struct wf_cs api; /* the critical section of this instance */
    struct wf_optional_section call_role, engine_role; /* critical.h */
    struct wf_rank *rank;         /* shared by all engines of the rank */
    struct wf_comm *world, *self; /* they are on the first engine only */
    unsigned number;              /* of this engine; the first is 0 */

    uint32_t held;   /* endpoints that hold sends back until they are polled */
    uint32_t losses; /* how often news of dead processes came: death.h */

    struct wf_progress *progress;    /* event sources, waiting threads */
    struct wf_links *links;          /* endpoints, locations */
    struct wf_engine *engine;        /* queues, requests */
    struct wf_coll_state *coll;      /* NULL: none is needed yet */
    struct wf_trace *trace;          /* of the rank; NULL: none is made */
    uint64_t (*now_ns)(void *clock); /* a simulation has its own */
    void *clock;
};

/* The section of WF_SECTION(api, wf). */
static inline void wf_enter_api(struct wf_instance *wf)
    WF_ENTERS(wf->api) WF_UNANALYSED
{
    wf_cs_enter(&wf->api);
}

static inline void wf_leave_api(struct wf_instance *wf)
    WF_LEAVES(wf->api) WF_UNANALYSED
{
    wf_cs_leave(&wf->api);
}
WF_SCOPED_SECTION(api, struct wf_instance, api)

/* The two sections of a point-to-point call, of which the build's granularity
 * (critical.h) makes one the lock: `call` is held around the whole call,
 * `engine` only around its access to the engine. */
static inline void wf_enter_call(struct wf_instance *wf)
    WF_ENTERS(wf->call_role) WF_UNANALYSED
{
    if (!WF_BRIEF)
        wf_cs_enter(&wf->api);
}

static inline void wf_leave_call(struct wf_instance *wf)
    WF_LEAVES(wf->call_role) WF_UNANALYSED
{
    if (!WF_BRIEF)
        wf_cs_leave(&wf->api);
}

static inline void wf_enter_engine(struct wf_instance *wf)
    WF_ENTERS(wf->engine_role) WF_UNANALYSED
{
    if (WF_BRIEF)
        wf_cs_enter(&wf->api);
}

static inline void wf_leave_engine(struct wf_instance *wf)
    WF_LEAVES(wf->engine_role) WF_UNANALYSED
{
    if (WF_BRIEF)
        wf_cs_leave(&wf->api);
}

WF_SCOPED_SECTION(engine, struct wf_instance, engine_role)

/* The instances that wf_current finds; NULL while none is in use
 * (env/start.h). */
extern struct wf_instance *_Atomic wf_process_instance;
extern _Thread_local struct wf_instance *wf_thread_instance WF_TLS_NEAR;

/* Returns the instance of the calling thread, or NULL. */
static inline struct wf_instance *wf_current(void)
{
    struct wf_instance *wf = wf_thread_instance;
    return wf_unlikely(wf != NULL) ? wf : wf_load_acquire(&wf_process_instance);
}

static inline uint64_t wf_now(struct wf_instance *wf)
{
    return wf->now_ns(wf->clock);
}

#endif
