/* An agent: mpirun as it starts ranks on another host for the one that the user
 * has started. docs/internals/launching.md shows the whole.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_AGENT_H
#define WF_MPIRUN_AGENT_H

#include "channel.h"

struct rank;

/* The life of an agent; its exit status. It ends when it hears nothing from above
 * for so many seconds; NULL: the usual number. */
int wf_agent_run(struct job *, const char *seconds);

/* News of its ranks, to be sent up. */
void wf_agent_fail(struct job *, int status, const char *text);
void wf_agent_ended(struct job *, struct rank *, int wait_status);
void wf_agent_pmi_ready(struct job *, struct event_source *);
void wf_agent_output(struct job *, struct event_source *);
void wf_agent_more(struct job *, const struct rank *, size_t n);
/* A signal to the agent itself. */
void wf_agent_signal(struct job *, int sig);

#endif
