/* Ports, and how the processes of two jobs meet by one
 * (docs/internals/jobs.md).
 *
 *   server      wf_port_open                 a name, which a client is given
 *               wf_port_accept  <------->    wf_port_connect         client
 *                     intercommunicator of both groups, in both jobs
 *
 * All functions return MPI_SUCCESS or an error class, with the cause recorded.
 * They are called in the section of the engine of the communicator that they
 * get, else in that of the first engine.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MEET_H
#define WF_MEET_H

#include "base.h"

struct wf_comm;
struct wf_instance;

/* Opens a port, and writes its name: whoever has it may connect. */
int wf_port_open(struct wf_instance *, char name[MPI_MAX_PORT_NAME]);
/* Closes a port of this process: MPI_ERR_PORT if it has none of this name.
 * Calls that accept at it, and clients that wait there, end with an error. */
int wf_port_close(struct wf_instance *, const char *name);

/* Waits for a client at a port of process `root`, and makes the
 * intercommunicator with its group. Collective over the intracommunicator; the
 * name matters at root only. */
int wf_port_accept(struct wf_comm *, int root, const char *name,
                   MPI_Comm *newcomm);
/* Connects to a port that another process has opened, of any job but this one.
 * Collective; name and timeout (ns; 0: core.connect_timeout) matter at root
 * only. MPI_ERR_PORT: there is no such port, or nobody accepts there. */
int wf_port_connect(struct wf_comm *, int root, const char *name,
                    uint64_t timeout, MPI_Comm *newcomm);

/* Notes the communicator with the processes that have spawned this one, which
 * MPI_Comm_get_parent returns. MPI_ERR_NO_MEM: it cannot be kept. */
int wf_parent_set(struct wf_instance *, struct wf_comm *);

#endif
