/* The broadcast pool: a message to many members through shared buffers that all
 * have mapped.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_BCAST_POOL_H
#define WF_COLL_BCAST_POOL_H

#include "coll/shm/contribution.h"

/* Returns true if a message of so many bytes goes through the pool: the same on
 * all members. */
bool wf_bcast_pool_fits(const struct wf_comm *, uint64_t bytes);
/* Add the vertices of the root, which has the bytes after vertex `ready` (or
 * -1), and of each other member, which gets them. */
void wf_bcast_pool_put(struct wf_sched *, const struct wf_comm *, void *data,
                       uint64_t bytes, int ready);
void wf_bcast_pool_get(struct wf_sched *, const struct wf_comm *, void *data,
                       uint64_t bytes, int root);
/* Adds the vertices of a broadcast, whose arguments have been checked. */
void wf_bcast_pool_bcast(struct wf_sched *, const struct wf_coll_args *);
/* Returns true if elements, as they lie in memory, go through the pool. */
static inline bool wf_bcast_pool_fits_elements(const struct wf_comm *comm,
                                               const struct wf_type *type,
                                               uint64_t count)
{
    return wf_type_is_contiguous(type) && type->true_lb == 0 &&
           wf_bcast_pool_fits(comm, count * (uint64_t)type->size);
}

#endif
