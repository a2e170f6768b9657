/* The instance: everything one MPI rank owns (no other global state).
 *
 * A process holds one instance, or several (simulation, thread-as-rank). The
 * only process-wide data are this registry, the built-in plugin table, and what
 * the program's Fortran compiler does (datatype/fortran.c).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_INSTANCE_H
#define WF_INSTANCE_H

#include <sys/types.h>

#include "boot/boot.h"
#include "comm/comm.h"
#include "progress/critical.h"
#include "progress/state.h"
#include "route/location.h"

struct wf_engine;   /* protocol/queues.h */
struct wf_block;    /* core/env/memory.c */
struct wf_progress; /* progress/progress.h */
struct wf_env;      /* core/env: keyvals, user error classes, Bsend buffer, … */
struct wf_auth_key; /* boot/auth.c */
struct wf_auth_session;
struct wf_type_named; /* datatype/named.h */
struct wf_type_f90;
struct wf_sched;    /* coll/schedule.h */
struct wf_engines;  /* engines.h */

struct wf_instance {
    struct wf_cs api; /* the critical section of this instance */
    struct wf_optional_section call_role, engine_role; /* critical.h */
    bool may_help; /* there is a helper thread, or may be: progress/helper.c */
    int thread_level; /* MPI_THREAD_* granted to the world model */
    uint32_t rank, nprocs;
    struct wf_boot *boot;
    struct wf_ranks *ranks; /* of this process, when it holds several */
    struct wf_state *state; /* page where it says what it waits for */
    struct wf_config *config;
    const struct wf_core_options *options;
    const struct wf_coll_rules *coll_rules; /* of mpi.ini: coll/choice.h */
    uint64_t node; /* hash that names this node */
    char host[256];
    uint32_t local_index, local_count; /* among the processes of this node */
    uint32_t cpus, own_cpus; /* that those may use; in the own affinity mask */

    struct weft_core eps[WF_EPS_MAX];
    int ep_count;
    struct { /* those that could not be opened, up to the first NULL */
        const struct wf_transport_config *transport;
        int error; /* WEFT_E* */
        char *why; /* or NULL */
    } left_out[WF_EPS_MAX];
    struct weft_loc **locs; /* [nprocs] */

    struct wf_comm *world, *self;
    struct wf_comm *ended[2]; /* those, held by requests that are not complete */
    uint32_t used;   /* endpoints that some process is reached through */
    uint32_t links;  /* times that one became reached through another */
    uint32_t held;   /* endpoints that hold sends back until they are polled */
    /* A plugin was told to stop reading, out of memory; or an ordered pair has
     * something to do: at the end of a poll. */
    bool rx_stalled;
    struct wf_ordered *orders; /* pairs whose route has failover */
    uint64_t damaged; /* containers whose checksum was wrong: checked.h */
    bool parting;            /* everything was acknowledged; links may go */
    struct wf_engine *engine;
    struct wf_progress *progress;
    struct wf_env *env;
    struct wf_block *blocks; /* of MPI_Alloc_mem: core/env/memory.c */
    struct wf_handle_ints *handle_ints; /* core/api/handle_int.h */
    struct wf_bsend_buffer *bsend; /* p2p/buffered.h */
    struct wf_auth_key *key;
    /* A handshake has been completed; NULL: no route encrypts. */
    void (*met)(struct weft_core *, uint32_t id, const struct wf_auth_session *);
    uint32_t shmcoll_units;          /* of its communicators: coll/shm/shmcoll.h */
    struct wf_flag_wait *flag_waits; /* LIFO: progress/progress.h */
    struct wf_sched *scheds; /* for reuse: coll/schedule.h */
    struct wf_temp *temps;   /* their scratch memory, for reuse */
    size_t temp_bytes;
    /* Schedules to be driven on when no plugin's progress is on the stack, for
     * they leave the API section; run at the end of a poll. */
    struct wf_sched *deferred;
    int (*run_deferred)(struct wf_instance *);
    struct wf_type_named *types; /* of predefined types: datatype/named.h */
    struct wf_type_f90 *f90_types; /* the same */
    bool large_call; /* a _c constructor of datatypes is running */
    /* Memory that a late message may still go to though its request is gone;
     * what is left at the end is freed. The link is first in each. */
    struct wf_list orphans;
    uint64_t (*now_ns)(void *clock); /* injectable */
    void *clock;
    /* Several engines of one rank (engines.h). home: of one beside the first,
     * the first. number: of the engine. engines: NULL while there is one. */
    struct wf_instance *home;
    unsigned number;
    struct wf_engines *_Atomic engines;
    bool lone; /* it could not have others */
    uint32_t losses; /* news of processes that are gone: protocol/death.h */
};

