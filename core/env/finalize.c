/* MPI_Finalize and MPI_Abort.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/abort.h"
#include "comm/world.h"
#include "core_api.h"
#include "env/start.h"
#include "group/comm.h"
#include "object/attr.h"
#include "object/env.h"
#include "p2p/buffered.h"
#include "process/process.h"
#include "process/rank.h"

static int delete_attributes(struct wf_instance *wf, struct wf_comm *comm)
{
    return wf_attr_delete_all(wf, WF_KIND_COMM, wf_comm_handle(comm),
                              &comm->attrs);
}

/* End the world model. The attributes of MPI_COMM_SELF are deleted first,
 * newest first, while all of MPI still works (s11.2.4): libraries use their
 * delete callbacks to end themselves. */
static int end_world(struct wf_instance *wf)
{
    int rc = MPI_SUCCESS;
    WF_SECTION(api, wf) {
        rc = delete_attributes(wf, wf->self);
        if (rc == MPI_SUCCESS)
            rc = delete_attributes(wf, wf->world);
        if (rc == MPI_SUCCESS) {
            wf_bsend_release(wf, &wf->self->bsend);
            wf_bsend_release(wf, &wf->world->bsend);
            wf_bsend_release(wf, &wf->rank->bsend);
            wf_world_end(wf, false);
        }
    }
    return rc;
}

/* If threads that are no ranks act as this rank, they no longer do. */
static void stop_acting_for_threads(struct wf_instance *wf)
{
    struct wf_instance *me = wf;
    if (wf_thread_process && wf_cas_acq_rel(&wf_process_instance, &me, NULL))
        wf_store_release(&wf_process_state.acts_for_threads, 0);
}

int wf_mpi_finalize(struct wf_instance *wf)
{
    int rc = end_world(wf);
    if (rc != MPI_SUCCESS)
        return rc;
    stop_acting_for_threads(wf);
    /* pairs with the acquire in wf_api_phase */
    wf_store_release(&wf_process()->phase, WF_PHASE_AFTER);
    return wf_start_remove_user(wf, WF_LEAVE_END);
}

int wf_mpi_abort(struct wf_instance *wf, struct wf_comm *comm, int errorcode)
{
    wf_abort(wf, errorcode,
             "weft " WEFT_VERSION ": rank %u on %s: the program called "
             "MPI_Abort with error code %d",
             wf->rank->id, wf->rank->host, errorcode);
}
