/* The state that a rank reports to its launcher: what it waits for, in records
 * of the state page (state_page.h).
 *
 *   binding   wf_call_name = "MPI_Recv"       in calls that may wait
 *   waiter    spins, yields; before it sleeps:
 *             wf_state_begin_wait -> describe -> a slot of the page
 *             ... sleeps ...
 *             wf_state_end_wait
 *
 * DESIGN  Nothing is written while spinning was enough, so a message that comes
 * soon costs nothing. A waiter passes a function that describes the wait; it is
 * called on the way to sleep only, inside the API section.
 *
 * THREADS  Any thread may call these functions; a slot belongs to one thread.
 * Without a page (another launcher, or none) they do nothing.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_STATE_H
#define WF_STATE_H

#include "base.h"
#include "process/state.h"
#include "report/state_page.h"

struct wf_instance;
struct wf_process;

/* The name of the MPI function that this thread called last, of those that may
 * wait (core/api/rules.py, NAMED), as a constant string. */
extern _Thread_local const char *wf_call_name
    __attribute__((tls_model("initial-exec")));
/* More about the call of this thread. */
struct wf_call_now {
    /* It is of the large-count form, and its name is that of the int form with
     * "_c" appended (core/api/bindings.py). */
    bool large;
    uint64_t begun; /* report/call_time.h; 0: it is not timed */
    unsigned
        unpolled; /* calls of the thread that have not polled: rma/open.h */
};
extern _Thread_local struct wf_call_now wf_call_now
    __attribute__((tls_model("initial-exec")));

/* A description of a wait. All fields are unknown at first. */
struct wf_wait {
    const char *call; /* used instead of wf_call_name if not NULL */
    enum wf_state_operation operation;
    const char *comm;  /* the name of the communicator (or port), or NULL */
    uint64_t context;  /* its context id + 1; 0: there is none */
    int64_t peer, tag; /* WF_STATE_ANY: a wildcard; INT64_MAX: unknown */
    uint64_t process;  /* the peer's rank in the job, or WF_STATE_NOT_KNOWN */
    uint64_t bytes, number, active, count;
};

struct wf_wait_cause {
    void (*describe)(const void *arg, struct wf_wait *);
    const void *arg;
};

/* Map the page that the launcher made, if there is one and it is not mapped
 * yet. */
void wf_state_open(struct wf_process *);
void wf_state_close(struct wf_process *);
void wf_state_phase(struct wf_process *, enum wf_state_phase);

/* Record that this thread is about to sleep; cause NULL: only the call is
 * known. Returns the slot for wf_state_end_wait; NULL: there is no free one. */
struct wf_state_slot *wf_state_begin_wait(struct wf_instance *,
                                     const struct wf_wait_cause *);
/* Record a sleep before there is an instance, or after. Returns as
 * wf_state_begin_wait. */
struct wf_state_slot *wf_state_begin_outside(struct wf_process *,
                                             enum wf_state_operation);
void wf_state_end_wait(struct wf_state_slot *);

/* Record that the program has polled `failed_polls` times in a row without an
 * event. *polled: the slot for it, claimed at the first call. */
void wf_state_record_polls(struct wf_instance *, struct wf_state_slot **polled,
                           const struct wf_wait_cause *,
                           uint32_t failed_polls);

#endif
