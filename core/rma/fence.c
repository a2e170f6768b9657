/* Fence (MPI-5.0 s12.5.1): all operations are completed at their targets, then
 * a barrier.
 *
 * DESIGN  The alternative, a reduction of how many operations go to each member
 * and a wait for as many, saves a round trip to each target, but sends a number
 * for each member, and lets a member that is through begin to change memory
 * while operations of the old epoch are under way to it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core_api.h"
#include "object/error.h"
#include "rma/epoch.h"
#include "rma/open.h"

static int check_fence(struct wf_win *win, int assert)
{
    int rc = wf_epoch_check_assert(assert, MPI_MODE_NOSTORE | MPI_MODE_NOPUT |
                                               MPI_MODE_NOPRECEDE |
                                               MPI_MODE_NOSUCCEED);

    if (rc == MPI_SUCCESS && wf_win_access(win) != WF_ACCESS_FENCE)
        rc = wf_epoch_check_open(win, "MPI_Win_fence");
    if (rc == MPI_SUCCESS && win->exposed)
        rc = wf_error(MPI_ERR_RMA_SYNC,
                      "MPI_Win_fence while %s is exposed by MPI_Win_post: call "
                      "MPI_Win_wait first",
                      wf_win_name(win).text);
    return rc;
}

/* Sets the epoch that follows a fence, unless it is as it was. */
static void begin_epoch(struct wf_win *win, enum wf_win_epoch access)
{
    if (wf_likely(!win->fence_used && wf_win_access(win) == access))
        return;
    win->fence_used = false;
    wf_open_set_access(win, access);
}

int wf_mpi_win_fence(struct wf_instance *wf, int assert, struct wf_win *win)
{
    enum { ALONE = MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED };
    int rc = check_fence(win, assert), barrier = MPI_SUCCESS;

    if (rc)
        return rc;
    if (!wf_list_empty(&win->dirty))
        rc = wf_epoch_flush_all(win, false);
    if ((assert &ALONE) != ALONE)
        barrier = wf_mpi_barrier(wf, win->comm);
    begin_epoch(win,
                assert &MPI_MODE_NOSUCCEED ? WF_ACCESS_NONE : WF_ACCESS_FENCE);
    return rc ? rc : barrier;
}
