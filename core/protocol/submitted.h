/* Sends and receives of threads that found their engine busy (the granularity
 * lock-free; lock/critical.h has the handing over).
 *
 *   submitter     takes a request from its own share of the pool and fills in
 *                 the arguments: it is the program's request from now on
 *   thread in     counts the reference to the communicator and starts the
 *   the engine    request; the submitter counts that to the datatype, which may
 *                 be freed in another engine
 *
 * A failure to start is the request's outcome. Order: operations that one
 * thread submits are started in its order, and before any operation that it
 * starts inside later.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SUBMITTED_H
#define WF_SUBMITTED_H

#include "protocol/queues.h"

/* Submit a send or a receive. Section not held. False: out of memory, nothing
 * has happened. */
bool wf_submit_send(struct wf_comm *, const struct wf_send_args *,
                    struct wf_req **out);
bool wf_submit_receive(struct wf_comm *, const struct wf_receive_args *,
                       struct wf_req **out);
/* Start what is submitted. wf->api.run points to it. */
void wf_submitted_run(struct wf_cs *);
/* Poll for the end of a request for a while, as long as the engine is busy,
 * before the waiter enters. True: *request was taken. */
bool wf_submitted_await(struct wf_instance *, MPI_Request *, MPI_Status *);

#endif
