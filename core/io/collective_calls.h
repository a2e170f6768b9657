/* Collective calls that a binding refuses.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_COLLECTIVE_CALLS_H
#define WF_IO_COLLECTIVE_CALLS_H

#include "base.h"

struct wf_file;

/* Takes part in a collective access whose arguments are wrong here, so that the
 * others do not wait for this process. rc: the error class; it is returned.
 * waits: the call is a blocking one. Called outside the section. */
int wf_file_refuse(struct wf_file *, int rc, bool waits);
int wf_file_refuse_ordered(struct wf_file *, int rc, bool waits);

#endif
