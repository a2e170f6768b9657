/* Threads that are ranks: what the ranks of one process share.
 *
 *   struct wf_ranks -- processes[slot]  one MPI process each (instance.h)
 *                   -- boots[slot]      given to its instance (boot/hosted.c)
 *                   -- config           read once, shared
 *
 *   thread --claim--> has a slot --MPI_Init--> has an instance --MPI_Finalize-->
 *          --end of the thread--> gone
 *
 * A slot is claimed by the threads that MPIX_Run_ranks starts (run.c), in their
 * order, or by MPI_Init_thread with MPIX_THREAD_AS_RANK, in the order of the
 * calls. Ranks of a process are consecutive.
 *
 * THREADS  every function may be called by any thread.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RANKS_H
#define WF_RANKS_H

#include <pthread.h>

#include "instance.h"

struct wf_ranks {
    uint32_t count;       /* slots */
    uint32_t first, size; /* rank of slot 0; ranks of the job */
    bool launched;        /* a launcher started this process */
    struct wf_config *config;
    struct wf_boot **boots;
    struct wf_process *processes;
    pthread_mutex_t open_lock; /* reading plugin options from config */
    wf_atomic_u32 claimed;
};

/* How many ranks the launcher, or the user without one, wants this process to
 * hold; 1 when nobody said. */
uint32_t wf_ranks_planned(void);
/* The ranks of a process that holds several; count 0: as many as planned. An
 * MPI error class, with the record of wf_error. */
int wf_ranks_create(uint32_t count, struct wf_ranks **);
/* After all instances are gone. */
void wf_ranks_free(struct wf_ranks *);
/* Make the calling thread the rank of a slot, or of none (NULL). */
void wf_ranks_bind(struct wf_ranks *, uint32_t slot);
void wf_ranks_unbind(void);
/* The next free slot becomes the calling thread's; makes the ranks when they
 * are not there yet. An MPI error class. */
int wf_ranks_claim(void);
/* The thread of this slot is about to end: the others must not wait for it. */
void wf_ranks_leave(struct wf_process *);
/* The configuration and the boot of a new instance. */
int wf_ranks_params(struct wf_process *, struct wf_instance_params *);

#endif
