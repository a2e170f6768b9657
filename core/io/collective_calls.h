/* Collective calls that a binding refuses, and the begin of split ones.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_COLLECTIVE_CALLS_H
#define WF_IO_COLLECTIVE_CALLS_H

#include "io/file.h"

/* Takes part in a collective access whose arguments are wrong here, so that the
 * others do not wait for this process. rc: the error class; it is returned.
 * waits: the call is a blocking one. Called outside the section. */
int wf_file_refuse(struct wf_file *, int rc, bool waits);
int wf_file_refuse_ordered(struct wf_file *, int rc, bool waits);

/* Begins a split collective whose access was prepared. rc: the outcome of that;
 * with an error this process only takes part. */
int wf_file_begin_split(struct wf_file *, const struct wf_access *, int rc,
                        enum wf_split, const char *what);

#endif
