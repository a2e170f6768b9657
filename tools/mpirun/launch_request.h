/* The order: what an agent is told to start, for its host and those behind it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_LAUNCH_REQUEST_H
#define WF_MPIRUN_LAUNCH_REQUEST_H

#include "link.h"
#include "mpi.h"

/* An agent says this line first; the number changes with the protocol. */
#define AGENT_WORD "weft-agent "
#define AGENT_GREETING AGENT_WORD "1 " WEFT_VERSION "\n"

/* To an agent that has said its greeting: what is behind this link. */
void wf_launch_request_send(struct job *, struct link *);
/* In an agent: fill the job. The bytes must stay as long as it. False: they are
 * no order, or there is no memory. */
bool wf_launch_request_read(struct job *, const char *data, size_t n);

#endif
