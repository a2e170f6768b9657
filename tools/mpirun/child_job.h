/* A child job is one that a rank of this job has asked for (MPI_Comm_spawn). It
 * has a launcher of its own, a copy of this process (fork), which knows nothing
 * of the other jobs: so a job ends as it does without children.
 *
 *   mpirun == channel == launcher of job 1 == channel == launcher of job 1.1
 *     |                      |                              |
 *   ranks                  ranks                          ranks
 *
 * A launcher tells its parent that the ranks run or why they do not, passes
 * requests for names up, and ends when its own ranks and child jobs have ended.
 * It is killed when its parent is (PR_SET_PDEATHSIG); its guard then ends its
 * ranks.
 *
 * child_job.c is the side of the parent, spawned_job.c that of the child.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_CHILD_JOB_H
#define WF_MPIRUN_CHILD_JOB_H

#include <stdbool.h>
#include <sys/types.h>

#include "job.h"

struct child_job;
struct rank;
struct spawn_request;

/* Write what messages call a child job: the parent's label, and its number.
 * Returns the label. */
const char *wf_child_label(const struct job *parent, int number,
                           char label[JOB_LABEL]);

/* Take a line of a rank's spawn request, of which job->ranks[].spawn is what
 * has come. When it is complete the job is started, and the rank gets an answer
 * later. */
void wf_child_take_line(struct job *, struct rank *, const char *line);
/* Returns whether the process was the launcher of a child job. */
bool wf_child_reaped(struct job *, pid_t, int status);
/* Returns whether a child job runs. */
bool wf_children_run(const struct job *);
/* Send a signal of the user to the launchers of the child jobs. */
void wf_children_signal(const struct job *, int sig);
/* Forget what a rank has asked for, because it has ended: a job that it does
 * not know of ends, too. */
void wf_child_drop_asker(struct job *, struct rank *);
/* Returns the status of the first child job that has failed, or 0. */
int wf_children_status(const struct job *);
/* Send an answer about a name to the child job of this number. */
void wf_child_send_name(struct job *, int number, const char *text);
void wf_children_free(struct job *);

#endif
