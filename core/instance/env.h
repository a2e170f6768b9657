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
/* Free the memory that MPI_Alloc_mem gave out and the program did not free
 * (memory.c). */
void wf_memory_fini(struct wf_instance *);
/* Set the values of the predefined attributes (group/attr_comm.c). */
void wf_attr_predefine(struct wf_instance *);

/* Returns the name of a code: "MPI_ERR_RANK", or "error code 17000" in a buffer
 * of this thread. */
const char *wf_error_name(int mpi_class);
/* Returns the sentence that explains a predefined class, or NULL. */
const char *wf_error_sentence(int mpi_class);
/* Returns the thread's error record for an error of this class that is raised
 * now. If the last wf_error of the thread was of another class, or was raised
 * already, the record is emptied and set to mpi_class. */
struct wf_error_record *wf_error_take_record(int mpi_class);

/* The codes that the program has added. wf_error_code_class returns the class
 * of a code, or -1; wf_error_code_text copies its text, or returns false;
 * wf_error_last_code returns MPI_LASTUSEDCODE. */
int wf_error_code_class(int code);
bool wf_error_code_text(int code, char text[MPI_MAX_ERROR_STRING]);
int wf_error_last_code(void);

#endif
