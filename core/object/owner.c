/* Owners of errors: MPI objects that have an error handler.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "object/owner.h"

#include "object/env.h"
#include "process/rank.h"

/* Returns the place of a kind in the table, or the first free one. */
static const struct wf_owner_kind **find_place(struct wf_env *env,
                                               uint32_t kind)
    WF_REQUIRES(env->lock)
{
    int i = 0;

    while (i < WF_OWNER_KINDS_MAX && env->owners[i] &&
           env->owners[i]->kind != kind)
        i++;
    WF_ASSERT(i < WF_OWNER_KINDS_MAX);
    return &env->owners[i];
}

void wf_owner_register(struct wf_instance *wf, const struct wf_owner_kind *kind)
{
    WF_SECTION(objects, wf->rank->env)
        *find_place(wf->rank->env, kind->kind) = kind;
}

const struct wf_owner_kind *wf_owner_kind_of(struct wf_instance *wf,
                                             const struct wf_object *object)
{
    const struct wf_owner_kind *kind = NULL;

    if (!wf || !wf->rank->env || !object)
        return NULL;
    WF_SECTION(objects, wf->rank->env)
        kind = *find_place(wf->rank->env, object->kind);
    return kind;
}
