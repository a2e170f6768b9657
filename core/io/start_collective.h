/* Nonblocking collective accesses.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_START_COLLECTIVE_H
#define WF_IO_START_COLLECTIVE_H

#include "io/file.h"

/* Starts a collective access as a request, which owns a copy of it. what: the
 * name of the MPI function. rc: the error that this process has met; it only
 * takes part then. Returns it, or what else has kept it from a request. */
int wf_file_start_collective(struct wf_file *, const struct wf_access *, int rc,
                             const char *what, struct wf_req **);

#endif
