/* A lock stripe is a short lock of all locations of a kilobyte of window
 * memory, and of those 64 KB further on, and so on.
 *
 *   offset in the window >> 10, modulo WF_RMA_STRIPES
 *
 * DESIGN  An element belongs to the stripe of its first byte, wherever it ends:
 * two accesses that MPI makes atomic to each other begin at the same byte. The
 * offset is that of the window and not an address, as each process has mapped
 * the memory elsewhere. Holds last as long as a kilobyte takes, so a waiter
 * spins, gives its CPU away, and asks now and then whether the owner is gone:
 * then it takes the stripe over. Elements that the dead owner was writing may
 * be old or new, or torn where they are wider than a word.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_STRIPE_H
#define WF_RMA_STRIPE_H

#include <sched.h>

#include "rma/header.h"

enum {
    /* A sum of 64 KB of doubles took 590 ns by holds of 1 KB, 510 by 4 KB, 480
     * by one hold (Zen 5): a smaller piece lets neighbours be independent. */
    WF_RMA_STRIPE_BYTES = 1024,
    /* Looks before a waiter gives its CPU away, a kilobyte's time; yields
     * between two questions whether the owner is gone. Not measured. */
    WF_RMA_STRIPE_SPINS = 64,
    WF_RMA_STRIPE_YIELDS = 64
};

/* The atomicity domain of a window's memory, as one process sees it. */
struct wf_rma_domain {
    uintptr_t base; /* the address here of the window's first byte: the same
                       in all processes modulo 64 */
    struct wf_rma_stripe *stripes; /* of the member whose memory it is */
    uint32_t me;                   /* this member + 1 */
    bool bulk; /* integers use stripes, too; the same for all members */
    bool (*is_dead)(void *arg, uint32_t member);
    void *arg;
};

static inline struct wf_rma_stripe *
wf_rma_stripe_of(const struct wf_rma_domain *d, const void *location)
{
    uintptr_t piece = ((uintptr_t)location - d->base) / WF_RMA_STRIPE_BYTES;

    return &d->stripes[piece % WF_RMA_STRIPES];
}

/* Takes the stripe from an owner that is gone. */
static inline bool wf_rma_stripe_recover(struct wf_rma_stripe *s,
                                         const struct wf_rma_domain *d)
{
    uint32_t owner = wf_load_relaxed(&s->owner);

    return owner && d->is_dead(d->arg, owner - 1) &&
           wf_cas_acq_rel(&s->owner, &owner, d->me);
}

/* Enters a stripe that was not free. */
static inline void wf_rma_stripe_wait(struct wf_rma_stripe *s,
                                      const struct wf_rma_domain *d)
{
    for (uint32_t looks = 1;; looks++) {
        uint32_t free_word = 0;

        if (!wf_load_relaxed(&s->owner) &&
            wf_cas_acq_rel(&s->owner, &free_word, d->me))
            return; /* pairs with wf_rma_stripe_leave */
        wf_cpu_relax();
        if (looks % WF_RMA_STRIPE_SPINS)
            continue;
        if (looks % (WF_RMA_STRIPE_SPINS * WF_RMA_STRIPE_YIELDS) == 0 &&
            wf_rma_stripe_recover(s, d))
            return;
        sched_yield();
    }
}

static inline void wf_rma_stripe_enter(struct wf_rma_stripe *s,
                                       const struct wf_rma_domain *d)
{
    uint32_t free_word = 0;

    WF_ASSERT(d->me > 0);
    if (!wf_cas_acq_rel(&s->owner, &free_word, d->me)) /* as above */
        wf_rma_stripe_wait(s, d);
}

static inline void wf_rma_stripe_leave(struct wf_rma_stripe *s)
{
    wf_store_release(&s->owner,
                     0); /* pairs with wf_rma_stripe_enter and _wait */
}

#endif
