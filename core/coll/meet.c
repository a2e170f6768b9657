/* MPI_Barrier as it is called: by the team of a communicator, if it has one; or
 * else by a schedule, the first of which finds out whether CPUs are shared.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/team.h"
#include "core_api.h"
#include "progress/progress.h"

int wf_barrier_agree(struct wf_comm *comm, uint8_t *said)
{
    struct wf_crowd crowd = {.any = *said};
    struct wf_coll_args a = {.comm = comm, .rbuf = &crowd};
    int rc = wf_coll_blocking(wf_barrier_first, &a);

    *said = crowd.any;
    return rc;
}

static int by_schedule(struct wf_instance *wf, struct wf_comm *comm)
{
    struct wf_coll_args a = {.comm = comm, .rbuf = &comm->crowd};
    int rc;

    if (comm->crowd.known || comm->inter)
        return wf_coll_blocking(wf_build_barrier, &a);
    comm->crowd.any = wf_progress_crowded(wf);
    rc = wf_coll_blocking(wf_barrier_first, &a);
    comm->crowd.known = rc == MPI_SUCCESS;
    return rc;
}

int wf_mpi_barrier(struct wf_instance *wf, struct wf_comm *comm)
{
    int rc;

    if (wf_likely(wf_team_usable(comm)) || wf_team_caught_up(comm))
        return wf_team_barrier(comm->team);
    rc = by_schedule(wf, comm);
    wf_team_count(comm, rc);
    return rc;
}
