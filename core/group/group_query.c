/* Groups are queried here, and those of communicators are returned (MPI-5.0
 * s7.3.1, s7.3.2).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "group/group_query.h"

#include "core_api.h"
#include "group/comm.h"
#include "group/group.h"
#include "object/env.h"
#include "object/error.h"
#include "process/rank.h"

int wf_mpi_group_size(struct wf_instance *wf, struct wf_group *group, int *size)
{
    *size = group->size;
    return MPI_SUCCESS;
}

int wf_mpi_group_rank(struct wf_instance *wf, struct wf_group *group, int *rank)
{
    *rank = group->rank;
    return MPI_SUCCESS;
}

int wf_mpi_group_translate_ranks(struct wf_instance *wf,
                                 struct wf_group *group1, int n,
                                 const int ranks1[], struct wf_group *group2,
                                 int ranks2[])
{
    struct wf_group_index in2;
    int rc = MPI_SUCCESS;
    if (!wf_group_index(&in2, group2))
        return wf_error(MPI_ERR_NO_MEM, "no memory to translate ranks");
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        int r = ranks1[i];
        if (r == MPI_PROC_NULL)
            ranks2[i] = MPI_PROC_NULL;
        else if (r < 0 || r >= group1->size)
            rc = wf_error(MPI_ERR_RANK,
                          "ranks1[%d] is %d, but group1 has %d members", i, r,
                          group1->size);
        else
            ranks2[i] = wf_group_lookup(&in2, wf_group_proc(group1, r));
    }
    wf_group_index_free(&in2);
    return rc;
}

bool wf_group_is_same_order(const struct wf_group *a, const struct wf_group *b)
{
    if (a == b)
        return true;
    if (a->size != b->size)
        return false;
    for (int i = 0; i < a->size; i++)
        if (wf_group_proc(a, i) != wf_group_proc(b, i))
            return false;
    return true;
}

int wf_group_compare(struct wf_group *a, struct wf_group *b, int *result)
{
    struct wf_group_index in_b;
    *result = MPI_UNEQUAL;
    if (wf_group_is_same_order(a, b))
        *result = MPI_IDENT;
    if (*result == MPI_IDENT || a->size != b->size)
        return MPI_SUCCESS;
    if (!wf_group_index(&in_b, b))
        return wf_error(MPI_ERR_NO_MEM, "no memory to compare groups");
    int i = 0;
    while (i < a->size &&
           wf_group_lookup(&in_b, wf_group_proc(a, i)) != MPI_UNDEFINED)
        i++;
    if (i == a->size)
        *result = MPI_SIMILAR;
    wf_group_index_free(&in_b);
    return MPI_SUCCESS;
}

int wf_mpi_group_compare(struct wf_instance *wf, struct wf_group *group1,
                         struct wf_group *group2, int *result)
{
    return wf_group_compare(group1, group2, result);
}

/* s7.3.3: MPI_GROUP_EMPTY is a handle like others, but is not freed. */
int wf_mpi_group_free(struct wf_instance *wf, MPI_Group *group)
{
    if (*group != MPI_GROUP_EMPTY)
        wf_group_put((struct wf_group *)*group);
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}

static MPI_Group new_handle_of(struct wf_group *g)
{
    MPI_Group handle = wf_group_handle(g);
    if (handle != MPI_GROUP_EMPTY)
        wf_group_get(g);
    return handle;
}

int wf_mpi_comm_group(struct wf_instance *wf, struct wf_comm *comm,
                      MPI_Group *group)
{
    *group = new_handle_of(comm->local);
    return MPI_SUCCESS;
}

int wf_mpi_comm_remote_group(struct wf_instance *wf, struct wf_comm *comm,
                             MPI_Group *group)
{
    if (!comm->inter)
        return wf_error(MPI_ERR_COMM, "an intracommunicator has no remote "
                                      "group");
    *group = new_handle_of(comm->peers);
    return MPI_SUCCESS;
}
