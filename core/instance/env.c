/* The environment chapter's part of an instance.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "instance/env.h"

#include <stdlib.h>

#include "comm/context.h"
#include "group/attr_comm.h"
#include "group/owner.h"
#include "object/attr.h"
#include "object/info.h"
#include "object/keyval.h"
#include "object/session.h"
#include "process/rank.h"

int wf_env_init(struct wf_instance *wf)
{
    struct wf_env *env = calloc(1, sizeof *env);
    if (!env)
        return WEFT_ENOMEM;
    wf->rank->env = env;
    wf_owner_register(wf, &wf_comm_owner_kind);
    wf_owner_register(wf, &wf_group_owner_kind);
    wf_owner_register(wf, &wf_session_owner_kind);
    wf_attr_predefine(wf);
    env->group_empty = wf_group_create(wf, 0, NULL);
    env->contexts = wf_contexts_create();
    if (env->group_empty && env->contexts)
        return 0;
    wf_env_fini(wf);
    return WEFT_ENOMEM;
}

void wf_env_fini(struct wf_instance *wf)
{
    struct wf_env *env = wf->rank->env;
    if (!env)
        return;
    wf_comm_forget_spares(env);
    wf_contexts_destroy(env->contexts);
    if (env->group_empty)
        wf_group_put(env->group_empty);
    wf_info_destroy(env->info_env);
    wf_keyvals_fini(wf);
    free(env);
    wf->rank->env = NULL;
}
