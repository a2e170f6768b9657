/* The instance as the process uses it: one, shared by the world model and all
 * sessions (MPI-5.0 s11.2, s11.3).
 *
 *   absent --first user--> in use --last user, MPI_Finalize--> absent
 *                            |  ^
 *        last user, a session |  | next user
 *                            v  |
 *                            idle --exit of the process--> absent
 *
 * Opening and closing a session is local to a process, and processes may do it
 * different numbers of times, while the start and the end of an instance take
 * all of them. So an instance that the last session leaves stays open, idle,
 * for the next one; what it still owes to the others is done when the process
 * exits.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_START_H
#define WF_START_H

#include "instance.h"

/* Read the configuration; one that is wrong ends the process. An MPI error class:
 * memory or a descriptor was lacking. */
int wf_start_config(struct wf_config **);
/* End the instance that sessions of this rank thread left idle, if any. */
void wf_start_end_idle(struct wf_process *);

/* Whether calls of one user come from several threads at a time. */
enum wf_use { WF_USE_ALONE, WF_USE_THREADS };

/* One user more: an MPI error class, and the instance. Outside the API
 * section; any thread. */
int wf_start_use(enum wf_use, struct wf_instance **);
/* One user less. WF_LEAVE_FAILED: it could not begin. The instance waits idle for
 * another attempt; without one the process ends as one that has failed, and not
 * in the fence of an orderly end, where the others would wait for it. */
enum wf_leave { WF_LEAVE_IDLE, WF_LEAVE_END, WF_LEAVE_FAILED };
int wf_start_leave(struct wf_instance *, enum wf_leave);

#endif
