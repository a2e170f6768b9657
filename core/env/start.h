/* The life of a process's instance, which the world model and all sessions
 * share (MPI-5.0 s11.2, s11.3).
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
 * for the next one; the end, which takes all processes, comes when the process
 * exits.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_START_H
#define WF_START_H

struct wf_instance;
struct wf_config;
struct wf_process;

/* Read the configuration; one that is wrong ends the process. Returns an MPI
 * error class if memory or a descriptor is lacking. */
int wf_start_config(struct wf_config **);
/* End the instance that sessions of this rank thread left idle, if any. */
void wf_start_end_idle(struct wf_process *);

/* Whether several threads may call for one user at the same time. */
enum wf_use { WF_USE_ALONE, WF_USE_THREADS };

/* Count one more user of the instance, and start the instance if there is none.
 * Called outside the API section, by any thread. Returns an MPI error class. */
int wf_start_add_user(enum wf_use, struct wf_instance **);
/* Count one user less.
 *
 *   WF_LEAVE_IDLE    a session ends: the instance stays open for the next one
 *   WF_LEAVE_END     MPI_Finalize: the last user ends the instance
 *   WF_LEAVE_FAILED  the user could not begin: the instance stays idle for
 *                    another attempt. If none comes, the process ends as one
 *                    that has failed, and not in the fence of an orderly end,
 *                    where the others would wait for it. */
enum wf_leave { WF_LEAVE_IDLE, WF_LEAVE_END, WF_LEAVE_FAILED };
int wf_start_remove_user(struct wf_instance *, enum wf_leave);

#endif
