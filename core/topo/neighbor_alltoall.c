/* The forms of MPI_Neighbor_alltoall, MPI_Neighbor_alltoallv and
 * MPI_Neighbor_alltoallw (MPI-5.0 s8.6.2, s8.7, s8.8).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core_api.h"
#include "topo/neighbor.h"

/* ---- MPI_Neighbor_alltoall ----------------------------------------------- */

int wf_mpi_neighbor_alltoall(struct wf_instance *wf, const void *sendbuf,
                             MPI_Count sendcount, struct wf_type *sendtype,
                             void *recvbuf, MPI_Count recvcount,
                             struct wf_type *recvtype, struct wf_comm *comm)
{
    struct wf_coll_args a = {
        .comm = comm, .sbuf = sendbuf, .scount = (uint64_t)sendcount,
        .stype = sendtype, .rbuf = recvbuf, .rcount = (uint64_t)recvcount,
        .rtype = recvtype};
    return wf_coll_blocking(wf_neighbor_alltoall, &a);
}

int wf_mpi_ineighbor_alltoall(struct wf_instance *wf, const void *sendbuf,
                              MPI_Count sendcount, struct wf_type *sendtype,
                              void *recvbuf, MPI_Count recvcount,
                              struct wf_type *recvtype, struct wf_comm *comm,
                              MPI_Request *request)
{
    struct wf_coll_args a = {
        .comm = comm, .sbuf = sendbuf, .scount = (uint64_t)sendcount,
        .stype = sendtype, .rbuf = recvbuf, .rcount = (uint64_t)recvcount,
        .rtype = recvtype};
    return wf_coll_nonblocking(wf_neighbor_alltoall, &a, request);
}

int wf_mpi_neighbor_alltoall_init(struct wf_instance *wf, const void *sendbuf,
                                  MPI_Count sendcount, struct wf_type *sendtype,
                                  void *recvbuf, MPI_Count recvcount,
                                  struct wf_type *recvtype,
                                  struct wf_comm *comm, struct wf_info *info,
                                  MPI_Request *request)
{
    struct wf_coll_args a = {
        .comm = comm, .sbuf = sendbuf, .scount = (uint64_t)sendcount,
        .stype = sendtype, .rbuf = recvbuf, .rcount = (uint64_t)recvcount,
        .rtype = recvtype};
    return wf_coll_persistent(wf_neighbor_alltoall, &a, request);
}

/* ---- MPI_Neighbor_alltoallv ---------------------------------------------- */

int wf_mpi_neighbor_alltoallv(struct wf_instance *wf, const void *sendbuf,
                              struct wf_ints sendcounts, struct wf_ints sdispls,
                              struct wf_type *sendtype, void *recvbuf,
                              struct wf_ints recvcounts, struct wf_ints rdispls,
                              struct wf_type *recvtype, struct wf_comm *comm)
{
    struct wf_coll_args a = {
        .comm = comm, .sbuf = sendbuf, .scounts = sendcounts,
        .sdispls = sdispls, .stype = sendtype, .rbuf = recvbuf,
        .rcounts = recvcounts, .rdispls = rdispls, .rtype = recvtype};
    return wf_coll_blocking(wf_neighbor_alltoall, &a);
}

int wf_mpi_ineighbor_alltoallv(struct wf_instance *wf, const void *sendbuf,
                               struct wf_ints sendcounts,
                               struct wf_ints sdispls, struct wf_type *sendtype,
                               void *recvbuf, struct wf_ints recvcounts,
                               struct wf_ints rdispls, struct wf_type *recvtype,
                               struct wf_comm *comm, MPI_Request *request)
{
    struct wf_coll_args a = {
        .comm = comm, .sbuf = sendbuf, .scounts = sendcounts,
        .sdispls = sdispls, .stype = sendtype, .rbuf = recvbuf,
        .rcounts = recvcounts, .rdispls = rdispls, .rtype = recvtype};
    return wf_coll_nonblocking(wf_neighbor_alltoall, &a, request);
}

int wf_mpi_neighbor_alltoallv_init(struct wf_instance *wf, const void *sendbuf,
                                   struct wf_ints sendcounts,
                                   struct wf_ints sdispls,
                                   struct wf_type *sendtype, void *recvbuf,
                                   struct wf_ints recvcounts,
                                   struct wf_ints rdispls,
                                   struct wf_type *recvtype,
                                   struct wf_comm *comm, struct wf_info *info,
                                   MPI_Request *request)
{
    struct wf_coll_args a = {
        .comm = comm, .sbuf = sendbuf, .scounts = sendcounts,
        .sdispls = sdispls, .stype = sendtype, .rbuf = recvbuf,
        .rcounts = recvcounts, .rdispls = rdispls, .rtype = recvtype};
    return wf_coll_persistent(wf_neighbor_alltoall, &a, request);
}

/* ---- MPI_Neighbor_alltoallw ---------------------------------------------- */

static struct wf_ints in_bytes(const MPI_Aint *displs)
{
    return (struct wf_ints){displs, sizeof *displs};
}

int wf_mpi_neighbor_alltoallw(struct wf_instance *wf, const void *sendbuf,
                              struct wf_ints sendcounts,
                              const MPI_Aint sdispls[],
                              const MPI_Datatype sendtypes[], void *recvbuf,
                              struct wf_ints recvcounts,
                              const MPI_Aint rdispls[],
                              const MPI_Datatype recvtypes[],
                              struct wf_comm *comm)
{
    struct wf_coll_args a = {
        .comm = comm, .sbuf = sendbuf, .scounts = sendcounts,
        .sdispls = in_bytes(sdispls), .stypes = sendtypes, .rbuf = recvbuf,
        .rcounts = recvcounts, .rdispls = in_bytes(rdispls),
        .rtypes = recvtypes};
    return wf_coll_blocking(wf_neighbor_alltoall, &a);
}

int wf_mpi_ineighbor_alltoallw(struct wf_instance *wf, const void *sendbuf,
                               struct wf_ints sendcounts,
                               const MPI_Aint sdispls[],
                               const MPI_Datatype sendtypes[], void *recvbuf,
                               struct wf_ints recvcounts,
                               const MPI_Aint rdispls[],
                               const MPI_Datatype recvtypes[],
                               struct wf_comm *comm, MPI_Request *request)
{
    struct wf_coll_args a = {
        .comm = comm, .sbuf = sendbuf, .scounts = sendcounts,
        .sdispls = in_bytes(sdispls), .stypes = sendtypes, .rbuf = recvbuf,
        .rcounts = recvcounts, .rdispls = in_bytes(rdispls),
        .rtypes = recvtypes};
    return wf_coll_nonblocking(wf_neighbor_alltoall, &a, request);
}

int wf_mpi_neighbor_alltoallw_init(struct wf_instance *wf, const void *sendbuf,
                                   struct wf_ints sendcounts,
                                   const MPI_Aint sdispls[],
                                   const MPI_Datatype sendtypes[],
                                   void *recvbuf, struct wf_ints recvcounts,
                                   const MPI_Aint rdispls[],
                                   const MPI_Datatype recvtypes[],
                                   struct wf_comm *comm, struct wf_info *info,
                                   MPI_Request *request)
{
    struct wf_coll_args a = {
        .comm = comm, .sbuf = sendbuf, .scounts = sendcounts,
        .sdispls = in_bytes(sdispls), .stypes = sendtypes, .rbuf = recvbuf,
        .rcounts = recvcounts, .rdispls = in_bytes(rdispls),
        .rtypes = recvtypes};
    return wf_coll_persistent(wf_neighbor_alltoall, &a, request);
}
