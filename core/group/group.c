/* This file makes groups and looks up ranks in them.
 *
 * A group whose Location ids are evenly spaced (the world, a split by rows or
 * by parity) is kept as first and stride; others keep an array.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "group/group.h"

#include <stdlib.h>

#include "object/env.h"
#include "object/session.h"
#include "process/rank.h"

struct wf_group *wf_group_of(struct wf_instance *wf, MPI_Group handle)
{
    if (handle == MPI_GROUP_EMPTY)
        return wf->rank->env->group_empty;
    return wf_is_object(handle, WF_KIND_GROUP) ? (struct wf_group *)handle
                                               : NULL;
}

MPI_Group wf_group_handle(struct wf_group *g)
{
    return g == g->wf->rank->env->group_empty ? MPI_GROUP_EMPTY : (MPI_Group)g;
}

uint64_t wf_group_name(const struct wf_group *g, int rank)
{
    const struct wf_job *own = &g->wf->rank->job;
    uint32_t proc = wf_group_proc(g, rank);
    uint64_t name = 0;

    if (wf_likely(proc < own->size))
        return wf_job_name(own, proc);
    WF_SECTION(objects, g->wf->rank->env)
        name = wf_job_name(own, proc);
    return name;
}

bool wf_group_has_others(const struct wf_group *g)
{
    uint32_t own = g->wf->rank->job.size;

    if (!g->procs && g->size > 0)
        return wf_group_proc(g, 0) >= own ||
               wf_group_proc(g, g->size - 1) >= own;
    for (int i = 0; i < g->size; i++)
        if (g->procs[i] >= own)
            return true;
    return false;
}

/* Add to a count of each member of another job. At the end of the instance
 * there are no other jobs any more. */
static void count_others(const struct wf_group *g, uint32_t by, bool comm)
{
    struct wf_job *own = &g->wf->rank->job;

    for (int i = 0; i < g->size; i++) {
        uint32_t proc = wf_group_proc(g, i);
        const struct wf_job *found =
            proc < own->size ? NULL : wf_job_of(own, proc);
        struct wf_job *job = (struct wf_job *)(uintptr_t)found;
        if (job)
            wf_add_relaxed(comm ? &job->comms[proc - job->first] : &job->groups,
                           by);
    }
}

static void count_members(const struct wf_group *g, uint32_t by, bool comm)
{
    struct wf_env *env = g->wf->rank->env;

    if (wf_likely(!wf_group_has_others(g)))
        return;
    if (!env)
        count_others(g, by, comm);
    else
        WF_SECTION(objects, env)
            count_others(g, by, comm);
}

void wf_group_count_comm(const struct wf_group *g, int by)
{
    count_members(g, (uint32_t)by, true);
}

void wf_group_get(struct wf_group *g)
{
    wf_object_get(&g->object);
}

void wf_group_put(struct wf_group *g)
{
    WF_ASSERT(g->object.kind == WF_KIND_GROUP);
    if (!wf_object_put(&g->object))
        return;
    g->object.kind = WF_KIND_DEAD;
    count_members(g, UINT32_MAX, false);
    if (g->session)
        wf_session_put(g->session);
    free(g->procs);
    free(g);
}

/* MPI_GROUP_EMPTY belongs to no session. */
void wf_group_join_session(struct wf_group *g, struct wf_session *session)
{
    if (!session || g->session || g == g->wf->rank->env->group_empty)
        return;
    wf_session_get(session);
    g->session = session;
}

static bool is_regular(int size, const uint32_t *procs)
{
    for (int i = 2; i < size; i++)
        if (procs[i] - procs[i - 1] != procs[1] - procs[0])
            return false;
    return true;
}

static struct wf_group *create_uncounted(struct wf_instance *wf, int size,
                                         uint32_t first, int32_t stride)
{
    struct wf_group *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    wf_object_init(&g->object, WF_KIND_GROUP);
    g->wf = wf_home(wf);
    g->size = size;
    g->first = first;
    g->stride = stride;
    g->rank = wf_group_rank_of(g, wf->rank->id);
    return g;
}

struct wf_group *wf_group_create_regular(struct wf_instance *wf, int size,
                                         uint32_t first, int32_t stride)
{
    struct wf_group *g = create_uncounted(wf, size, first, stride);

    if (g)
        count_members(g, 1, false);
    return g;
}

struct wf_group *wf_group_create(struct wf_instance *wf, int size,
                                 uint32_t *procs)
{
    uint32_t first = size > 0 ? procs[0] : 0;
    int32_t stride = size > 1 ? (int32_t)(procs[1] - procs[0]) : 1;
    struct wf_group *g = create_uncounted(wf, size, first, stride);

    if (!g || is_regular(size, procs)) {
        free(procs);
    } else {
        WF_ASSERT(size > 2 && !g->procs);
        g->procs = procs;
        g->rank = wf_group_rank_of(g, wf->rank->id);
    }
    if (g)
        count_members(g, 1, false);
    return g;
}

int wf_group_rank_of(const struct wf_group *g, uint32_t proc)
{
    if (g->procs) {
        for (int i = 0; i < g->size; i++)
            if (g->procs[i] == proc)
                return i;
        return MPI_UNDEFINED;
    }
    int64_t off = (int64_t)proc - g->first;
    int64_t i = g->stride ? off / g->stride : 0;
    if (i < 0 || i >= g->size || i * g->stride != off)
        return MPI_UNDEFINED;
    return (int)i;
}

/* ---- many look-ups ------------------------------------------------------- */

/* A regular group needs no table, and for a single look-up a table does not
 * pay. */
bool wf_group_index(struct wf_group_index *x, const struct wf_group *g)
{
    uint32_t top = 0;
    x->group = g;
    x->rank_of = NULL;
    x->size = 0;
    if (!g->procs)
        return true;
    for (int i = 0; i < g->size; i++)
        if (g->procs[i] > top)
            top = g->procs[i];
    x->size = top + 1;
    x->rank_of = calloc(x->size, sizeof *x->rank_of);
    if (!x->rank_of)
        return false;
    for (int i = 0; i < g->size; i++)
        x->rank_of[g->procs[i]] = i + 1;
    return true;
}

int wf_group_lookup(const struct wf_group_index *x, uint32_t proc)
{
    if (!x->group->procs)
        return wf_group_rank_of(x->group, proc);
    if (proc >= x->size || x->rank_of[proc] == 0)
        return MPI_UNDEFINED;
    WF_ASSERT(x->rank_of[proc] <= x->group->size);
    return x->rank_of[proc] - 1;
}

void wf_group_index_free(struct wf_group_index *x)
{
    free(x->rank_of);
}
