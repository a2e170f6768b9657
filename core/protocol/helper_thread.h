/* The record of a progress thread, which helper.c runs and to which
 * helper_requests.c leaves operations.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_HELPER_THREAD_H
#define WF_HELPER_THREAD_H

#include <pthread.h>

#include "progress/wait.h"

/* LOCK  the API section, but for stop, attends, pause_ns, pausing_ns and
 *       seen_round, which are hints or stand alone. */
struct wf_helper {
    struct wf_helper *next; /* of the same engine */
    struct wf_instance *wf;
    pthread_t thread;
    uint32_t mask; /* the event sources that it drives */
    /* It acts at any time, and not only for operations that are left to it. */
    bool resident;
    wf_atomic_u32 attends; /* the same for now: calls of wf_helper_attend */
    bool armed;         /* asleep on its sources, or about to be */
    bool parked;        /* asleep until it is called */
    bool timed_out;     /* no event ended its last sleep */
    bool has_spare_cpu; /* there are more CPUs than processes */
    wf_atomic_u32 stop;
    wf_atomic_u32 seen_round; /* the program's poll round of its last check */
    wf_atomic_u32 pause_ns;   /* the length of the next pause */
    wf_atomic_u32 pausing_ns; /* of the present pause; 0: none, or it is over */
    int timer;                /* set by callers: ends any sleep */
    uint32_t suspended_bias;  /* of the section, while the thread is inside */
};

/* Start the progress thread for operations that are left to it, if there is
 * none. False: there will never be one. */
bool wf_helper_ensure(struct wf_instance *);

/* Returns true if the thread acts at any time. */
static inline bool wf_helper_is_resident(const struct wf_helper *h)
{
    return h->resident || wf_load_relaxed(&h->attends);
}

/* Let the thread poll in ns, unless the program polls before that. */
void wf_helper_set_wake_time(struct wf_helper *, uint32_t ns);

#endif
