/* The state that a rank reports to its launcher: its waits (state_page.h).
 *
 *   binding   wf_call_name = "MPI_Recv"       calls that may wait
 *   waiter    spins, yields; before it sleeps:
 *             wf_state_begin -> describe -> a slot of the page
 *             ... sleeps ...
 *             wf_state_end
 *
 * DESIGN  Nothing is written while spinning was enough, so a message that comes
 * soon costs nothing. A waiter passes a function that describes the wait; it is
 * called on the way to sleep only, inside the API section.
 *
 * THREADS  any; a slot belongs to one thread. Without a page (another launcher,
 * or none) everything does nothing.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_STATE_H
#define WF_STATE_H

#include "progress/state_page.h"

struct wf_comm;
struct wf_instance;
struct wf_process;
struct wf_req;

/* Name of the MPI function that this thread has called last of those that may
 * wait (core/api/rules.py, NAMED), as a constant string. */
extern _Thread_local const char *wf_call_name
    __attribute__((tls_model("initial-exec")));
/* The large-count form of it was called: where the core function leaves the name,
 * so that a call that moves nothing does without (core/api/forms.py). */
extern _Thread_local bool wf_call_large
    __attribute__((tls_model("initial-exec")));

/* A wait as its owner describes it; all unknown at first. */
struct wf_wait {
    const char *call; /* instead of wf_call_name */
    enum wf_state_operation operation;
    const struct wf_comm *comm;
    bool local; /* peer is a rank of the local group */
    int64_t peer, tag; /* WF_STATE_ANY: a wildcard; INT64_MAX: unknown */
    uint32_t process;  /* of the job, where there is no communicator */
    uint64_t bytes, number, active, count;
};

struct wf_wait_cause {
    void (*describe)(const void *arg, struct wf_wait *);
    const void *arg;
};

/* The page of a rank, mapped. */
struct wf_state {
    struct wf_state_head *head; /* NULL: there is none */
    uint32_t place;             /* of this rank in its process */
};

/* Map the page that the launcher made, if there is one and it is not mapped
 * yet. */
void wf_state_open(struct wf_process *);
void wf_state_close(struct wf_process *);
void wf_state_phase(struct wf_process *, enum wf_state_phase);

/* This thread is about to sleep; cause NULL: nothing is known but the call. The
 * slot to be ended; NULL: there is none. */
struct wf_state_slot *wf_state_begin(struct wf_instance *,
                                     const struct wf_wait_cause *);
/* The same before there is an instance, or after. */
struct wf_state_slot *wf_state_begin_outside(struct wf_process *,
                                             enum wf_state_operation);
void wf_state_end(struct wf_state_slot *);

/* The program has asked `vain` times in a row for what has not happened. */
void wf_state_polled(struct wf_instance *, const struct wf_wait_cause *,
                     uint32_t vain);

/* Describe the wait for one request. */
void wf_state_describe_request(const struct wf_req *, struct wf_wait *);

#endif
