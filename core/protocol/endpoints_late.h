/* Endpoints of a process that was alone, and meets another job.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_ENDPOINTS_LATE_H
#define WF_PROTOCOL_ENDPOINTS_LATE_H

#include "base.h"

struct wf_instance;

/* Open the transports that a process alone in its job, or with all ranks of it,
 * has not opened. 0 or WEFT_E*, with the cause recorded; those that could be
 * opened stay. */
int wf_endpoints_open_late(struct wf_instance *);

#endif
