/* Communicators are made here from groups alone, without a parent (MPI-5.0
 * s7.4.2, s7.6.2).
 *
 * The members agree on a context id over a temporary communicator, which itself
 * needs no agreement: its context and tag, 55 bits, follow from the string tag
 * and the list of members, and its messages have a space of their own. So
 * creations that go on at the same time do not meet, whether they differ in the
 * string tag or in a member, and consecutive creations with the same arguments
 * keep the order of messages.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "comm/channel.h"
#include "comm/channel_info.h"
#include "comm/derive.h"
#include "comm/inter.h"
#include "comm/query.h"
#include "core_api.h"
#include "group/comm.h"
#include "group/owner.h"
#include "object/errhandler.h"
#include "object/error.h"
#include "object/info.h"
#include "os/hash.h"
#include "process/rank.h"

/* A temporary communicator, over which the members of a group agree. */
struct temp_comm {
    struct wf_comm *comm;
    uint64_t id; /* hash of string tag and members */
};

/* The arguments of a creation. */
struct creation {
    const char *stringtag;
    const char *purpose; /* tells the agreements of one call apart */
    struct wf_info *info;
    struct wf_errhandler *errhandler;
    bool failed; /* this process failed: the call fails in all members */
};

static uint64_t hash_text(uint64_t h, const char *text)
{
    for (; *text; text++)
        h = wf_hash_mix(h + (unsigned char)*text + 1);
    return wf_hash_mix(h);
}

static uint64_t hash_creation(const struct wf_group *g,
                              const struct creation *c)
{
    uint64_t h = hash_text(hash_text(1, c->purpose), c->stringtag);
    for (int i = 0; i < g->size; i++)
        h = wf_hash_mix(h + wf_group_name(g, i) + 1);
    return h;
}

