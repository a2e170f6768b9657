/* The error handler of a communicator (MPI-5.0 s9.3).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core_api.h"
#include "group/comm.h"
#include "object/errhandler.h"

int wf_mpi_comm_set_errhandler(struct wf_instance *wf, struct wf_comm *comm,
                               struct wf_errhandler *errhandler)
{
    int rc = wf_errhandler_replace(&comm->errhandler, errhandler, WF_KIND_COMM);
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
