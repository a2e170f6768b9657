/* Persistent requests (MPI-5.0 s3.9): arguments bound once, started often.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core_api.h"
#include "object/error.h"
#include "p2p/buffered.h"
#include "protocol/helper.h"
#include "protocol/helper_requests.h"
#include "protocol/queues.h"
#include "protocol/receive.h"
#include "protocol/request.h"
#include "protocol/send.h"

/* Create an inactive persistent request; inactive counts as done, with an empty
 * status. */
static struct wf_p2p *create_persistent(struct wf_comm *comm,
                                        enum wf_req_type type, int peer,
                                        int tag)
{
    struct wf_p2p *p = wf_p2p_alloc(comm, type);

    if (!p)
        return NULL;
    p->peer = peer;
    p->tag = tag;
    p->space = WF_SPACE_P2P;
    p->mode = WF_SEND_STANDARD;
    p->req.flags = WF_REQ_PERSISTENT;
    wf_store_relaxed(&p->req.done, 1);
    return p;
}

static int create_send(struct wf_comm *comm, const struct wf_send_args *a,
                       enum wf_send_mode mode, MPI_Request *request)
{
    struct wf_p2p *p = create_persistent(comm, WF_REQ_SEND, a->dest, a->tag);

    if (!p)
        return MPI_ERR_NO_MEM;
    p->mode = (uint8_t)mode;
    wf_p2p_set_buffer(p, (void *)(uintptr_t)a->buf, a->count, a->type);
    *request = (MPI_Request)&p->req;
    return MPI_SUCCESS;
}

int wf_mpi_send_init(struct wf_instance *wf, const void *buf, MPI_Count count,
                     struct wf_type *datatype, int dest, int tag,
                     struct wf_comm *comm, MPI_Request *request)
{
    struct wf_send_args a = {buf, (uint64_t)count, datatype, dest, tag};

    return create_send(comm, &a, WF_SEND_STANDARD, request);
}

int wf_mpi_ssend_init(struct wf_instance *wf, const void *buf, MPI_Count count,
                      struct wf_type *datatype, int dest, int tag,
                      struct wf_comm *comm, MPI_Request *request)
{
    struct wf_send_args a = {buf, (uint64_t)count, datatype, dest, tag};

    return create_send(comm, &a, WF_SEND_SYNC, request);
}

int wf_mpi_rsend_init(struct wf_instance *wf, const void *buf, MPI_Count count,
                      struct wf_type *datatype, int dest, int tag,
                      struct wf_comm *comm, MPI_Request *request)
{
    struct wf_send_args a = {buf, (uint64_t)count, datatype, dest, tag};

    return create_send(comm, &a, WF_SEND_READY, request);
}

static int start_buffered(struct wf_req *r)
{
    struct wf_p2p *p = wf_p2p_of(r);
    struct wf_send_args a = {p->buf, p->count, p->type, p->peer, p->tag};
    int rc = wf_bsend(r->comm, &a);

    if (rc == MPI_SUCCESS)
        wf_req_complete(r, 0);
    return rc;
}

int wf_mpi_bsend_init(struct wf_instance *wf, const void *buf, MPI_Count count,
                      struct wf_type *datatype, int dest, int tag,
                      struct wf_comm *comm, MPI_Request *request)
{
    struct wf_send_args a = {buf, (uint64_t)count, datatype, dest, tag};
    int rc = create_send(comm, &a, WF_SEND_STANDARD, request);

    if (rc == MPI_SUCCESS)
        ((struct wf_req *)*request)->start = start_buffered;
    return rc;
}

int wf_mpi_recv_init(struct wf_instance *wf, void *buf, MPI_Count count,
                     struct wf_type *datatype, int source, int tag,
                     struct wf_comm *comm, MPI_Request *request)
{
    struct wf_p2p *p = create_persistent(comm, WF_REQ_RECV, source, tag);

    if (!p)
        return MPI_ERR_NO_MEM;
    wf_p2p_set_buffer(p, buf, (uint64_t)count, datatype);
    *request = (MPI_Request)&p->req;
    return MPI_SUCCESS;
}

static int start_one(struct wf_req *r)
{
    int rc;

    if (!r || !(r->flags & WF_REQ_PERSISTENT))
        return wf_error(MPI_ERR_REQUEST,
                        "the request is not persistent: only those of "
                        "MPI_Send_init, MPI_Recv_init and other functions with "
                        "_init in their names are started");
    if (r->flags & WF_REQ_ACTIVE)
        return wf_error_on(r->comm, MPI_ERR_REQUEST,
                           "the persistent request is active; wait for it "
                           "before starting it again");
    r->flags = (r->flags & ~(uint32_t)WF_REQ_CANCELLED) | WF_REQ_ACTIVE;
    r->error = 0;
    wf_store_relaxed(&r->done, 0);
    if (r->start)
        rc = r->start(r);
    else if (r->type == WF_REQ_SEND)
        rc = wf_error_class(wf_send_restart(wf_p2p_of(r)));
    else
        rc = wf_error_class(wf_receive_start(wf_p2p_of(r)));
    if (rc) {
        r->flags &= ~(uint32_t)WF_REQ_ACTIVE;
        wf_store_relaxed(&r->done, 1);
        wf_error_last()->owner = &r->comm->object;
    } else
        wf_register_with_helper(r);
    return rc;
}

int wf_mpi_start(struct wf_instance *wf, MPI_Request *request)
{
    return start_one(wf_req_of(*request));
}

int wf_mpi_startall(struct wf_instance *wf, int count,
                    MPI_Request array_of_requests[])
{
    int rc = MPI_SUCCESS;

    for (int i = 0; i < count && rc == MPI_SUCCESS; i++)
        rc = start_one(wf_req_of(array_of_requests[i]));
    return rc;
}
