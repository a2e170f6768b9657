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

/* Add the endpoints that can complete a request to a mask. *asked: the request
 * for which that was done last; NULL: none. */
static inline void wf_request_add_endpoints(struct wf_req *r,
                                            const struct wf_req **asked,
                                            uint32_t *mask)
{
    struct wf_req *a = (struct wf_req *)*asked;

    if (a && a->type == r->type && a->comm == r->comm &&
        (r->type > WF_REQ_RECV || wf_p2p_of(a)->loc == wf_p2p_of(r)->loc))
        return; /* they are the same */
    *mask |= wf_req_endpoints(r);
    *asked = r;
}

/* Returns the mask of the endpoints that can complete the requests. */
static inline uint32_t wf_requests_endpoints(int n, const MPI_Request *requests)
{
    const struct wf_req *asked = NULL;
    uint32_t mask = 0;

    for (int i = 0; i < n; i++)
        if (!wf_request_is_complete(requests[i]))
            wf_request_add_endpoints(wf_request_of(requests[i]), &asked, &mask);
    return mask;
}

#endif
