/* Nonblocking point-to-point (MPI-5.0 s3.7, s3.10).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "core_api.h"
#include "datatype/move.h"
#include "datatype/predefined.h"
#include "object/error.h"
#include "os/tuning.h"
#include "p2p/blocking.h"
#include "protocol/helper.h"
#include "protocol/helper_requests.h"
#include "protocol/queues.h"
#include "protocol/receive.h"
#include "protocol/send.h"
#include "protocol/send_side.h"

/* Let the progress thread attend to a request that the program has got now, if
 * it was started with success: status 0. Returns the error class. */
static int attend_request(int status, MPI_Request *request)
{
    if (status == 0)
        wf_register_with_helper((struct wf_req *)*request);
    return wf_error_class(status);
}

static int post_send(struct wf_comm *comm, const struct wf_send_args *a,
                     enum wf_send_mode mode, MPI_Request *request)
{
    return attend_request(wf_isend(comm, a->buf, a->count, a->type, a->dest,
                                   a->tag, WF_SPACE_P2P, mode,
                                   (struct wf_req **)request),
                          request);
}

/* Pack small noncontiguous data before the section is entered; NULL: the data
 * is contiguous or large, or the section is around the whole call. */
static const struct wf_send_args *pack_as_bytes(const struct wf_send_args *a,
                                                struct wf_send_args *small,
                                                uint8_t room[WF_PACK_OUTSIDE])
{
    if (!WF_BRIEF || wf_likely(wf_type_is_contiguous(a->type)))
        return NULL;
    *small = *a;
    return wf_pack_small(small, room) ? small : NULL;
}

/* Start a send inside the engine. packed: the result of pack_as_bytes. */
static int isend_inside(struct wf_comm *comm, const struct wf_send_args *a,
                        const struct wf_send_args *packed, MPI_Request *request)
{
    if (packed && wf_isend_bytes(comm, packed->buf, packed->count, a->dest,
                                 a->tag, (struct wf_req **)request))
        return MPI_SUCCESS;
    return post_send(comm, a, WF_SEND_WINDOW, request);
}

int wf_mpi_isend(struct wf_instance *wf, const void *buf, MPI_Count count,
                 struct wf_type *datatype, int dest, int tag,
                 struct wf_comm *comm, MPI_Request *request)
{
    struct wf_send_args a = {buf, (uint64_t)count, datatype, dest, tag};
    struct wf_req **out = (struct wf_req **)request;
    struct wf_send_args small;
    const struct wf_send_args *bytes;
    uint8_t packed[WF_PACK_OUTSIDE];
    int rc = MPI_SUCCESS;

    *out = &wf->engine->sent;
    if (dest == MPI_PROC_NULL)
        return rc;
    bytes = pack_as_bytes(&a, &small, packed);
    WF_SECTION(engine, wf) {
        rc = isend_inside(comm, &a, bytes, request);
        wf_side_offer(comm, dest);
    }
    return rc;
}

int wf_mpi_issend(struct wf_instance *wf, const void *buf, MPI_Count count,
                  struct wf_type *datatype, int dest, int tag,
                  struct wf_comm *comm, MPI_Request *request)
{
    struct wf_send_args a = {buf, (uint64_t)count, datatype, dest, tag};

    return post_send(comm, &a, WF_SEND_SYNC, request);
}

int wf_mpi_irsend(struct wf_instance *wf, const void *buf, MPI_Count count,
                  struct wf_type *datatype, int dest, int tag,
                  struct wf_comm *comm, MPI_Request *request)
{
    struct wf_send_args a = {buf, (uint64_t)count, datatype, dest, tag};

    return post_send(comm, &a, WF_SEND_READY, request);
}

static int irecv_inside(struct wf_comm *comm, const struct wf_receive_args *a,
                        bool aside, MPI_Request *request)
{
    struct wf_req **out = (struct wf_req **)request;
    int status = aside ? wf_irecv_defer_copy(comm, a, out)
                       : wf_irecv(comm, a->buf, a->count, a->type, a->source,
                                  a->tag, WF_SPACE_P2P, out);

    if (a->count * (uint64_t)a->type->size < WF_HELP_MIN_BYTES)
        return wf_error_class(status);
    if (status == 0 && a->source != MPI_PROC_NULL && !aside)
        wf_helper_poll_announcement(*out);
    return attend_request(status, request);
}

int wf_mpi_irecv(struct wf_instance *wf, void *buf, MPI_Count count,
                 struct wf_type *datatype, int source, int tag,
                 struct wf_comm *comm, MPI_Request *request)
{
    struct wf_receive_args a = {buf, (uint64_t)count, datatype, source, tag};
    struct wf_req **out = (struct wf_req **)request;
    bool threads = wf_cs_is_brief(&wf->api);
    int rc = MPI_SUCCESS;

