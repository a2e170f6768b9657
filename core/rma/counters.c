/* Counters of general active target synchronisation: see counters.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/counters.h"

void wf_rma_expose(struct wf_rma_header *own, uint32_t n)
{
    uint32_t expected = wf_load_relaxed(&own->exposure.expected);

    wf_store_relaxed(&own->exposure.expected, expected + n);
}

void wf_rma_post_to(struct wf_rma_header *origin, uint32_t origin_id,
                    uint32_t me, const struct wf_rma_waiting *w)
{
    WF_ASSERT(me < origin->members);
    /* pairs with wf_rma_has_posted */
    (void)wf_add_acq_rel(&origin->pairs[me].posted, 1);
    w->wake(w->arg, origin_id);
}

bool wf_rma_has_posted(struct wf_rma_header *own, uint32_t target)
{
    struct wf_rma_pair *p = &own->pairs[target];

    WF_ASSERT(target < own->members);
    /* pairs with wf_rma_post_to */
    return wf_load_acquire(&p->posted) != wf_load_relaxed(&p->started);
}

int wf_rma_start_with(struct wf_rma_header *own, uint32_t target,
                      const struct wf_rma_waiting *w)
{
    struct wf_rma_pair *p = &own->pairs[target];
    uint32_t started = wf_load_relaxed(&p->started);

    while (!wf_rma_has_posted(own, target)) {
        int rc = w->wait(w->arg, &p->posted, started, target);

        if (rc)
            return rc;
    }
    wf_store_relaxed(&p->started, started + 1);
    return MPI_SUCCESS;
}

void wf_rma_complete_at(struct wf_rma_header *target, uint32_t target_id,
                        const struct wf_rma_waiting *w)
{
    /* pairs with read_missing */
    (void)wf_add_acq_rel(&target->exposure.completed, 1);
    w->wake(w->arg, target_id);
}

/* Returns how many completions are missing. */
static uint32_t read_missing(struct wf_rma_header *own, uint32_t *completed)
{
    *completed = wf_load_acquire(&own->exposure.completed);
    return wf_load_relaxed(&own->exposure.expected) - *completed;
}

bool wf_rma_is_exposure_over(struct wf_rma_header *own)
{
    uint32_t completed;

    return read_missing(own, &completed) == 0;
}

int wf_rma_wait_exposed(struct wf_rma_header *own,
                        const struct wf_rma_waiting *w)
{
    uint32_t completed;

    while (read_missing(own, &completed) > 0) {
        int rc = w->wait(w->arg, &own->exposure.completed, completed,
                         WF_RMA_ANY_MEMBER);

        if (rc)
            return rc;
    }
    return MPI_SUCCESS;
}
