/* This file makes and destroys communicator objects, among them the two that
 * always exist.
 *
 * The memory of a freed communicator is kept for the next one, so that a stale
 * handle is recognised by its kind rather than read from freed memory.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "group/comm.h"

#include <stdio.h>
#include <stdlib.h>

#include "config/config.h"
#include "group/contact.h"
#include "group/context_id.h"
#include "group/envelope.h"
#include "group/topology.h"
#include "object/env.h"
#include "object/errhandler.h"
#include "object/error.h"
#include "object/info.h"
#include "process/rank.h"

struct wf_comm *wf_comm_of(struct wf_instance *wf, MPI_Comm handle)
{
    if (handle == MPI_COMM_WORLD)
        return wf_home(wf)->world;
    if (handle == MPI_COMM_SELF)
        return wf_home(wf)->self;
    if (!wf_is_object(handle, WF_KIND_COMM))
        return NULL;
    struct wf_comm *comm = (struct wf_comm *)handle;
    return comm->freed ? NULL : comm;
}

MPI_Comm wf_comm_handle(struct wf_comm *comm)
{
    const struct wf_instance *home = wf_home(comm->wf);
    if (comm == home->world)
        return MPI_COMM_WORLD;
    if (comm == home->self)
        return MPI_COMM_SELF;
    return (MPI_Comm)comm;
}

static struct wf_comm *alloc_comm(struct wf_instance *wf)
{
    struct wf_comm *comm = NULL;
    WF_SECTION(objects, wf->rank->env) {
        comm = wf->rank->env->spare_comms;
        if (comm)
            wf->rank->env->spare_comms = comm->next_spare;
    }
    if (!comm)
        return calloc(1, sizeof *comm);
    memset(comm, 0, sizeof *comm);
    return comm;
}

/* A communicator belongs to one engine; its references are counted inside that
 * engine's section. */
void wf_comm_get(struct wf_comm *comm)
{
    comm->object.refs++;
}

bool wf_comm_has_others(const struct wf_comm *comm)
{
    return wf_group_has_others(comm->local) ||
           (comm->inter && wf_group_has_others(comm->peers));
}

void wf_comm_keep(struct wf_comm *comm, struct wf_comm_kept *k)
{
    k->next = comm->kept;
    comm->kept = k;
}

void wf_comm_take_back(struct wf_comm *comm, struct wf_comm_kept *k)
{
    struct wf_comm_kept **at = &comm->kept;

    while (*at != k) {
        WF_ASSERT(*at);
        at = &(*at)->next;
    }
    *at = k->next;
}

struct wf_comm_kept *wf_comm_find_kept(const struct wf_comm *comm,
                                       void (*drop)(struct wf_comm_kept *))
{
    struct wf_comm_kept *k = comm->kept;

    while (k && k->drop != drop)
        k = k->next;
    return k;
}

static void drop_kept(struct wf_comm *comm)
{
    struct wf_comm_kept *k;

    while ((k = comm->kept)) {
        comm->kept = k->next;
        k->drop(k);
    }
}

/* The processes of other jobs stay connected as long as a communicator names
 * them. */
static void count_groups(const struct wf_comm *comm, int by)
{
    wf_group_count_comm(comm->local, by);
    if (comm->inter)
        wf_group_count_comm(comm->peers, by);
}

void wf_comm_put(struct wf_comm *comm)
{
    if (--comm->object.refs > 0)
        return;
    struct wf_env *env = comm->wf->rank->env; /* NULL at the instance's end */
    comm->wf->rank->comm_handlers->release(comm);
    drop_kept(comm);
    if (comm->local_comm)
        wf_comm_put(comm->local_comm);
    count_groups(comm, -1);
    wf_group_put(comm->local);
    wf_group_put(comm->peers);
    wf_topo_put(comm->topo);
    wf_errhandler_put(comm->errhandler);
    wf_info_destroy(comm->info);
    free(comm->bsend); /* it is empty: its messages hold the communicator */
    wf_contacts_drop(comm);
    comm->object.kind = WF_KIND_DEAD;
    wf_error_disown(comm);
    if (!env) {
        free(comm);
        return;
    }
    WF_SECTION(objects, env) {
        comm->next_spare = env->spare_comms;
        env->spare_comms = comm;
    }
}

static struct wf_comm *report_no_memory(struct wf_group *local,
                                        struct wf_group *remote)
{
    wf_group_put(local);
    if (remote)
        wf_group_put(remote);
    wf_error(MPI_ERR_NO_MEM, "no memory for a communicator");
    return NULL;
}

/* Makes the intracommunicator of the local group, for collectives inside it. */
static bool add_local_comm(struct wf_comm *comm)
{
    wf_group_get(comm->local);
    comm->local_comm = wf_comm_create(comm->wf, comm->local, NULL,
                                      WF_CONTEXT_NONE, WF_CONTEXT_NONE);
    return comm->local_comm != NULL;
}

struct wf_comm *wf_comm_create(struct wf_instance *wf, struct wf_group *local,
                               struct wf_group *remote, uint32_t context,
                               uint32_t send_context)
{
    struct wf_comm *comm = alloc_comm(wf);
    if (!comm)
        return report_no_memory(local, remote);
    wf_object_init(&comm->object, WF_KIND_COMM);
    comm->wf = wf;
    comm->local = local;
    comm->rank = local->rank;
    comm->size = local->size;
    comm->inter = remote != NULL;
    comm->peers = remote ? remote : local;
    count_groups(comm, 1);
    if (!remote)
        wf_group_get(local);
    comm->errhandler = wf_errhandler_of(MPI_ERRORS_ARE_FATAL);
    comm->context = WF_CONTEXT_NONE;
    if (!remote && local->size > 1 && local->size <= WF_SHMCOLL_RANKS_MAX)
        comm->shmcoll_countdown = (uint32_t)wf->rank->options->share_after;
    if (remote && !add_local_comm(comm)) {
        wf_comm_put(comm);
        return NULL;
    }
    wf_comm_set_context(comm, context, send_context);
    return comm;
}

void wf_comm_set_context(struct wf_comm *comm, uint32_t context,
                         uint32_t send_context)
{
    comm->context = context;
    comm->send_context = send_context;
    comm->context_hint = wf_context_first_word(context);
    comm->send_env0 = wf_env0(WF_SPACE_P2P, send_context, 0);
    comm->send_env1 = wf_env1((uint32_t)comm->rank, 0);
    comm->recv_env0 = wf_env0(WF_SPACE_P2P, context, (uint32_t)comm->rank);
}

void wf_comm_inherit(struct wf_comm *to, struct wf_comm *from)
{
    wf_errhandler_get(from->errhandler);
    wf_errhandler_put(to->errhandler);
    to->errhandler = from->errhandler;
    wf_group_join_session(to->local, from->local->session);
}

void wf_comm_forget_spares(struct wf_env *env)
{
    while (env->spare_comms) {
        struct wf_comm *comm = env->spare_comms;
        env->spare_comms = comm->next_spare;
        free(comm);
    }
}