    if (WF_BRIEF && source == MPI_PROC_NULL) {
        *out = &wf->engine->from_proc_null;
        return rc;
    }
    if (threads)
        wf_pool_prepare(wf_request_pool(wf));
    WF_SECTION(engine, wf)
        rc = irecv_inside(comm, &a, threads, request);
    if (threads && !rc)
        wf_receive_copy_stored(*out);
    return rc;
}

/* ---- send and receive as one request --------------------------------------
 *
 * The pair's request completes when both halves have completed; its status is
 * that of the receive. The on_complete function of each half releases it. */

struct pair {
    struct wf_req *request;
    int left;   /* halves that are not complete */
    void *copy; /* the data that isendrecv_replace sends */
};

static int destroy_pair(struct wf_req *r)
{
    struct pair *p = r->context;

    free(p->copy);
    free(p);
    return MPI_SUCCESS;
}

static void complete_half(struct wf_req *half)
{
    struct pair *p = half->context;
    struct wf_req *whole = p->request;

    if (half->type == WF_REQ_RECV) {
        whole->source = half->source;
        whole->tag = half->tag;
        whole->bytes = half->bytes;
    }
    if (half->error && !whole->error)
        whole->error = half->error;
    wf_req_release(half);
    if (--p->left == 0)
        wf_req_complete(whole, 0);
}

static struct pair *create_pair(struct wf_comm *comm, void *copy)
{
    struct pair *p = calloc(1, sizeof *p);
    struct wf_req *r =
        wf_req_create(comm->wf, WF_REQ_SCHEDULE, comm, "send and receive");

    if (!p || !r) {
        free(p);
        free(copy);
        if (r)
            wf_req_abandon(r);
        return NULL;
    }
    p->request = r;
    p->left = 2;
    p->copy = copy;
    r->context = p;
    r->destroy = destroy_pair;
    return p;
}

static void adopt_half(struct pair *p, struct wf_req *half)
{
    bool shared = half->type == WF_REQ_NOOP; /* a send that is done already */

    if (shared) {
        if (--p->left == 0)
            wf_req_complete(p->request, 0);
        return;
    }
    half->context = p;
    half->on_complete = complete_half;
    if (wf_req_done(half))
        complete_half(half);
}

int wf_mpi_isendrecv(struct wf_instance *wf, const void *sendbuf,
                     MPI_Count sendcount, struct wf_type *sendtype, int dest,
                     int sendtag, void *recvbuf, MPI_Count recvcount,
                     struct wf_type *recvtype, int source, int recvtag,
                     struct wf_comm *comm, MPI_Request *request)
{
    struct pair *p = create_pair(comm, NULL);
    struct wf_req *recv, *send;
    int status;

    if (!p)
        return wf_error(MPI_ERR_NO_MEM, "out of memory for a request");
    status = wf_irecv(comm, recvbuf, (uint64_t)recvcount, recvtype, source,
                      recvtag, WF_SPACE_P2P, &recv);
    if (status)
        goto err_recv;
    status = wf_isend(comm, sendbuf, (uint64_t)sendcount, sendtype, dest,
                      sendtag, WF_SPACE_P2P, WF_SEND_STANDARD, &send);
    if (status)
        goto err_send;
    *request = (MPI_Request)p->request;
    adopt_half(p, send);
    adopt_half(p, recv);
    return attend_request(0, request);

err_send:
    wf_req_withdraw(recv);
err_recv:
    wf_req_abandon(p->request);
    return wf_error_class(status);
}

int wf_mpi_isendrecv_replace(struct wf_instance *wf, void *buf, MPI_Count count,
                             struct wf_type *datatype, int dest, int sendtag,
                             int source, int recvtag, struct wf_comm *comm,
                             MPI_Request *request)
{
    uint64_t bytes = (uint64_t)count * (uint64_t)datatype->size;
    void *copy = malloc(bytes ? bytes : 1);
    struct pair *p;
    int rc;

    if (!copy)
        return wf_error(MPI_ERR_NO_MEM, "no memory for a copy of %llu bytes",
                        (unsigned long long)bytes);
    wf_type_pack(datatype, buf, (uint64_t)count, 0, copy, bytes);
    rc = wf_mpi_isendrecv(wf, copy, (MPI_Count)bytes, wf_type_of(MPI_BYTE),
                          dest, sendtag, buf, count, datatype, source, recvtag,
                          comm, request);
    if (rc) {
        free(copy);
        return rc;
    }
    p = ((struct wf_req *)*request)->context;
    p->copy = copy; /* freed with the request */
    return MPI_SUCCESS;
}
