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

/* The agreement of all members that they have nothing left to send. */
struct farewell {
    struct wf_comm *comm;
    struct wf_agree_scope scope;
    struct wf_agree agree;
    uint64_t value, input;
    bool over;
};

static void note_agreed(struct wf_agree *a)
{
    struct farewell *f = a->arg;

    f->over = true;
}

static bool is_over(void *arg)
{
    return ((const struct farewell *)arg)->over;
}

static bool is_idle(void *arg)
{
    const struct farewell *f = arg;

    return wf_parting_is_idle(f->comm) || wf_comm_is_dead(f->comm);
}

/* Waits until no member has anything left to send, or one is dead: then
 * nobody waits. */
static void agree_to_part(struct wf_meet_state *s, struct wf_comm *comm)
{
    struct farewell f = {.comm = comm};

    f.agree = (struct wf_agree){.scope = &f.scope,
                                .n = 1,
                                .value = &f.value,
                                .input = &f.input,
                                .resume = note_agreed,
                                .arg = &f};
    wf_meet_wait(s, is_idle, &f, 0);
    wf_parting_return_credit(comm->wf);
    wf_agree_init_scope(&f.scope, comm);
    if (!wf_agree_start(&f.agree))
        wf_meet_wait(s, is_over, &f, 0);
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
        wf_describe_forget(home, numbers, n);
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