static int make_temp_comm(struct temp_comm *m, struct wf_group *g,
                          const struct creation *c)
{
    wf_group_get(g);
    m->id = hash_creation(g, c);
    uint32_t context = (uint32_t)(m->id >> 40);
    m->comm = wf_comm_create(g->wf, g, NULL, context, context);
    return m->comm ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static int tag_of(const struct temp_comm *m)
{
    return (int)(m->id & 0x7fffffff);
}

/* The context id was never taken from the pool and must not get into it. */
static void free_temp_comm(struct temp_comm *m)
{
    wf_comm_set_context(m->comm, WF_CONTEXT_NONE, WF_CONTEXT_NONE);
    wf_comm_put(m->comm);
}

static int apply_hints(struct wf_comm *comm, const struct creation *c)
{
    int rc = wf_channel_check(c->info);
    if (rc != MPI_SUCCESS)
        return rc;
    if (c->info && !(comm->info = wf_info_copy(c->info)))
        return wf_error(MPI_ERR_NO_MEM, "no memory for hints");
    wf_comm_update_hints(comm);
    return wf_errhandler_replace(&comm->errhandler, c->errhandler,
                                 &wf_comm_owner_kind);
}

static int plan_creation(const struct temp_comm *m, struct wf_group *g,
                         const struct creation *c, struct wf_derive_plan *p)
{
    *p = (struct wf_derive_plan){.parent = m->comm,
                                 .key = m->id,
                                 .scope = {.comm = m->comm,
                                           .size = g->size,
                                           .me = g->rank,
                                           .tag = tag_of(m),
                                           .space = WF_SPACE_GROUP}};
    wf_group_get(g);
    p->result =
        wf_comm_create(g->wf, g, NULL, WF_CONTEXT_NONE, WF_CONTEXT_NONE);
    int rc = p->result ? apply_hints(p->result, c) : MPI_ERR_NO_MEM;
    p->failed = rc != MPI_SUCCESS || c->failed;
    return rc;
}

static int create_comm(struct wf_group *g, const struct creation *c,
                       MPI_Comm *newcomm)
{
    struct temp_comm m;
    struct wf_derive_plan p;
    int rc = make_temp_comm(&m, g, c);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = wf_derive_run(&p, plan_creation(&m, g, c, &p), newcomm);
    free_temp_comm(&m);
    return rc;
}

static int check_call(const struct wf_group *g, const char *stringtag,
                      const char *name)
{
    if (strlen(stringtag) >= MPI_MAX_STRINGTAG_LEN)
        return wf_error(MPI_ERR_ARG,
                        "the string tag has %zu characters, the limit is %d",
                        strlen(stringtag), MPI_MAX_STRINGTAG_LEN - 1);
    if (g->size > 0 && g->rank == MPI_UNDEFINED)
        return wf_error(MPI_ERR_GROUP,
                        "this process is not in %s, whose members are to call",
                        name);
    return MPI_SUCCESS;
}

int wf_mpi_comm_create_from_group(struct wf_instance *wf,
                                  struct wf_group *group, const char *stringtag,
                                  struct wf_info *info,
                                  struct wf_errhandler *errhandler,
                                  MPI_Comm *newcomm)
{
    struct creation c = {stringtag, "", info, errhandler, false};
    *newcomm = MPI_COMM_NULL;
    int rc = check_call(group, stringtag, "the group");
    if (rc == MPI_SUCCESS && group->size > 0)
        rc = create_comm(group, &c, newcomm);
    return rc;
}

/* ---- intercommunicators -------------------------------------------------- */

/* Makes the group of the two leaders, in an order that both know. */
static struct wf_group *make_group_of_leaders(struct wf_instance *wf,
                                              uint32_t other)
{
    uint32_t *procs = malloc(2 * sizeof *procs);
    if (!procs)
        return NULL;
    bool first = wf_job_precedes(&wf->rank->job, wf->rank->id, other);
    procs[!first] = wf->rank->id;
    procs[first] = other;
    return wf_group_create(wf, 2, procs);
}

static int check_leader(const struct wf_group *remote, int remote_leader)
{
    if (!remote)
        return wf_error(MPI_ERR_GROUP, "remote_group is not a group");
    if (remote_leader < 0 || remote_leader >= remote->size)
        return wf_error(MPI_ERR_RANK,
                        "remote_leader is %d but remote_group has ranks 0..%d",
                        remote_leader, remote->size - 1);
    if (wf_group_proc(remote, remote_leader) == remote->wf->rank->id)
        return wf_error(MPI_ERR_GROUP, "the groups have the same leader");
    return MPI_SUCCESS;
}

/* Makes the bridge over which the leaders exchange their groups; other members
 * need none. */
static int make_bridge(struct wf_bridge *b, struct temp_comm *m, uint32_t other,
                       const struct creation *c, struct wf_instance *wf)
{
    struct creation leaders = {.stringtag = c->stringtag, .purpose = "leaders"};
    struct wf_group *g = make_group_of_leaders(wf, other);
    int rc = g ? make_temp_comm(m, g, &leaders)
               : wf_error(MPI_ERR_NO_MEM, "no memory for a group");
    if (g)
        wf_group_put(g);
    if (rc != MPI_SUCCESS)
        return rc;
    b->comm = m->comm;
    b->rank = 1 - m->comm->rank;
    b->tag = tag_of(m);
    b->space = WF_SPACE_GROUP;
    b->key = m->id;
    return MPI_SUCCESS;
}

/* Makes an intracommunicator of the local group first: over it the members
 * learn which group their leader received, and that it could start at all. rc
 * is the result of the leader's checks so far. */
static int create_inter(struct wf_group *local, struct wf_bridge *b,
                        struct creation *c, int rc, MPI_Comm *newintercomm)
{
    MPI_Comm handle;
    c->failed = rc != MPI_SUCCESS;
    int local_rc = create_comm(local, c, &handle);
    if (local_rc != MPI_SUCCESS || rc != MPI_SUCCESS)
        return rc != MPI_SUCCESS ? rc : local_rc;
    struct wf_comm *comm = wf_comm_of(local->wf, handle);
    struct wf_instance *engine = comm->wf;
    wf_engine_switch(local->wf, engine);
    rc = wf_intercomm_create(comm, b, NULL, newintercomm);
    wf_comm_put(comm);
    wf_engine_switch(engine, local->wf);
    if (rc == MPI_SUCCESS && c->info) {
        comm = wf_comm_of(local->wf, *newintercomm);
        comm->info = wf_info_copy(c->info);
        wf_comm_update_hints(comm);
    }
    return rc;
}

int wf_mpi_intercomm_create_from_groups(
    struct wf_instance *wf, struct wf_group *local_group, int local_leader,
    struct wf_group *remote_group, int remote_leader, const char *stringtag,
    struct wf_info *info, struct wf_errhandler *errhandler,
    MPI_Comm *newintercomm)
{
    struct creation c = {stringtag, "local", info, errhandler, false};
    struct wf_bridge b = {.leader = local_leader};
    struct temp_comm m = {0};
    *newintercomm = MPI_COMM_NULL;
    int rc = check_call(local_group, stringtag, "local_group");
    if (rc == MPI_SUCCESS &&
        (local_leader < 0 || local_leader >= local_group->size))
        rc = wf_error(MPI_ERR_RANK,
                      "local_leader is %d but local_group has ranks 0..%d",
                      local_leader, local_group->size - 1);
    if (rc != MPI_SUCCESS)
        return rc;
    if (local_group->rank == local_leader) {
        rc = check_leader(remote_group, remote_leader);
        b.others = remote_group;
        if (rc == MPI_SUCCESS)
            rc = make_bridge(&b, &m, wf_group_proc(remote_group, remote_leader),
                             &c, wf);
    }
    rc = create_inter(local_group, &b, &c, rc, newintercomm);
    if (m.comm)
        free_temp_comm(&m);
    return rc;
}
