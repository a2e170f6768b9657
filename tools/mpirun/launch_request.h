/* A launch request tells an agent what to start on its host and on the hosts
 * behind it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_LAUNCH_REQUEST_H
#define WF_MPIRUN_LAUNCH_REQUEST_H

#include "link.h"
#include "mpi.h"

/* An agent sends this line first; the number changes with the protocol. */
#define AGENT_WORD "weft-agent "
#define AGENT_GREETING AGENT_WORD "2 " WEFT_VERSION "\n"

/* Send the request for everything behind this link to an agent that has sent
 * its greeting. */
void wf_launch_request_send(struct job *, struct link *);
/* Fill the job of an agent from a request, whose bytes must stay as long as the
 * job. Returns false if they are no request, or without memory. */
bool wf_launch_request_read(struct job *, const char *data, size_t n);

#endif
