/* Waiting for a flag of another member, and waking the members that do.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_SHM_WAIT_H
#define WF_COLL_SHM_WAIT_H

#include "base.h"
#include "os/atomic.h"

struct wf_shmcoll;

/* Waits until a word of that member has reached `least`. Sets *seen to the
 * word; returns MPI_SUCCESS or an error. */
int wf_shmcoll_wait_word(struct wf_shmcoll *, int rank,
                         const wf_atomic_u64 *word, uint64_t least,
                         uint64_t *seen);

/* Waits until all members have completed their calls up to `call`. */
void wf_shmcoll_wait_all_completed(struct wf_shmcoll *, uint32_t call);

/* Wakes the members that sleep and wait for this process. */
void wf_shmcoll_wake_sleepers(struct wf_shmcoll *);

#endif
