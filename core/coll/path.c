/* The path of a communicator's collectives, for core.log = debug.
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
#include "coll/shm/contribution.h"
#include "config/config.h"
#include "process/rank.h"
#include "report/error.h"

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
