/* Accesses of one process, when they are prepared.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_CALLS_H
#define WF_IO_CALLS_H

#include "io/file.h"

/* Starts what a call was prepared to, and gives the program the request. rc:
 * the outcome of that; an error is returned. */
int wf_file_start_call(struct wf_file *, const struct wf_access *, int rc,
                       const char *what, MPI_Request *);

#endif
