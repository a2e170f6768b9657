/* Critical sections: the one header that knows the granularity of the build.
 *
 * Section API: one per instance, around every MPI call that touches the
 * engine. It is entered only at MPI_THREAD_MULTIPLE; lower levels pay one
 * test of a flag. A waiter leaves it while it sleeps and between polls.
 * User callbacks (error handlers, attribute functions, user operations) run
 * between wf_cs_leave and wf_cs_enter.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CRITICAL_H
#define WF_CRITICAL_H

#include <stdbool.h>

#include "os/mutex.h"

struct wf_cs {
    bool on; /* MPI_THREAD_MULTIPLE */
    struct wf_mutex mutex;
};

static inline void wf_cs_enter(struct wf_cs *cs)
{
    if (cs->on)
        wf_mutex_lock(&cs->mutex);
}

static inline void wf_cs_leave(struct wf_cs *cs)
{
    if (cs->on)
        wf_mutex_unlock(&cs->mutex);
}

/* Leave and re-enter when another thread waits to enter. */
static inline void wf_cs_yield(struct wf_cs *cs)
{
    if (cs->on && wf_mutex_contended(&cs->mutex)) {
        wf_mutex_unlock(&cs->mutex);
        wf_mutex_lock(&cs->mutex);
    }
}

#endif
