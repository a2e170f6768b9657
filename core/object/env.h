/* The state of the environment chapter of an instance: what its objects share.
 *
 * INVARIANT  wf->rank->env exists as long as the instance.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_OBJECT_ENV_H
#define WF_OBJECT_ENV_H

#include <pthread.h>

#include "object/owner.h"
#include "process/rank.h"

struct wf_group;
struct wf_info;
struct wf_keyvals;  /* object/keyval.c */
struct wf_contexts; /* comm/context.c */

struct wf_env {
    /* Section objects protects contexts, attribute keys, spare_comms, owners,
     * and the blocks of buffered sends: engines share them (engines.h). */
    struct wf_lock lock;
    pthread_t main_thread; /* the one that called MPI_Init */
    struct wf_group *group_empty;
    struct wf_info *info_env; /* made when MPI_INFO_ENV is first used */
    struct wf_keyvals *keyvals;
    struct wf_contexts *contexts;
    const struct wf_owner_kind *owners[WF_OWNER_KINDS_MAX]; /* the first ones */
    struct wf_comm *spare_comms; /* freed, kept for reuse (group/comm.c) */
    /* Predefined attributes; the user gets pointers to these values. */
    int tag_ub, host, io, wtime_is_global, appnum, universe_size;
};

WF_LOCK_SECTION(objects, struct wf_env, lock, WF_RANK_OBJECTS)

#endif
