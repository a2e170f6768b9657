/* Threads that are ranks: the state that the ranks of one process share.
 *
 *   struct wf_ranks -- processes[slot]  one MPI process each
 *   (process/process.h)
 *                   -- boots[slot]      given to its instance (boot/hosted.c)
 *                   -- config           read once, shared
 *
 *   thread --claim--> has a slot --MPI_Init--> has an instance
 *          --MPI_Finalize--> has none --end of the thread--> gone
 *
 * A slot is claimed by the threads that MPIX_Run_ranks starts (run.c), in their
 * order, or by MPI_Init_thread with MPIX_THREAD_AS_RANK, in the order of the
 * calls. Ranks of a process are consecutive.
 *
 * THREADS  every function may be called by any thread.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ENV_RANKS_H
#define WF_ENV_RANKS_H

#include "instance/instance.h"
#include "process/ranks.h"

/* Returns how many ranks this process is to hold, as the launcher or, without
 * one, the user has set it; 1 by default. */
uint32_t wf_ranks_planned(void);
/* Makes the ranks of a process that holds several; count 0 means as many as
 * planned. Returns an MPI error class, with the record of wf_error. */
int wf_ranks_create(uint32_t count, struct wf_ranks **);
/* Frees the ranks. Call it after all instances are gone. */
void wf_ranks_free(struct wf_ranks *);
/* Makes the calling thread the rank of a slot. */
void wf_ranks_bind(struct wf_ranks *, uint32_t slot);
/* Makes the calling thread the rank of no slot. */
void wf_ranks_unbind(void);
/* Binds the calling thread to the next free slot; makes the ranks if they do
 * not exist yet. Returns an MPI error class. */
int wf_ranks_claim_slot(void);
/* Leaves the job for the thread of this slot, which is about to end: others
 * must not wait for it. */
void wf_ranks_leave_job(struct wf_process *);
/* Stores the configuration and the boot of a new instance. Returns an MPI error
 * class. */
int wf_ranks_fill_params(struct wf_process *, struct wf_instance_params *);

#endif
