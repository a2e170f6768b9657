/* Blocking point-to-point (MPI-5.0 s3.2, s3.4, s3.10).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "core_api.h"
#include "protocol/p2p.h"

int wf_mpi_send(struct wf_instance *wf, const void *buf, MPI_Count count,
                struct wf_type *datatype, int dest, int tag,
                struct wf_comm *comm)
{
    return wf_send(comm, buf, (uint64_t)count, datatype, dest, tag,
                   WF_SPACE_P2P);
}

int wf_mpi_ssend(struct wf_instance *wf, const void *buf, MPI_Count count,
                 struct wf_type *datatype, int dest, int tag,
                 struct wf_comm *comm)
{
    struct wf_req *req;
    int rc = wf_isend(comm, buf, (uint64_t)count, datatype, dest, tag,
                      WF_SPACE_P2P, WF_SEND_SYNC, &req);

    return rc ? rc : wf_wait(&req, MPI_STATUS_IGNORE);
}

int wf_mpi_rsend(struct wf_instance *wf, const void *buf, MPI_Count count,
                 struct wf_type *datatype, int dest, int tag,
                 struct wf_comm *comm)
{
    struct wf_req *req;
    int rc = wf_isend(comm, buf, (uint64_t)count, datatype, dest, tag,
                      WF_SPACE_P2P, WF_SEND_READY, &req);

    return rc ? rc : wf_wait(&req, MPI_STATUS_IGNORE);
}

int wf_mpi_recv(struct wf_instance *wf, void *buf, MPI_Count count,
                struct wf_type *datatype, int source, int tag,
                struct wf_comm *comm, MPI_Status *status)
{
    return wf_recv(comm, buf, (uint64_t)count, datatype, source, tag,
                   WF_SPACE_P2P, status);
}

/* Both requests; the status is the receive's, the error the first one. */
static int finish_pair(struct wf_req *recv, struct wf_req *send,
                       MPI_Status *status)
{
    int sent = wf_wait(&send, MPI_STATUS_IGNORE);
    int received = wf_wait(&recv, status);

    return received ? received : sent;
}

int wf_mpi_sendrecv(struct wf_instance *wf, const void *sendbuf,
                    MPI_Count sendcount, struct wf_type *sendtype, int dest,
                    int sendtag, void *recvbuf, MPI_Count recvcount,
                    struct wf_type *recvtype, int source, int recvtag,
                    struct wf_comm *comm, MPI_Status *status)
{
    struct wf_req *recv, *send;
    int rc = wf_irecv(comm, recvbuf, (uint64_t)recvcount, recvtype, source,
                      recvtag, WF_SPACE_P2P, &recv);

    if (rc)
        return rc;
    rc = wf_isend(comm, sendbuf, (uint64_t)sendcount, sendtype, dest, sendtag,
                  WF_SPACE_P2P, WF_SEND_STANDARD, &send);
    if (rc) {
        wf_req_withdraw(recv);
        return rc;
    }
    return finish_pair(recv, send, status);
}

int wf_mpi_sendrecv_replace(struct wf_instance *wf, void *buf, MPI_Count count,
                            struct wf_type *datatype, int dest, int sendtag,
                            int source, int recvtag, struct wf_comm *comm,
                            MPI_Status *status)
{
    uint64_t bytes = (uint64_t)count * (uint64_t)datatype->size;
    void *copy = malloc(bytes ? bytes : 1);
    int rc;

    if (!copy)
        return wf_error(MPI_ERR_NO_MEM, "no memory for a copy of %llu bytes",
                        (unsigned long long)bytes);
    wf_type_pack(datatype, buf, (uint64_t)count, 0, copy, bytes);
    rc = wf_mpi_sendrecv(wf, copy, (MPI_Count)bytes, wf_type_of(MPI_BYTE), dest,
                         sendtag, buf, count, datatype, source, recvtag, comm,
                         status);
    free(copy);
    return rc;
}
