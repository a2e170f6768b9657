/* The state of MPI's environment chapter: of an instance and of the process.
 *
 * INVARIANT  wf->env exists as long as the instance.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ENV_H
#define WF_ENV_H

#include <pthread.h>

#include "instance/instance.h"

struct wf_keyvals;  /* object/keyval.c */
struct wf_contexts; /* comm/context.c */

struct wf_env {
    /* Section objects protects contexts, attribute keys, spare_comms, and the
     * blocks of buffered sends: engines share them (engines.h). */
    struct wf_lock lock;
    pthread_t main_thread; /* the one that called MPI_Init */
    struct wf_group *group_empty;
    struct wf_info *info_env; /* made when MPI_INFO_ENV is first used */
    struct wf_keyvals *keyvals;
    struct wf_contexts *contexts;
    struct wf_comm *spare_comms; /* freed, kept for reuse (group/comm.c) */
    /* Predefined attributes; the user gets pointers to these values. */
    int tag_ub, host, io, wtime_is_global, appnum, universe_size, lastusedcode;
};

WF_LOCK_SECTION(objects, struct wf_env, lock, WF_RANK_OBJECTS)

int wf_env_init(struct wf_instance *); /* 0 or WEFT_ENOMEM */
void wf_env_fini(struct wf_instance *);

#endif
