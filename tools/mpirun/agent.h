/* An agent is an mpirun that starts the ranks of another host for the mpirun
 * that the user has started. docs/internals/launching.md shows the whole.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_AGENT_H
#define WF_MPIRUN_AGENT_H

#include "channel.h"

struct rank;

/* Run an agent; returns its exit status. It ends when it receives nothing from
 * its parent for this many seconds; NULL selects the default. */
int wf_agent_run(struct job *, const char *seconds);

/* These functions send what happens to the agent's ranks to its parent. */
void wf_agent_fail(struct job *, int status, const char *text);
void wf_agent_ended(struct job *, struct rank *, int wait_status);
void wf_agent_pmi_ready(struct job *, struct event_source *);
void wf_agent_output(struct job *, struct event_source *);
void wf_agent_more(struct job *, const struct rank *, size_t n);
/* Handle a signal to the agent itself. */
void wf_agent_signal(struct job *, int sig);

#endif
