/* Event sources: registration with the progress engine, and their bits in the
 * masks by which a waiter chooses what it polls in each round.
 *
 *   bit  0 .. 15   the endpoints, by their numbers
 *       16 .. 30   other sources, while they are registered
 *            31    all sources for which no bit was left
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROGRESS_SOURCE_H
#define WF_PROGRESS_SOURCE_H

#include "process/event_source.h"

struct wf_instance;

enum {
    WF_SOURCE_BITS = 32,
    WF_SOURCE_BIT_SHARED = WF_SOURCE_BITS - 1,
    WF_SOURCE_BIT_ANY = -1 /* one that is free, or the shared one */
};

/* All endpoints, and no other source. */
#define WF_SOURCES_ENDPOINTS ((UINT32_C(1) << WF_EPS_MAX) - 1)

/* Register a source with the progress engine. bit: the endpoint's number, or
 * WF_SOURCE_BIT_ANY. The caller polls before it leaves MPI, or calls
 * wf_progress_end_polling, so that a thread that sleeps meanwhile sleeps on
 * this source, too. 0, or WEFT_ESYS (errno says why): its descriptor cannot be
 * slept on, and it is not registered. */
int wf_source_add(struct wf_instance *, struct wf_event_source *, int bit);

/* Remove a source, if it is registered: it is not polled, armed or slept on any
 * more. Before its descriptor is closed. */
void wf_source_remove(struct wf_instance *, struct wf_event_source *);

/* Tell the progress engine where it is counted what comes from a source that is
 * registered, also what is taken past its poll(). */
void wf_source_count_arrivals(struct wf_instance *,
                              const struct wf_event_source *,
                              const uint64_t *count);

/* The mask of a waiter that polls this source in each round. */
static inline uint32_t wf_source_mask(const struct wf_event_source *s)
{
    return UINT32_C(1) << s->bit;
}

struct wf_progress;

/* Prepare for the first source. */
void wf_sources_init(struct wf_progress *);

/* Arm a source. False: it has news. *timeout: shortened so that the sleep ends
 * when the source wants to be polled; -1 is for ever. */
bool wf_source_arm(struct wf_instance *, struct wf_event_source *,
                   int *timeout);

#endif
