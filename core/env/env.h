/* What the environment chapter keeps: per instance, and for the process.
 *
 * INVARIANT  wf->env exists as long as the instance.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ENV_H
#define WF_ENV_H

#include <pthread.h>

#include "instance.h"

struct wf_keyvals;  /* env/keyval.c */
struct wf_contexts; /* comm/context.c */

struct wf_env {
    /* Section objects: contexts, attribute keys, spare_comms, and the blocks of
     * buffered sends. Engines share them (engines.h). */
    struct wf_lock lock;
    pthread_t main_thread; /* the one that called MPI_Init */
    struct wf_group *group_empty;
    struct wf_info *info_env; /* made when MPI_INFO_ENV is first used */
    struct wf_keyvals *keyvals;
    struct wf_contexts *contexts;
    struct wf_comm *spare_comms; /* freed ones, for reuse (comm/comm.c) */
    /* predefined attributes, to whose values the user gets pointers */
    int tag_ub, host, io, wtime_is_global, appnum, universe_size, lastusedcode;
};

WF_LOCK_SECTION(objects, struct wf_env, lock, WF_RANK_OBJECTS)

int wf_env_init(struct wf_instance *); /* 0 or WEFT_ENOMEM */
void wf_env_fini(struct wf_instance *);
/* What MPI_Alloc_mem gave out and nobody freed (memory.c). */
void wf_memory_fini(struct wf_instance *);
/* Values of the predefined attributes (env/attr_comm.c). */
void wf_attr_predefine(struct wf_instance *);

/* "MPI_ERR_RANK", or "error class 17000" in a buffer of this thread. */
const char *wf_error_name(int mpi_class);
/* The sentence that explains a predefined class, or NULL. */
const char *wf_error_sentence(int mpi_class);
/* A fresh record of this class: the thread's last wf_error was for it and was
 * not raised yet. Otherwise the record is emptied and set to mpi_class. */
struct wf_error_record *wf_error_take(int mpi_class);

/* Codes that the user added: the class of a code, or -1; its text, or NULL
 * (copied into text). wf_error_last_code is MPI_LASTUSEDCODE. */
int wf_error_code_class(int code);
bool wf_error_code_text(int code, char text[MPI_MAX_ERROR_STRING]);
int wf_error_last_code(void);

#endif
