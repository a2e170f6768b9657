/* Accesses of one process, when they are prepared.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_CALLS_H
#define WF_IO_CALLS_H

#include "io/function.h"

struct wf_access;

/* Starts what a call was prepared to, and gives the program the request. rc:
 * the outcome of that; an error is returned. */
int wf_file_start_call(const struct wf_file_call *,
                       const struct wf_file_function *,
                       const struct wf_access *, int rc, MPI_Request *);

/* Starts the access of one process: wf_file_function.perform. */
int wf_file_start_alone(const struct wf_file_call *,
                        const struct wf_file_function *, void *request);

#endif
