/* An array of requests is looked through here.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "p2p/requests.h"

/* One that is pending like the one before it, as nearly all in an array are,
 * costs a few comparisons. */
struct wf_requests_seen wf_requests_look(int n, const MPI_Request *requests,
                                         bool first)
{
    struct wf_requests_seen seen = {.found = n};
    const struct wf_req *other = NULL; /* the last that is no message */
    const struct wf_comm *comm = NULL; /* these three: of the last message */
    const struct weft_loc *loc = NULL;
    unsigned type = UINT8_MAX + 1;

    for (const MPI_Request *at = requests; at < requests + n; at++) {
        struct wf_req *r = (struct wf_req *)*at;
        if (*at == MPI_REQUEST_NULL || wf_request_is_inactive(r))
            continue;
        if (wf_likely(r->type == type && r->comm == comm &&
                      wf_p2p_of(r)->loc == loc && !wf_req_done(r)))
            continue;
        if (wf_req_done(r)) {
            if (seen.found == n)
                seen.found = (int)(at - requests);
            if (first)
                break;
            continue;
        }
        seen.pending = true;
        if (other && other->type == r->type && other->comm == r->comm)
            continue;
        seen.endpoints |= wf_req_endpoints(r);
        if (r->type > WF_REQ_RECV) {
            other = r;
            continue;
        }
        comm = r->comm;
        loc = wf_p2p_of(r)->loc;
        type = r->type;
    }
    return seen;
}
