/* Communicators are queried here; they get names and hints, and are freed
 * (MPI-5.0 s7.4.1, s7.4.3, s7.4.4, s7.6.1, s7.8).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COMM_QUERY_H
#define WF_COMM_QUERY_H

#include "base.h"

struct wf_comm;

/* Updates what depends on the hints in comm->info after they have changed. */
void wf_comm_update_hints(struct wf_comm *);

#endif
