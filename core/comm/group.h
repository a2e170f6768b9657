/* Groups: ordered sets of processes, numbered by Location id.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_GROUP_H
#define WF_GROUP_H

#include "handle.h"

struct wf_group {
    struct wf_object object;
    struct wf_instance *wf;
    struct wf_session *session; /* it came from, referenced; NULL: world model */
    int size;
    int rank;       /* of this process, or MPI_UNDEFINED */
    uint32_t first; /* procs == NULL: rank i is Location first + i * stride */
    int32_t stride;
    uint32_t *procs; /* Location id of each rank, or NULL when regular */
};

static inline uint32_t wf_group_proc(const struct wf_group *g, int rank)
{
    return g->procs ? g->procs[rank]
                    : g->first + (uint32_t)(rank * g->stride);
}

void wf_group_get(struct wf_group *);
/* The new group came from the same session as `from` (env/session.h). */
void wf_group_join_session(struct wf_group *, struct wf_session *);
void wf_group_put(struct wf_group *);
/* Takes ownership of procs (malloc'ed, size entries). NULL: out of memory. */
struct wf_group *wf_group_create(struct wf_instance *, int size,
                                 uint32_t *procs);
/* The group of Locations first, first + stride, … */
struct wf_group *wf_group_regular(struct wf_instance *, int size,
                                  uint32_t first, int32_t stride);
/* Rank of a Location in the group, or MPI_UNDEFINED. Linear in the size of an
 * irregular group. */
int wf_group_rank_of(const struct wf_group *, uint32_t proc);

/* The same in constant time, for many look-ups in one group. */
struct wf_group_index {
    const struct wf_group *group;
    uint32_t size;
    int *rank_of; /* rank + 1 of each Location, 0: not a member */
};
/* False: out of memory. wf_group_index_free in either case. */
bool wf_group_index(struct wf_group_index *, const struct wf_group *);
int wf_group_lookup(const struct wf_group_index *, uint32_t proc);
void wf_group_index_free(struct wf_group_index *);

bool wf_group_same_order(const struct wf_group *, const struct wf_group *);
/* MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL in *result; an MPI error class. */
int wf_group_compare(struct wf_group *, struct wf_group *, int *result);

#endif
