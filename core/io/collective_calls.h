/* Collective accesses, as wf_file_function has them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_COLLECTIVE_CALLS_H
#define WF_IO_COLLECTIVE_CALLS_H

#include "io/function.h"

struct wf_access;

int wf_file_run_together(const struct wf_file_call *,
                         const struct wf_file_function *, void *status);
int wf_file_start_together(const struct wf_file_call *,
                           const struct wf_file_function *, void *request);
int wf_file_begin_together(const struct wf_file_call *,
                           const struct wf_file_function *, void *none);
int wf_file_refuse(struct wf_file *, int rc, bool waits);

/* Begins a split collective whose access was prepared. rc: the outcome of that;
 * with an error this process only takes part. */
int wf_file_begin_split(const struct wf_file_call *,
                        const struct wf_file_function *,
                        const struct wf_access *, int rc);

#endif
