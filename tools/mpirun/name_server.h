/* A name server keeps names for jobs of other launchers of the same user:
 * `mpirun --names [HOST:]PORT`, with a program or without.
 *
 *   launcher A == sealed stream ==\
 *                                  name server: one table of names
 *   launcher B == sealed stream ==/
 *
 * A text of a launcher is NUMBER OWNER LINE: the owner as in names.h, and a
 * request of PMI-1, whose answer is NUMBER ANSWER, or "cmd=forget". Names of a
 * launcher end with its stream, and those of one owner when its launcher says
 * so.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_NAME_SERVER_H
#define WF_MPIRUN_NAME_SERVER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct job;

/* Serve names, if the options say so. Returns 0, or -1 after a message. */
int wf_name_server_start(struct job *);
/* Forget the launchers that have gone, and those that prove nothing. */
void wf_name_server_check(struct job *);
uint64_t wf_name_server_next(const struct job *); /* ns; 0: none */
void wf_name_server_stop(struct job *);

/* The address of HOST:PORT, [HOST]:PORT or PORT (every address of this host).
 * Returns its size; 0: it is none, or the host is unknown. */
socklen_t wf_name_address(const char *text, struct sockaddr_storage *);

#endif
