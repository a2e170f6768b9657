/* Requests of the program, by their handles, for the calls that complete them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_P2P_REQUESTS_H
#define WF_P2P_REQUESTS_H

#include "protocol/queues.h"
#include "protocol/request.h"

/* Returns the request of a handle that the binding has checked; NULL: the null
 * handle. */
static inline struct wf_req *wf_request_of(MPI_Request handle)
{
    WF_ASSERT(handle == MPI_REQUEST_NULL || wf_req_of(handle));
    return handle == MPI_REQUEST_NULL ? NULL : (struct wf_req *)handle;
}

static inline bool wf_request_is_inactive(struct wf_req *r)
{
    return !r || (r->flags & (WF_REQ_PERSISTENT | WF_REQ_ACTIVE)) ==
                     WF_REQ_PERSISTENT;
}

static inline bool wf_request_is_complete(MPI_Request handle)
{
    struct wf_req *r = wf_request_of(handle);

    return wf_request_is_inactive(r) || wf_req_done(r);
}

/* This is known of requests after looking through them. */
struct wf_requests_seen {
    bool pending;       /* there is an active one that is not done */
    int found;          /* index of the first active one that is done, or n */
    uint32_t endpoints; /* those that can complete the others */
};

/* Looks through n requests, up to the first active one that is done if `first`.
 */
struct wf_requests_seen wf_requests_look(int n, const MPI_Request *requests,
                                         bool first);

/* Returns the mask of the endpoints that can complete the requests. */
static inline uint32_t wf_requests_endpoints(int n, const MPI_Request *requests)
{
    return wf_requests_look(n, requests, false).endpoints;
}

#endif
