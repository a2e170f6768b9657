/* From the arguments of a call to an access.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_PREPARE_H
#define WF_IO_PREPARE_H

#include "io/file.h"

/* Checks a call and makes an access of it. With WF_AT_POSITION the pointer
 * advances. An error class. May leave the section. */
int wf_file_prepare(const struct wf_file_call *, struct wf_access *);

/* Performs a call in this thread, and gives the program the status. Where it is
 * one block of memory and one of the file, nothing is prepared. */
int wf_file_run_call(const struct wf_file_call *, MPI_Status *);
/* The same of a call that was prepared. rc: the outcome of that; an error is
 * returned. */
int wf_file_finish_call(struct wf_file *, struct wf_access *, int rc,
                        MPI_Status *);
/* Performs an access in this thread, outside the section. */
int wf_file_run(struct wf_file *, struct wf_access *);
/* The error of a call that sequential mode forbids. */
int wf_file_refuse_sequential(void);

#endif
