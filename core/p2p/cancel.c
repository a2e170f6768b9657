/* Cancelling (MPI-5.0 s3.8.4): it succeeds for a receive that no message has
 * matched yet, and for a send that waits for its receiver. Every other
 * operation completes as usual.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core_api.h"
#include "object/error.h"
#include "protocol/queues.h"
#include "protocol/receive.h"
#include "protocol/send.h"

static void cancel_receive(struct wf_p2p *p)
{
    if (!wf_receive_withdraw(p))
        return;
    p->req.flags |= WF_REQ_CANCELLED;
    p->req.bytes = 0;
    p->req.source = MPI_ANY_SOURCE;
    p->req.tag = MPI_ANY_TAG;
    wf_req_complete(&p->req, 0);
}

int wf_mpi_cancel(struct wf_instance *wf, MPI_Request *request)
{
    struct wf_req *r = wf_req_of(*request);

    if (!r)
        return wf_error(MPI_ERR_REQUEST, "the request is null");
    if (r->cancel) /* a generalized one is told even when complete, s13.2 */
        return r->cancel(r);
    if (wf_req_done(r))
        return MPI_SUCCESS;
    if (r->type == WF_REQ_RECV)
        cancel_receive(wf_p2p_of(r));
    else if (r->type == WF_REQ_SEND)
        wf_send_cancel(wf_p2p_of(r));
    return MPI_SUCCESS;
}
