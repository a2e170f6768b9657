/* Counters of general active target synchronisation among members that have
 * mapped each other's headers: MPI_Win_post, start, complete and wait.
 *
 *   target                                   origin
 *   post      pair word in the header of
 *             each origin, + 1               start    waits for the pair word
 *                                                     of each target, takes 1
 *   wait      waits until its own count      complete count in the header of
 *             has grown by the group                  each target, + 1
 *
 * DESIGN  A post needs a word per pair, since a member that is not in the group
 * of this start may have posted for a later one. Completions need only one
 * count: an origin cannot complete twice before the target has waited and
 * posted again. Counts wrap around; only differences count. Each add releases
 * the accesses before it, and each wait acquires them.
 *
 * LOCK  The calls of one member are made one at a time. Words `started` and
 * `expected` are its own.
 *
 * ERRORS  Those that the caller's wait returns: a member is gone.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_COUNTERS_H
#define WF_RMA_COUNTERS_H

#include "rma/header.h"

/* Begins an exposure of `own` to n origins. Each is told by
 * wf_rma_post_to. */
void wf_rma_expose(struct wf_rma_header *own, uint32_t n);
/* Tells one origin, whose header it is, that `me` is exposed. */
void wf_rma_post_to(struct wf_rma_header *origin, uint32_t origin_id,
                    uint32_t me, const struct wf_rma_waiting *);

/* Waits until `target` has posted to `own`, and consumes that. */
int wf_rma_start_with(struct wf_rma_header *own, uint32_t target,
                      const struct wf_rma_waiting *);
/* Tells whether wf_rma_start_with would return at once. */
bool wf_rma_has_posted(struct wf_rma_header *own, uint32_t target);

/* Tells one target that the accesses of this process are complete. */
void wf_rma_complete_at(struct wf_rma_header *target, uint32_t target_id,
                        const struct wf_rma_waiting *);

/* Waits until all origins of the exposure have completed; tells whether they
 * have. */
int wf_rma_wait_exposed(struct wf_rma_header *own,
                        const struct wf_rma_waiting *);
bool wf_rma_is_exposure_over(struct wf_rma_header *own);

#endif
