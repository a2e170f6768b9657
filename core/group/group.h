/* A group is an ordered set of processes, each given by its number
 * (process/job.h), which is its Location id.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_GROUP_H
#define WF_GROUP_H

#include "object/handle.h"

struct wf_group {
    struct wf_object object;
    struct wf_instance *wf;
    struct wf_session *session; /* the session it came from, or NULL */
    int size;
    int rank;       /* rank of this process, or MPI_UNDEFINED */
    uint32_t first; /* procs == NULL: rank i is Location first + i * stride */
    int32_t stride;
    uint32_t *procs; /* Location id of each rank, or NULL when regular */
};

static inline uint32_t wf_group_proc(const struct wf_group *g, int rank)
{
    WF_ASSERT(rank >= 0 && rank < g->size);
    return g->procs ? g->procs[rank] : g->first + (uint32_t)(rank * g->stride);
}

/* Returns the name of a member, by which all processes call it. */
uint64_t wf_group_name(const struct wf_group *, int rank);

/* Returns whether a member is of another job. */
bool wf_group_has_others(const struct wf_group *);
/* Count a communicator that names the members, or (by = -1) its end. */
void wf_group_count_comm(const struct wf_group *, int by);

void wf_group_get(struct wf_group *);
/* Notes that the new group came from this session (object/session.h). */
void wf_group_join_session(struct wf_group *, struct wf_session *);
void wf_group_put(struct wf_group *);
/* Makes a group of the processes in procs (malloc'ed, size entries), which it
 * takes over. NULL: out of memory. */
struct wf_group *wf_group_create(struct wf_instance *, int size,
                                 uint32_t *procs);
/* Makes the group of Locations first, first + stride, … NULL: out of memory. */
struct wf_group *wf_group_create_regular(struct wf_instance *, int size,
                                  uint32_t first, int32_t stride);
/* Returns the rank of a Location in the group, or MPI_UNDEFINED. Takes time
 * linear in the size of an irregular group. */
int wf_group_rank_of(const struct wf_group *, uint32_t proc);

/* An index finds ranks in constant time, for many look-ups in one group. */
struct wf_group_index {
    const struct wf_group *group;
    uint32_t size;
    int *rank_of; /* rank + 1 of each Location, 0: not a member */
};
/* Builds the index. False: out of memory. Call wf_group_index_free in either
 * case. */
bool wf_group_index(struct wf_group_index *, const struct wf_group *);
int wf_group_lookup(const struct wf_group_index *, uint32_t proc);
void wf_group_index_free(struct wf_group_index *);

struct wf_group *wf_group_of(struct wf_instance *wf, MPI_Group handle);

MPI_Group wf_group_handle(struct wf_group *);

#endif
