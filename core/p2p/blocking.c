/* Blocking point-to-point (MPI-5.0 s3.2, s3.4, s3.10).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "p2p/blocking.h"

#include <stdlib.h>

#include "core_api.h"
#include "datatype/move.h"
#include "datatype/predefined.h"
#include "object/error.h"
#include "object/status.h"
#include "os/tuning.h"
#include "protocol/queues.h"
#include "protocol/receive.h"
#include "protocol/request.h"
#include "protocol/send.h"
#include "protocol/send_side.h"

bool wf_pack_small(struct wf_send_args *a, uint8_t room[WF_PACK_OUTSIDE])
{
    uint64_t bytes = a->count * (uint64_t)a->type->size;

    if (bytes > WF_PACK_OUTSIDE)
        return false;
    wf_type_pack(a->type, a->buf, a->count, 0, room, bytes);
    *a = (struct wf_send_args){room, bytes, wf_type_of(MPI_BYTE), a->dest,
                               a->tag};
    return true;
}

int wf_mpi_send(struct wf_instance *wf, const void *buf, MPI_Count count,
                struct wf_type *datatype, int dest, int tag,
                struct wf_comm *comm)
{
    struct wf_send_args a = {buf, (uint64_t)count, datatype, dest, tag};
    uint8_t packed[WF_PACK_OUTSIDE];
    int rc = MPI_SUCCESS;

    if (dest == MPI_PROC_NULL)
        return rc;
    wf_pack_outside(&a, packed);
    WF_SECTION(engine, wf) {
        rc = wf_error_class(
            wf_send(comm, a.buf, a.count, a.type, dest, tag, WF_SPACE_P2P));
        wf_side_offer(comm, dest);
    }
    return rc;
}

int wf_mpi_ssend(struct wf_instance *wf, const void *buf, MPI_Count count,
                 struct wf_type *datatype, int dest, int tag,
                 struct wf_comm *comm)
{
    struct wf_req *req;
    int status = wf_isend(comm, buf, (uint64_t)count, datatype, dest, tag,
                          WF_SPACE_P2P, WF_SEND_SYNC, &req);

    return wf_error_class(status ? status : wf_wait(&req, MPI_STATUS_IGNORE));
}

int wf_mpi_rsend(struct wf_instance *wf, const void *buf, MPI_Count count,
                 struct wf_type *datatype, int dest, int tag,
                 struct wf_comm *comm)
{
    struct wf_req *req;
    int status = wf_isend(comm, buf, (uint64_t)count, datatype, dest, tag,
                          WF_SPACE_P2P, WF_SEND_READY, &req);

    return wf_error_class(status ? status : wf_wait(&req, MPI_STATUS_IGNORE));
}

static int receive_inside(struct wf_comm *comm, const struct wf_receive_args *a,
                          MPI_Status *status)
{
    int rc = MPI_SUCCESS;

    WF_SECTION(engine, comm->wf)
        rc = wf_error_class(wf_recv(comm, a->buf, a->count, a->type, a->source,
                                    a->tag, WF_SPACE_P2P, status));
    return rc;
}

/* Receive a message. A large one that has arrived already is copied after the
 * section was left, so that other threads can enter meanwhile. */
static int receive_and_copy_outside(struct wf_comm *comm,
                                    const struct wf_receive_args *a,
                                    MPI_Status *status)
{
    struct wf_req *req = NULL;
    int rc = MPI_SUCCESS;

    wf_pool_prepare(wf_request_pool(comm->wf));
    WF_SECTION(engine, comm->wf) {
        rc = wf_error_class(wf_irecv_defer_copy(comm, a, &req));
        if (!rc && !wf_p2p_of(req)->stored)
            rc = wf_error_class(wf_wait(&req, status));
    }
    if (rc || !req)
        return rc;
    wf_receive_copy_stored(req);
    WF_SECTION(engine, comm->wf)
        rc = wf_error_class(wf_wait(&req, status));
    return rc;
}

int wf_mpi_recv(struct wf_instance *wf, void *buf, MPI_Count count,
                struct wf_type *datatype, int source, int tag,
                struct wf_comm *comm, MPI_Status *status)
{
    struct wf_receive_args a = {buf, (uint64_t)count, datatype, source, tag};

    if (source == MPI_PROC_NULL) {
        wf_status_set(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, false);
        return MPI_SUCCESS;
    }
    return wf_cs_is_brief(&wf->api) ? receive_and_copy_outside(comm, &a, status)
                                    : receive_inside(comm, &a, status);
}

/* Wait for both requests. The status is that of the receive; the receive's
 * error goes before that of the send. */
static int finish_pair(struct wf_req *recv, struct wf_req *send,
                       MPI_Status *status)
{
    int sent = wf_wait(&send, MPI_STATUS_IGNORE);
    int received = wf_wait(&recv, status);

    return wf_error_class(received ? received : sent);
}

static int send_and_receive(struct wf_comm *comm, const struct wf_send_args *s,
                            const struct wf_receive_args *r, MPI_Status *status)
{
    struct wf_req *recv, *send;
    int rc = wf_error_class(wf_irecv(comm, r->buf, r->count, r->type, r->source,
                                     r->tag, WF_SPACE_P2P, &recv));

    if (rc)
        return rc;
    rc =
        wf_error_class(wf_isend(comm, s->buf, s->count, s->type, s->dest,
                                s->tag, WF_SPACE_P2P, WF_SEND_STANDARD, &send));
    if (rc) {
        wf_req_withdraw(recv);
        return rc;
    }
    return finish_pair(recv, send, status);
}

int wf_mpi_sendrecv(struct wf_instance *wf, const void *sendbuf,
                    MPI_Count sendcount, struct wf_type *sendtype, int dest,
                    int sendtag, void *recvbuf, MPI_Count recvcount,
                    struct wf_type *recvtype, int source, int recvtag,
                    struct wf_comm *comm, MPI_Status *status)
{
    struct wf_send_args s = {sendbuf, (uint64_t)sendcount, sendtype, dest,
                             sendtag};
    struct wf_receive_args r = {recvbuf, (uint64_t)recvcount, recvtype, source,
                                recvtag};
    uint8_t packed[WF_PACK_OUTSIDE];
    int rc = MPI_SUCCESS;

    wf_pack_outside(&s, packed);
    WF_SECTION(engine, wf)
        rc = send_and_receive(comm, &s, &r, status);
    return rc;
}

int wf_mpi_sendrecv_replace(struct wf_instance *wf, void *buf, MPI_Count count,
                            struct wf_type *datatype, int dest, int sendtag,
                            int source, int recvtag, struct wf_comm *comm,
                            MPI_Status *status)
{
    uint64_t bytes = (uint64_t)count * (uint64_t)datatype->size;
    void *copy = malloc(bytes ? bytes : 1);
    struct wf_send_args s = {copy, bytes, wf_type_of(MPI_BYTE), dest, sendtag};
    struct wf_receive_args r = {buf, (uint64_t)count, datatype, source,
                                recvtag};
    int rc;

    if (!copy)
        return wf_error(MPI_ERR_NO_MEM, "no memory for a copy of %llu bytes",
                        (unsigned long long)bytes);
    wf_type_pack(datatype, buf, (uint64_t)count, 0, copy, bytes);
    rc = send_and_receive(comm, &s, &r, status);
    free(copy);
    return rc;
}
