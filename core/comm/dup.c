/* Communicators are duplicated here, blocking and nonblocking (MPI-5.0 s7.4.2).
 *
 * The topology is kept. Attributes are copied when the call is made, so that
 * later changes of the original do not matter; only the agreement on the
 * context id goes on in the background.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "comm/channel.h"
#include "comm/channel_info.h"
#include "comm/derive.h"
#include "comm/engines.h"
#include "comm/query.h"
#include "core_api.h"
#include "group/comm.h"
#include "group/topology.h"
#include "object/attr.h"
#include "object/error.h"
#include "object/info.h"
#include "process/instance.h"
#include "report/error.h"

static struct wf_comm *copy_comm(struct wf_comm *comm)
{
    wf_group_get(comm->local);
    if (comm->inter)
        wf_group_get(comm->peers);
    struct wf_comm *copy =
        wf_comm_create(comm->wf, comm->local, comm->inter ? comm->peers : NULL,
                       WF_CONTEXT_NONE, WF_CONTEXT_NONE);
    if (!copy)
        return NULL;
    wf_comm_inherit(copy, comm);
    wf_topo_get(comm->topo);
    copy->topo = comm->topo;
    return copy;
}

/* Hints of the original are not copied; those of info apply (s7.4.2). */
static int copy_hints_and_attrs(struct wf_comm *copy, struct wf_comm *comm,
                                struct wf_info *info)
{
    if (info && !(copy->info = wf_info_copy(info)))
        return wf_error(MPI_ERR_NO_MEM, "no memory for hints");
    wf_comm_update_hints(copy);
    return wf_attr_copy_all(comm->wf, WF_KIND_COMM, wf_comm_handle(comm),
                            comm->attrs, &copy->attrs);
}

static int plan_dup(struct wf_derive_plan *p, struct wf_comm *comm,
                    struct wf_info *info, struct wf_channel_terms *terms)
{
    int rc = MPI_ERR_NO_MEM;
    wf_derive_init_plan(p, comm);
    p->result = copy_comm(comm);
    if (p->result)
        rc = wf_channel_read(info, terms);
    if (p->result && rc == MPI_SUCCESS)
        rc = copy_hints_and_attrs(p->result, comm, info);
    p->failed = rc != MPI_SUCCESS;
    return rc;
}

/* Makes the channel that the info of a new communicator asks for, if all
 * members have one free; its keys then are in force. */
static int add_channel(struct wf_comm *parent, struct wf_comm *comm,
                       const struct wf_channel_terms *terms, int channel)
{
    if (channel < 0) {
        wf_channels_log_refusal(parent->wf,
                                "no channel is free in all members, or one of "
                                "them does not ask for it");
        return MPI_SUCCESS;
    }
    int rc = wf_channel_make(parent, comm, terms, channel);
    if (rc == MPI_SUCCESS && comm->channel)
        wf_channel_put_keys(comm->info, terms);
    return rc;
}

int wf_mpi_comm_dup_with_info(struct wf_instance *wf, struct wf_comm *comm,
                              struct wf_info *info, MPI_Comm *newcomm)
{
    struct wf_derive_plan p;
    struct wf_channel_terms terms;
    int channel = -1, rc = plan_dup(&p, comm, info, &terms);
    if (rc == MPI_SUCCESS && terms.wanted)
        p.channel = &channel;
    rc = wf_derive_run(&p, rc, newcomm);
    if (rc != MPI_SUCCESS || !p.channel)
        return rc;
    rc = add_channel(comm, p.result, &terms, channel);
    if (rc != MPI_SUCCESS) {
        wf_derive_discard(p.result);
        *newcomm = MPI_COMM_NULL;
    }
    return rc;
}

int wf_mpi_comm_dup(struct wf_instance *wf, struct wf_comm *comm,
                    MPI_Comm *newcomm)
{
    return wf_mpi_comm_dup_with_info(wf, comm, NULL, newcomm);
}

/* Tells the other members, in the background, that this one failed. */
static int tell_members(struct wf_derive_plan *p, int rc)
{
    struct wf_req *r;
    struct wf_comm *copy = p->result;
    p->result = NULL;
    if (copy)
        wf_comm_put(copy);
    if (wf_derive_start(p, &r) == MPI_SUCCESS)
        wf_req_release(r);
    return rc;
}

int wf_mpi_comm_idup_with_info(struct wf_instance *wf, struct wf_comm *comm,
                               struct wf_info *info, MPI_Comm *newcomm,
                               MPI_Request *request)
{
    struct wf_derive_plan p;
    struct wf_channel_terms ignored; /* making a channel would block */
    struct wf_req *r;
    int rc = plan_dup(&p, comm, info, &ignored);
    *newcomm = MPI_COMM_NULL;
    *request = MPI_REQUEST_NULL;
    if (rc != MPI_SUCCESS)
        return tell_members(&p, rc);
    rc = wf_derive_start(&p, &r);
    if (rc != MPI_SUCCESS) {
        wf_comm_put(p.result);
        return rc;
    }
    *newcomm = wf_comm_handle(p.result);
    *request = (MPI_Request)r;
    return MPI_SUCCESS;
}

int wf_mpi_comm_idup(struct wf_instance *wf, struct wf_comm *comm,
                     MPI_Comm *newcomm, MPI_Request *request)
{
    return wf_mpi_comm_idup_with_info(wf, comm, NULL, newcomm, request);
}
