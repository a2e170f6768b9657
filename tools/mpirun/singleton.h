/* A launcher for one process that was started without it (core/boot/
 * own_launcher.h): it starts the jobs that the process spawns.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_SINGLETON_H
#define WF_MPIRUN_SINGLETON_H

struct job;
struct rank;

/* Serve the process at the other end of standard input, in a process of its
 * own. Returns the exit status. */
int wf_singleton_run(struct job *);
/* Attach the process to the job, in the place of ranks that are started. */
int wf_singleton_attach(struct job *);
/* Handle the end of its connection. */
void wf_singleton_end(struct job *, struct rank *);

#endif
