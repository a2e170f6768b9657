/* MPI_Comm_create and MPI_Comm_create_group make communicators for groups
 * (MPI-5.0 s7.4.2, s7.6.2).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "comm/context.h"
#include "comm/derive.h"
#include "core_api.h"
#include "object/error.h"
#include "process/instance.h"

/* Looks up the ranks in `in` of the members of g, malloc'ed into *ranks. */
static int ranks_of_members(const struct wf_group *g, const struct wf_group *in,
                            uint32_t **ranks)
{
    struct wf_group_index x;
    int rc = MPI_SUCCESS;
    *ranks = malloc(((size_t)g->size + 1) * sizeof **ranks);
    if (!wf_group_index(&x, in) || !*ranks)
        rc = wf_error(MPI_ERR_NO_MEM, "no memory for a list of ranks");
    for (int i = 0; i < g->size && rc == MPI_SUCCESS; i++) {
        int r = wf_group_lookup(&x, wf_group_proc(g, i));
        if (r == MPI_UNDEFINED)
            rc = wf_error(MPI_ERR_GROUP,
                          "rank %d of the group is not in the communicator", i);
        else
            (*ranks)[i] = (uint32_t)r;
    }
    wf_group_index_free(&x);
    if (rc != MPI_SUCCESS)
        free(*ranks);
    return rc;
}

static struct wf_comm *make_comm_of_group(struct wf_comm *parent,
                                          struct wf_group *local,
                                          struct wf_group *remote)
{
    wf_group_get(local);
    struct wf_comm *comm = wf_comm_create(parent->wf, local, remote,
                                          WF_CONTEXT_NONE, WF_CONTEXT_NONE);
    if (comm)
        wf_comm_inherit(comm, parent);
    return comm;
}

/* Makes the group of the remote members that have these ranks. */
static struct wf_group *make_remote_group(struct wf_comm *comm,
                                          const uint32_t *ranks, uint32_t n)
{
    uint32_t *procs = malloc(((size_t)n + 1) * sizeof *procs);
    if (!procs)
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (ranks[i] >= (uint32_t)comm->peers->size) {
            free(procs);
            return NULL;
        }
        procs[i] = wf_group_proc(comm->peers, (int)ranks[i]);
    }
    return wf_group_create(comm->wf, (int)n, procs);
}

/* Each side tells the other which ranks its new group has. */
static int create_inter(struct wf_comm *comm, struct wf_group *group,
                        const uint32_t *ranks, MPI_Comm *newcomm)
{
    struct wf_derive_plan p;
    uint32_t *theirs, n;
    int rc;
    wf_derive_init_plan(&p, comm);
    rc = wf_bridge_exchange_words(&p.scope, ranks, (uint32_t)group->size,
                                  &theirs, &n);
    if (rc != MPI_SUCCESS)
        return rc;
    if (group->rank != MPI_UNDEFINED && n > 0) {
        struct wf_group *remote = make_remote_group(comm, theirs, n);
        if (remote)
            p.result = make_comm_of_group(comm, group, remote);
        if (!p.result)
            rc = wf_error(MPI_ERR_NO_MEM, "no memory for a communicator");
    }
    free(theirs);
    p.failed = rc != MPI_SUCCESS;
    return wf_derive_run(&p, rc, newcomm);
}

static int create_intra(struct wf_comm *comm, struct wf_group *group,
                        MPI_Comm *newcomm)
{
    struct wf_derive_plan p;
    int rc = MPI_SUCCESS;
    wf_derive_init_plan(&p, comm);
    if (group->rank != MPI_UNDEFINED) {
        p.result = make_comm_of_group(comm, group, NULL);
        p.failed = !p.result;
        rc = p.failed ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    }
    return wf_derive_run(&p, rc, newcomm);
}

int wf_mpi_comm_create(struct wf_instance *wf, struct wf_comm *comm,
                       struct wf_group *group, MPI_Comm *newcomm)
{
    uint32_t *ranks;
    int rc = ranks_of_members(group, comm->local, &ranks);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = comm->inter ? create_inter(comm, group, ranks, newcomm)
                     : create_intra(comm, group, newcomm);
    free(ranks);
    return rc;
}

/* Only the members of the group call; the tag tells calls of threads apart.
 * Their messages have a space of their own and meet no others. */
int wf_mpi_comm_create_group(struct wf_instance *wf, struct wf_comm *comm,
                             struct wf_group *group, int tag, MPI_Comm *newcomm)
{
    struct wf_derive_plan p = {.parent = comm};
    uint32_t *ranks;
    *newcomm = MPI_COMM_NULL;
    if (comm->inter)
        return wf_error(MPI_ERR_COMM, "the communicator is an "
                                      "intercommunicator");
    if (group->rank == MPI_UNDEFINED)
        return MPI_SUCCESS;
    int rc = ranks_of_members(group, comm->local, &ranks);
    if (rc != MPI_SUCCESS)
        return rc;
    p.scope = (struct wf_agree_scope){.comm = comm,
                                      .ranks = (const int *)ranks,
                                      .size = group->size,
                                      .me = group->rank,
                                      .tag = tag,
                                      .space = WF_SPACE_INTERNAL};
    p.key = (uint64_t)comm->context << 32 | 1u << 31 | (uint32_t)tag;
    p.result = make_comm_of_group(comm, group, NULL);
    p.failed = !p.result;
    rc = wf_derive_run(&p, p.failed ? MPI_ERR_NO_MEM : MPI_SUCCESS, newcomm);
    free(ranks);
    return rc;
}
