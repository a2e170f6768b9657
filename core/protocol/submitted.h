/* Sends and receives of threads that found their engine busy (the granularity
 * lock-free; progress/critical.h has the handing over).
 *
 *   submitter   a request of its own share of the pool, with what was asked for:
 *               it is the program's from now on
 *   who is in   counts the references, and starts it; that of the datatype is the
 *               submitter's, for the type may be freed in another engine
 *
 * A failure to start is the request's outcome. Order: what one thread submits is
 * started in its order, and before anything that it does inside later.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SUBMITTED_H
#define WF_SUBMITTED_H

#include "p2p/p2p_api.h"
#include "protocol/queues.h"

/* Section not held. false: out of memory, nothing has happened. */
bool wf_submit_send(struct wf_comm *, const struct wf_send_args *,
                    struct wf_req **out);
bool wf_submit_receive(struct wf_comm *, const struct wf_receive_args *,
                       struct wf_req **out);
/* wf->api.run */
void wf_submitted_run(struct wf_cs *);
/* For a while, before the waiter enters and waits in earnest: look whether it is
 * done, as long as the engine is busy. true: *request was taken. */
bool wf_submitted_await(struct wf_instance *, MPI_Request *, MPI_Status *);

#endif
