/* Ports of this process, and calls to those of others.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MEET_PORT_H
#define WF_MEET_PORT_H

#include "meet/ports.h"

/* Opens a port, and writes its name. */
int wf_port_make(struct wf_meet_state *, char name[MPI_MAX_PORT_NAME]);
/* Records that this process has no port of this name: MPI_ERR_PORT. */
int wf_port_fail_unknown(const char *name);

/* Calls a port until it has proved to be that, or until the deadline. NULL: it
 * cannot be reached, and *why says the cause. wf_meet_end_link ends the
 * link. */
struct wf_meet_link *
wf_port_dial(struct wf_meet_state *, const struct wf_port_name *,
             uint64_t deadline, const struct wf_wait_cause *, const char **why);

#endif
