/* This is the side of a child job's launcher towards its parent: child_job.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_SPAWNED_JOB_H
#define WF_MPIRUN_SPAWNED_JOB_H

#include <stdbool.h>
#include <sys/types.h>

#include "channel.h"

struct job;
struct spawn_request;

/* Run the job of a request, in the process that was forked for it. fd: the
 * channel to the parent. */
_Noreturn void wf_spawned_run(struct job *of_parent, struct spawn_request *,
                              int number, int fd, pid_t parent);
/* Keep a message until it is known whether the job starts: then it is printed,
 * or is the answer. Returns false if it is to be printed at once. */
bool wf_spawned_keeps(const struct job *, const char *text);
/* Tell the parent when all ranks have been started. */
void wf_spawned_check(struct job *);
/* Send a frame with a text to the parent. */
void wf_spawned_send(struct job *, enum frame_type, const char *text);

#endif
