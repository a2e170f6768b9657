/* Disconnecting (MPI-5.0 s11.10.4): the processes of other jobs that no other
 * communicator names are forgotten.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "comm/agree.h"
#include "core_api.h"
#include "group/comm.h"
#include "meet/describe.h"
#include "meet/ports.h"
#include "object/error.h"
#include "process/rank.h"
#include "progress/engines.h"
#include "protocol/death.h"
#include "protocol/parting.h"

static bool is_idle(void *arg)
{
    struct wf_comm *comm = arg;

    return wf_parting_is_idle(comm) || wf_comm_is_dead(comm);
}

/* Waits until no member has anything left to send, or one is dead: then
 * nobody waits. */
static void agree_to_part(struct wf_meet_state *s, struct wf_comm *comm)
{
    uint64_t value = 0, input;

    wf_meet_wait(s, is_idle, comm, 0, NULL);
    wf_parting_return_credit(comm->wf);
    wf_agree_run(comm, &value, &input, 1);
}

/* Appends the members that are of other jobs. */
static int list_others(const struct wf_group *g, uint32_t *numbers, int n)
{
    for (int i = 0; i < g->size; i++)
        if (wf_group_proc(g, i) >= g->wf->rank->job.size)
            numbers[n++] = wf_group_proc(g, i);
    return n;
}

static int disconnect_others(struct wf_comm *c, MPI_Comm *handle)
{
    struct wf_instance *home = wf_home(c->wf);
    size_t most = (size_t)c->local->size + (size_t)c->peers->size;
    struct wf_meet_state *s = wf_meet_state(home);
    uint32_t *numbers = s ? malloc(most * sizeof *numbers) : NULL;
    int n, rc;

    if (!s)
        return MPI_ERR_OTHER;
    if (!numbers)
        return wf_error(MPI_ERR_NO_MEM, "no memory to disconnect");
    WF_ASSERT(c->wf == home);
    n = list_others(c->local, numbers, 0);
    if (c->inter)
        n = list_others(c->peers, numbers, n);
    agree_to_part(s, c);
    rc = wf_mpi_comm_free(c->wf, handle);
    if (rc == MPI_SUCCESS)
        wf_describe_forget(home, numbers, n, false);
    free(numbers);
    return rc;
}

/* Among processes of one job the program has completed its operations on the
 * communicator, and the library only does what MPI_Comm_free does. */
int wf_mpi_comm_disconnect(struct wf_instance *wf, MPI_Comm *comm)
{
    struct wf_comm *c = wf_comm_of(wf, *comm);

    return c && wf_comm_has_others(c) ? disconnect_others(c, comm)
                                      : wf_mpi_comm_free(wf, comm);
}
