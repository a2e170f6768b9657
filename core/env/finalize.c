/* MPI_Finalize and MPI_Abort.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core_api.h"
#include "env/attr.h"
#include "env/env.h"

static int delete_attributes(struct wf_instance *wf, struct wf_comm *comm)
{
    return wf_attr_delete_all(wf, WF_KIND_COMM, wf_comm_handle(comm),
                              &comm->attrs);
}

/* s11.2.4: the attributes of MPI_COMM_SELF go first, newest first, while MPI
 * still works in full; libraries hang their own end on them. */
int wf_mpi_finalize(struct wf_instance *wf)
{
    int rc = delete_attributes(wf, wf->self);
    if (rc == MPI_SUCCESS)
        rc = delete_attributes(wf, wf->world);
    if (rc != MPI_SUCCESS)
        return rc;
    bool mine = wf == wf_process_instance;
    int r = wf_instance_destroy(wf);
    if (r < 0)
        return wf_error(MPI_ERR_INTERN, "ending failed with code %d", r);
    if (mine)
        wf_process_instance = NULL;
    else
        wf_thread_instance = NULL;
    return MPI_SUCCESS;
}

int wf_mpi_abort(struct wf_instance *wf, struct wf_comm *comm, int errorcode)
{
    wf_abort(wf, errorcode,
             "weft " WEFT_VERSION ": rank %u on %s: the program called "
             "MPI_Abort with error code %d",
             wf->rank, wf->host, errorcode);
}