/* The first engine of the rank: it has what the rank has once. */
static inline struct wf_instance *wf_home(struct wf_instance *wf)
{
    return wf->home ? wf->home : wf;
}

/* WF_SECTION(api, wf) */
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

/* A call of point-to-point, and what it shares with others. */
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
/* For a call that may be submitted instead (protocol/submitted.h): false: others
 * are inside, and it is not entered. */
static inline bool wf_entered_engine(struct wf_instance *wf)
    WF_TRIES(wf->engine_role) WF_UNANALYSED
{
    if (WF_SUBMITS && wf->api.threads)
        return wf_cs_try_lock(&wf->api);
    wf_enter_engine(wf);
    return true;
}
WF_SCOPED_SECTION(engine, struct wf_instance, engine_role)

/* Error codes that the program adds; the rest is in core/env/error_user.c, which
 * only programs that do so have. */
struct wf_error_codes {
    void (*free)(struct wf_error_codes *);
};
struct wf_ranks;       /* core/thread/ranks.h */

enum wf_phase { WF_PHASE_BEFORE, WF_PHASE_INSIDE, WF_PHASE_AFTER };

/* An MPI process as the program sees it: the process of the operating system,
 * or a thread of it that is a rank (core/thread). What MPI lets a program use
 * before MPI_Init and after MPI_Finalize (MPI-5.0 s11.4.1), and who uses the
 * instance in between. */
struct wf_process {
    struct wf_lock lock; /* of codes */
    struct wf_error_codes *codes;
    wf_atomic_u32 phase;    /* enum wf_phase: the world model's */
    wf_atomic_u32 starting; /* some thread is inside MPI_Init */
    struct {                /* env/start.c */
        struct wf_lock lock;
        struct wf_instance *instance; /* in use or idle */
        unsigned users;
        struct wf_boot *boot; /* of a start that failed: for the next */
        pid_t registered; /* the process that has end_at_exit registered */
    } start;
    wf_atomic_u32 stand_in; /* a rank lets other threads act as it */
    struct wf_ranks *ranks; /* of a rank thread: those of its process */
    uint32_t slot;          /* which of them this is */
    struct wf_state state;  /* progress/state.h */
};
extern struct wf_process wf_process_state;
/* Set in threads that are ranks. */
extern _Thread_local struct wf_process *wf_thread_process WF_TLS_NEAR;

static inline struct wf_process *wf_process(void)
{
    struct wf_process *p = wf_thread_process;
    return wf_unlikely(p != NULL) ? p : &wf_process_state;
}

WF_LOCK_SECTION(codes, struct wf_process, lock, WF_RANK_CODES)
WF_LOCK_SECTION(start, struct wf_process, start.lock, WF_RANK_START)

/* What a new instance is made of. Ownership of boot and config passes over. */
struct wf_instance_params {
    struct wf_boot *boot;
    struct wf_config *config;
    struct wf_ranks *ranks; /* NULL: the process holds one rank */
    bool threads; /* several of them may be inside at a time */
    uint64_t (*now_ns)(void *clock); /* NULL: CLOCK_MONOTONIC */
    void *clock;
};

/* Init calls in order, mirror ladder on failure (core/instance.c). The world's
 * communicators come with wf_world_begin (comm/comm.h). */
int wf_instance_create(const struct wf_instance_params *,
                       struct wf_instance **out);
/* Orderly end: drains, says goodbye, frees everything. */
int wf_instance_destroy(struct wf_instance *);
/* Threads may be inside from now on; nobody is. */
void wf_instance_share(struct wf_instance *);
/* An engine beside the first (engines.h), with all its transports, or an error.
 * The other closes at once. */
int wf_instance_open_beside(struct wf_instance *home, unsigned number,
                            struct wf_instance **out);
void wf_instance_close_beside(struct wf_instance *);

/* Whether the transports have taken everything (arg: the instance). */
bool wf_lanes_empty(void *arg);

/* The calling thread's instance, or NULL while nobody uses one
 * (env/start.h). */
extern struct wf_instance *_Atomic wf_process_instance;
extern _Thread_local struct wf_instance *wf_thread_instance WF_TLS_NEAR;

static inline struct wf_instance *wf_current(void)
{
    struct wf_instance *wf = wf_thread_instance;
    return wf_unlikely(wf != NULL) ? wf : wf_load_acquire(&wf_process_instance);
}

/* Print the message, tell the launcher, end the process; never returns. */
void wf_abort(struct wf_instance *, int code, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 3, 4)));

static inline uint64_t wf_now(struct wf_instance *wf)
{
    return wf->now_ns(wf->clock);
}

#endif
