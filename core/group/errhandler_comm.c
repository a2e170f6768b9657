/* The error handler of a communicator (MPI-5.0 s9.3).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core_api.h"
#include "group/comm.h"
#include "group/owner.h"
#include "object/errhandler.h"

int wf_mpi_comm_create_errhandler(struct wf_instance *wf,
                                  MPI_Comm_errhandler_function *fn,
                                  MPI_Errhandler *errhandler)
{
    return wf_errhandler_create(&wf_comm_owner_kind, (void (*)(void))fn,
                                errhandler);
}

int wf_mpi_comm_set_errhandler(struct wf_instance *wf, struct wf_comm *comm,
                               struct wf_errhandler *errhandler)
{
    int rc = wf_errhandler_replace(&comm->errhandler, errhandler,
                                   &wf_comm_owner_kind);
    if (rc == MPI_SUCCESS)
        comm->errhandler_given = true;
    return rc;
}

int wf_mpi_comm_get_errhandler(struct wf_instance *wf, struct wf_comm *comm,
                               MPI_Errhandler *errhandler)
{
    *errhandler = wf_errhandler_get_handle(comm->errhandler);
    return MPI_SUCCESS;
}
