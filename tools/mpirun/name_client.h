/* The requests of this launcher to name servers (name_server.h): those of its
 * ranks that say server=HOST:PORT, which is core.names of their mpi.ini.
 *
 * Each server has one stream, which is opened when it is first needed and stays
 * until either end has ended. Each request is answered within a few seconds,
 * with "rc=2 msg=SENTENCE" if the server does not do it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_NAME_CLIENT_H
#define WF_MPIRUN_NAME_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

struct job;

/* Pass a request on. Returns false if it names no server. */
bool wf_name_client_ask(struct job *, const char *owner, const char *line);
/* Have the servers forget what an owner has published. */
void wf_name_client_forget(struct job *, const char *owner);
/* Answer requests whose server has gone, or is silent. */
void wf_name_client_check(struct job *);
uint64_t wf_name_client_next(const struct job *); /* ns; 0: none */
void wf_name_client_stop(struct job *);

#endif
