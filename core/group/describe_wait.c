/* The communicator and the peer of a wait, as the state page shows them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "group/describe_wait.h"

#include "group/comm.h"
#include "group/group.h"
#include "report/state.h"

void wf_wait_set_comm(struct wf_wait *w, const struct wf_comm *comm)
{
    if (!comm)
        return;
    w->comm = comm->name;
    w->context = (uint64_t)comm->context + 1;
}

void wf_wait_set_peer(struct wf_wait *w, const struct wf_comm *comm, bool local,
                      int64_t peer)
{
    const struct wf_group *g = !comm   ? NULL
                               : local ? comm->local
                                       : comm->peers;

    w->peer = peer;
    if (g && peer >= 0 && peer < g->size)
        w->process = wf_group_proc(g, (int)peer);
}
