/* The forms of MPI_Neighbor_allgather and MPI_Neighbor_allgatherv (MPI-5.0
 * s8.6.1, s8.7, s8.8).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core_api.h"
#include "topo/neighbor.h"

/* ---- MPI_Neighbor_allgather ---------------------------------------------- */

int wf_mpi_neighbor_allgather(struct wf_instance *wf, const void *sendbuf,
                              MPI_Count sendcount, struct wf_type *sendtype,
                              void *recvbuf, MPI_Count recvcount,
                              struct wf_type *recvtype, struct wf_comm *comm)
{
    struct wf_coll_args a = {
        .comm = comm, .sbuf = sendbuf, .scount = (uint64_t)sendcount,
        .stype = sendtype, .rbuf = recvbuf, .rcount = (uint64_t)recvcount,
        .rtype = recvtype};
    return wf_coll_blocking(wf_neighbor_allgather, &a);
}

int wf_mpi_ineighbor_allgather(struct wf_instance *wf, const void *sendbuf,
                               MPI_Count sendcount, struct wf_type *sendtype,
                               void *recvbuf, MPI_Count recvcount,
                               struct wf_type *recvtype, struct wf_comm *comm,
                               MPI_Request *request)
{
    struct wf_coll_args a = {
        .comm = comm, .sbuf = sendbuf, .scount = (uint64_t)sendcount,
        .stype = sendtype, .rbuf = recvbuf, .rcount = (uint64_t)recvcount,
        .rtype = recvtype};
    return wf_coll_nonblocking(wf_neighbor_allgather, &a, request);
}

int wf_mpi_neighbor_allgather_init(struct wf_instance *wf, const void *sendbuf,
                                   MPI_Count sendcount,
                                   struct wf_type *sendtype, void *recvbuf,
                                   MPI_Count recvcount,
                                   struct wf_type *recvtype,
                                   struct wf_comm *comm, struct wf_info *info,
                                   MPI_Request *request)
{
    struct wf_coll_args a = {
        .comm = comm, .sbuf = sendbuf, .scount = (uint64_t)sendcount,
        .stype = sendtype, .rbuf = recvbuf, .rcount = (uint64_t)recvcount,
        .rtype = recvtype};
    return wf_coll_persistent(wf_neighbor_allgather, &a, request);
}

/* ---- MPI_Neighbor_allgatherv --------------------------------------------- */

int wf_mpi_neighbor_allgatherv(struct wf_instance *wf, const void *sendbuf,
                               MPI_Count sendcount, struct wf_type *sendtype,
                               void *recvbuf, struct wf_ints recvcounts,
                               struct wf_ints displs, struct wf_type *recvtype,
                               struct wf_comm *comm)
{
    struct wf_coll_args a = {
        .comm = comm, .sbuf = sendbuf, .scount = (uint64_t)sendcount,
        .stype = sendtype, .rbuf = recvbuf, .rcounts = recvcounts,
        .rdispls = displs, .rtype = recvtype};
    return wf_coll_blocking(wf_neighbor_allgather, &a);
}

int wf_mpi_ineighbor_allgatherv(struct wf_instance *wf, const void *sendbuf,
                                MPI_Count sendcount, struct wf_type *sendtype,
                                void *recvbuf, struct wf_ints recvcounts,
                                struct wf_ints displs, struct wf_type *recvtype,
                                struct wf_comm *comm, MPI_Request *request)
{
    struct wf_coll_args a = {
        .comm = comm, .sbuf = sendbuf, .scount = (uint64_t)sendcount,
        .stype = sendtype, .rbuf = recvbuf, .rcounts = recvcounts,
        .rdispls = displs, .rtype = recvtype};
    return wf_coll_nonblocking(wf_neighbor_allgather, &a, request);
}

int wf_mpi_neighbor_allgatherv_init(struct wf_instance *wf, const void *sendbuf,
                                    MPI_Count sendcount,
                                    struct wf_type *sendtype, void *recvbuf,
                                    struct wf_ints recvcounts,
                                    struct wf_ints displs,
                                    struct wf_type *recvtype,
                                    struct wf_comm *comm, struct wf_info *info,
                                    MPI_Request *request)
{
    struct wf_coll_args a = {
        .comm = comm, .sbuf = sendbuf, .scount = (uint64_t)sendcount,
        .stype = sendtype, .rbuf = recvbuf, .rcounts = recvcounts,
        .rdispls = displs, .rtype = recvtype};
    return wf_coll_persistent(wf_neighbor_allgather, &a, request);
}
