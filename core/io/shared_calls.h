/* Accesses by the shared file pointer, as wf_file_function has them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_SHARED_CALLS_H
#define WF_IO_SHARED_CALLS_H

#include "io/function.h"

int wf_file_run_shared(const struct wf_file_call *,
                       const struct wf_file_function *, void *status);
int wf_file_start_shared(const struct wf_file_call *,
                         const struct wf_file_function *, void *request);
int wf_file_run_ordered(const struct wf_file_call *,
                        const struct wf_file_function *, void *status);
int wf_file_begin_ordered(const struct wf_file_call *,
                          const struct wf_file_function *, void *none);
int wf_file_refuse_ordered(struct wf_file *, int rc, bool waits);

#endif
