/* Completing requests: wait, test, their multiple forms, status queries.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_P2P_COMPLETION_H
#define WF_P2P_COMPLETION_H

#include "base.h"

struct wf_instance;

/* Poll once for those of the requests that are not done, all of which are of
 * this engine; true: all are complete. call: the MPI
 * function that asks. The section is held. */
bool wf_requests_poll(struct wf_instance *, const char *call, int n,
                       const MPI_Request *);

#endif
