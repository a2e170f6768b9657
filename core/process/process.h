/* The record of an MPI process as the program sees it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROCESS_H
#define WF_PROCESS_H

#include <sys/types.h>

#include "base.h"
#include "lock/critical.h"
#include "process/state.h"

struct wf_boot;
struct wf_instance;
struct wf_ranks; /* process/ranks.h */

/* The error codes that the program has added. The rest of the structure is in
 * object/error_user.c, which is linked only into programs that add some. */
struct wf_error_codes {
    void (*free)(struct wf_error_codes *);
};

enum wf_phase { WF_PHASE_BEFORE, WF_PHASE_INSIDE, WF_PHASE_AFTER };

/* An MPI process as the program sees it: the process of the operating system,
 * or a thread of it that is a rank (core/thread). It holds what MPI lets a
 * program use before MPI_Init and after MPI_Finalize (MPI-5.0 s11.4.1), and
 * counts the users of the instance in between. */
struct wf_process {
    struct wf_lock lock; /* protects codes */
    struct wf_error_codes *codes;
    wf_atomic_u32 phase;    /* enum wf_phase: the world model's */
    wf_atomic_u32 starting; /* some thread is inside MPI_Init */
    struct {                /* env/start.c */
        struct wf_lock lock;
        struct wf_instance *instance; /* in use or idle */
        unsigned users;
        struct wf_boot *boot; /* left by a start that failed, for the next */
        pid_t registered;     /* the process that has end_at_exit registered */
    } start;
    wf_atomic_u32 acts_for_threads; /* threads that are no rank act as one */
    struct wf_ranks *ranks;         /* of a rank thread: those of its process */
    uint32_t slot;                  /* which of them this is */
    struct wf_state state;          /* report/state.h */
    /* The tool that observes events, in the record of the process only:
     * report/trace_note.h; NULL: none does. */
    const struct wf_observer *_Atomic observer;
    /* How many have asked for the times of calls, there, too:
     * report/call_time.h. */
    wf_atomic_u32 call_timers;
};
extern struct wf_process wf_process_state WF_HIDDEN;
/* Points to the calling thread's own process record if the thread is a rank. */
extern _Thread_local struct wf_process *wf_thread_process WF_TLS_NEAR;

static inline struct wf_process *wf_process(void)
{
    struct wf_process *p = wf_thread_process;
    return wf_unlikely(p != NULL) ? p : &wf_process_state;
}

WF_LOCK_SECTION(codes, struct wf_process, lock, WF_RANK_CODES)
WF_LOCK_SECTION(start, struct wf_process, start.lock, WF_RANK_START)

#endif
