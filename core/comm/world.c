/* The two communicators that always exist: MPI_COMM_WORLD and MPI_COMM_SELF.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "comm/world.h"

#include <stdio.h>

#include "group/comm.h"
#include "group/contact.h"
#include "group/context_id.h"
#include "group/raise.h"
#include "object/errhandler.h"
#include "process/rank.h"
#include "protocol/fastpath.h"

static struct wf_comm *make_predefined(struct wf_instance *wf, uint32_t n,
                                       uint32_t first, uint32_t context,
                                       const char *name)
{
    struct wf_group *g = wf_group_create_regular(wf, (int)n, first, 1);
    if (!g)
        return NULL;
    struct wf_comm *comm = wf_comm_create(wf, g, NULL, context, context);
    if (comm) {
        comm->errhandler = wf_errhandler_initial();
        snprintf(comm->name, sizeof comm->name, "%s", name);
    }
    return comm;
}

int wf_world_begin(struct wf_instance *wf)
{
    wf->world = make_predefined(wf, wf->rank->job.size, 0, WF_CONTEXT_WORLD,
                                "MPI_COMM_WORLD");
    wf->self =
        make_predefined(wf, 1, wf->rank->id, WF_CONTEXT_SELF, "MPI_COMM_SELF");
    wf_fastpath_update(wf);
    if (wf->world && wf->self)
        return 0;
    wf_world_end(wf, true);
    return WEFT_ENOMEM;
}

/* Ends a predefined communicator. One that is held by requests that the program
 * left unfinished stays until the end is final: sessions may still make
 * progress. At the final end the requests do not count: their memory is freed
 * with that of the engine, and they are not looked at again. */
static void release_predefined(struct wf_comm **slot, struct wf_comm **ended,
                               bool final)
{
    struct wf_comm *comm = *slot;
    if (comm) {
        *slot = NULL;
        *ended = comm;
        comm->freed = true;
        wf_contacts_drop(comm);
    }
    comm = *ended;
    if (!comm || (!final && comm->object.refs > 1))
        return;
    *ended = NULL;
    comm->object.refs = 1;
    wf_comm_put(comm);
}

void wf_world_end(struct wf_instance *wf, bool final)
{
    release_predefined(&wf->world, &wf->rank->ended[0], final);
    release_predefined(&wf->self, &wf->rank->ended[1], final);
    wf_fastpath_update(wf);
}
