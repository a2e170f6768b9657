/* A fair mutex: tickets in arrival order, short spin, then futex.
 *
 * Fairness matters because a thread that polls for messages leaves and
 * re-enters at once; a plain mutex would starve the others.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MUTEX_H
#define WF_MUTEX_H

#include <stdbool.h>

#include "os/atomic.h"

struct wf_mutex {
    wf_atomic_u32 next;     /* ticket of the next to come */
    wf_atomic_u32 serving;  /* ticket that may enter; futex word */
    wf_atomic_u32 sleepers; /* threads asleep on serving */
};

void wf_mutex_wait(struct wf_mutex *, uint32_t ticket);
void wf_mutex_wake(struct wf_mutex *);

static inline void wf_mutex_lock(struct wf_mutex *m)
{
    uint32_t ticket = wf_add_acq_rel(&m->next, 1);
    /* pairs with the release in unlock */
    if (wf_load_acquire(&m->serving) != ticket)
        wf_mutex_wait(m, ticket);
}

static inline void wf_mutex_unlock(struct wf_mutex *m)
{
    wf_store_release(&m->serving, wf_load_relaxed(&m->serving) + 1);
    wf_fence_full(); /* pairs with the fence in wait: serving, then sleepers */
    if (wf_load_relaxed(&m->sleepers))
        wf_mutex_wake(m);
}

/* Enter if nobody is inside or waits. */
static inline bool wf_mutex_try(struct wf_mutex *m)
{
    /* pairs with the release in unlock */
    uint32_t ticket = wf_load_acquire(&m->serving);

    return wf_cas_acq_rel(&m->next, &ticket, ticket + 1);
}

static inline bool wf_mutex_contended(struct wf_mutex *m)
{
    return wf_load_relaxed(&m->next) != wf_load_relaxed(&m->serving) + 1;
}

#endif
