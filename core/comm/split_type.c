/* MPI_Comm_split_type: splitting by what processes share (MPI-5.0 s7.4.2).
 *
 * The one hardware resource that is known is the node, whose memory its
 * processes can share. It is what the guided types know by the name
 * "mpi_shared_memory", and what the unguided type finds once: below a node it
 * finds nothing more.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "comm/split.h"
#include "core_api.h"
#include "env/info.h"
#include "instance.h"

#define RESOURCE "mpi_hw_resource_type"

static bool guided_by_node(const struct wf_info *info)
{
    const char *resource = wf_info_find(info, RESOURCE);
    return resource && !strcmp(resource, "mpi_shared_memory");
}

/* The unguided split says in the caller's info object what it found. */
static int split_unguided(struct wf_comm *comm, struct wf_split *s,
                          struct wf_info *info, MPI_Comm *newcomm)
{
    s->strict = true;
    int rc = wf_split(comm, s, newcomm);
    if (rc != MPI_SUCCESS || *newcomm == MPI_COMM_NULL || !info ||
        info->read_only)
        return rc;
    if (wf_info_put(info, RESOURCE, "mpi_shared_memory") == MPI_SUCCESS)
        return MPI_SUCCESS;
    wf_log(comm->wf, WF_LOG_WARN, "no memory to tell the resource of a split");
    return MPI_SUCCESS;
}

int wf_mpi_comm_split_type(struct wf_instance *wf, struct wf_comm *comm,
                           int split_type, int key, struct wf_info *info,
                           MPI_Comm *newcomm)
{
    struct wf_split s = {.member = true,
                         .color_high = (uint32_t)(wf->node >> 32),
                         .color_low = (uint32_t)wf->node,
                         .key = key};
    switch (split_type) {
    case MPI_COMM_TYPE_SHARED:
        break;
    case MPI_COMM_TYPE_HW_UNGUIDED:
        return split_unguided(comm, &s, info, newcomm);
    case MPI_COMM_TYPE_HW_GUIDED:
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
        s.member = guided_by_node(info);
        break;
    case MPI_UNDEFINED:
        s.member = false;
        break;
    default:
        return wf_error(MPI_ERR_ARG, "split_type %d is not known", split_type);
    }
    return wf_split(comm, &s, newcomm);
}
