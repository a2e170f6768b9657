/* The path of a communicator's collectives: when it gets shared memory, and
 * how core.log = debug and the trace describe the path.
 *
 *   shared memory   all ranks map one segment        coll/shm/
 *   two levels      inside each node, and between    coll/nodes.c, where the
 *                   one rank of each                 rules say so
 *   messages        algorithms over all ranks        decision.def, mpi.ini
 *
 * Nonblocking collectives are never shared: they go by levels or messages.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/path.h"

#include <stdio.h>

#include "coll/layout.h"
#include "coll/args.h"
#include "coll/run.h"
#include "coll/shm/contribution.h"
#include "coll/shm/setup.h"
#include "coll/shm/tuning.h"
#include "config/config.h"
#include "group/group.h"
#include "process/rank.h"
#include "process/ranks.h"
#include "report/call_time.h"
#include "report/error.h"
#include "report/state.h"

/* Returns why shared memory was not even tried. */
static const char *untried_reason(const struct wf_comm *comm)
{
    if (comm->inter)
        return "it is an intercommunicator";
    if (comm->size < 2)
        return "it has one rank";
    if (comm->size > WF_SHMCOLL_RANKS_MAX)
        return "it has more ranks than a segment has room for";
    if (!comm->wf->rank->options->share_after)
        return "core.share_after = 0";
    return "[collectives] in mpi.ini names algorithms";
}

/* Returns the path by messages: by levels where nodes hold several ranks. */
static const char *path_by_messages(struct wf_comm *comm, char *text, size_t n)
{
    const struct wf_layout *l = comm->inter ? NULL : wf_layout_of(comm);

    if (!l || l->nodes == comm->size || l->nodes == 1)
        return "by messages between all ranks";
    snprintf(text, n,
             "in two levels, inside each of %d nodes and between one rank of "
             "each, where an algorithm 'nodes' is chosen, else by messages",
             l->nodes);
    return text;
}

void wf_coll_log_path(struct wf_comm *comm, const char *why)
{
    char name[MPI_MAX_OBJECT_NAME + 3], text[160];

    const struct wf_core_options *o = comm->wf->rank->options;

    if (!o || o->log < WF_LOG_DEBUG || comm->path_logged)
        return;
    comm->path_logged = true;
    if (comm->name[0])
        snprintf(name, sizeof name, "'%s'", comm->name);
    else
        snprintf(name, sizeof name, "%u", comm->context);
    if (comm->shmcoll_usable)
        wf_log(comm->wf, WF_LOG_DEBUG,
               "communicator %s of %d ranks: blocking collectives through "
               "shared memory, which all ranks map",
               name, comm->size);
    else
        wf_log(comm->wf, WF_LOG_DEBUG,
               "communicator %s of %d ranks: collectives %s; not through "
               "shared memory: %s",
               name, comm->size, path_by_messages(comm, text, sizeof text),
               why ? why : untried_reason(comm));
}

/* ---- shared memory ------------------------------------------------------- */

void wf_shmcoll_note_call(const struct wf_comm *comm)
{
    struct wf_trace_collective c = {.name = wf_call_name,
                                    .algorithm = "shared_memory",
                                    .reason = "all ranks map one segment",
                                    .context = comm->context};

    wf_trace_note_collective(comm->wf, &c);
}

int wf_shmcoll_run_watched(wf_coll_builder *builder,
                           const struct wf_coll_args *a,
                           wf_shmcoll_collective *collective)
{
    if (WF_TRACING(a->comm->wf))
        wf_shmcoll_note_call(a->comm);
    return wf_call_is_timed() && wf_call_begin()
               ? wf_call_end(WF_CALL_COLLECTIVE, collective(builder, a))
               : collective(builder, a);
}

/* Returns true if mpi.ini names algorithms, which are then to be used. */
static bool has_user_rules(const struct wf_instance *wf)
{
    for (int k = 0; wf->rank->coll_rules && k < WF_COLL_KINDS; k++)
        if (wf->rank->coll_rules->count[k])
            return true;
    return false;
}

/* Returns true if this process lacked a resource, and so may not have sent the
 * messages that others wait for. */
static bool lacked_resources(int rc)
{
    return rc == MPI_ERR_NO_MEM || rc == MPI_ERR_OTHER;
}

static void set_up_late(struct wf_comm *comm)
{
    wf_shmcoll_count_call(comm, MPI_SUCCESS);
}

void wf_shmcoll_count_call(struct wf_comm *comm, int rc)
{
    bool late = comm->shmcoll_countdown == 1 && lacked_resources(rc);

    comm->catch_up = late ? set_up_late : NULL;
    if (comm->shmcoll_countdown && !late && --comm->shmcoll_countdown == 0 &&
        !has_user_rules(comm->wf))
        wf_shmcoll_set_up(comm);
    if (wf_unlikely(!comm->path_logged) && !comm->shmcoll_countdown)
        wf_coll_log_path(comm, NULL);
}

/* Whether all members are threads of this process, which all of them know. They
 * connect to nobody, and each takes a mapping of the segment. */
static bool is_within_process(const struct wf_comm *comm)
{
    const struct wf_ranks *ranks = comm->wf->rank->ranks;
    int i = 0;

    while (ranks && i < comm->size &&
           wf_group_proc(comm->local, i) - ranks->first < ranks->count)
        i++;
    return i == comm->size;
}

void wf_shmcoll_hasten(struct wf_comm *comm)
{
    if (comm->size < WF_SHMCOLL_HASTE_RANKS || is_within_process(comm))
        return;
    comm->shmcoll_countdown = 1;
    comm->catch_up = set_up_late;
}

/* Returns true if the call is a reduction of one process, whose arguments its
 * builder would accept: a copy. */
static bool is_copy_of_one(wf_coll_builder *builder,
                           const struct wf_coll_args *a)
{
    return a->comm->size == 1 && a->op && !a->comm->inter && a->root == 0 &&
           !a->rcounts.base && builder != wf_build_exscan &&
           wf_type_is_contiguous(a->rtype) &&
           wf_shmcoll_is_plain_reduction(a) && !WF_TRACING(a->comm->wf);
}

static int copy_operand(const struct wf_coll_args *a)
{
    return a->sbuf == MPI_IN_PLACE
               ? MPI_SUCCESS
               : wf_shmcoll_pack_elements(wf_type_data(a->rtype, a->rbuf),
                                          a->sbuf, a->rcount, a->rtype);
}

int wf_shmcoll_run_before_setup(wf_coll_builder *builder,
                                const struct wf_coll_args *a)
{
    struct wf_sched *s;
    int rc;

    if (wf_call_is_timed() && wf_call_begin())
        return wf_call_end(WF_CALL_COLLECTIVE,
                           wf_shmcoll_run_before_setup(builder, a));
    if (is_copy_of_one(builder, a))
        return copy_operand(a);
    rc = wf_coll_build(builder, a, true, &s);
    if (rc)
        return rc; /* for the other members this call never happened */
    rc = wf_sched_run(s);
    wf_shmcoll_count_call(a->comm, rc);
    return rc;
}
