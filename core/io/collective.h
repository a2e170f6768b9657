/* Collective accesses of a blocking call, and split ones that are under way.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_COLLECTIVE_H
#define WF_IO_COLLECTIVE_H

#include "io/function.h"

struct wf_access;

/* Performs a collective access, and agrees on the outcome. rc: the error that
 * this process has met, or MPI_SUCCESS; with an error it only takes part, and
 * the access is not looked at. */
int wf_file_run_collective(struct wf_file *, struct wf_access *, int rc);
/* Returns an error if a split collective is under way. */
int wf_file_check_split(const struct wf_file *);
/* Ends the one that is, which must be of this kind. */
int wf_file_end_split(struct wf_file *, enum wf_split, MPI_Status *);

#endif
