/* Functions that the creation of every topology shares.
 *
 * As in MPI_Comm_create, nothing but the error handler passes from the old
 * communicator to the new one (MPI-5.0 s8.5.1).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "topo/create.h"

#include <stdlib.h>

#include "comm/derive.h"
#include "core_api.h"
#include "object/error.h"
#include "topo/topo.h"

int wf_topo_check_parent(const struct wf_comm *parent)
{
    if (!parent->inter)
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_COMM, "an intercommunicator cannot have a "
                                  "topology");
}

struct wf_group *wf_topo_create_group(struct wf_comm *parent, int size,
                               const int *order)
{
    uint32_t *procs = malloc((size_t)size * sizeof *procs + 1);
    struct wf_group *g = NULL;

    for (int i = 0; procs && i < size; i++)
        procs[i] = wf_group_proc(parent->local, order ? order[i] : i);
    if (procs)
        g = wf_group_create(parent->wf, size, procs);
    if (!g)
        wf_error(MPI_ERR_NO_MEM, "no memory for a group of %d processes", size);
    return g;
}

int wf_topo_create_comm(struct wf_comm *parent, struct wf_group *group,
                 struct wf_topo *topo, int rc, MPI_Comm *newcomm)
{
    struct wf_derive_plan p;

    wf_derive_init_plan(&p, parent);
    if (topo) {
        p.result = wf_comm_create(parent->wf, group, NULL, WF_CONTEXT_NONE,
                                  WF_CONTEXT_NONE);
        rc = p.result ? rc : MPI_ERR_NO_MEM;
    } else if (group) {
        wf_group_put(group);
    }
    if (p.result) {
        wf_comm_inherit(p.result, parent);
        p.result->topo = topo;
    } else {
        wf_topo_put(topo);
    }
    p.failed = rc != MPI_SUCCESS;
    return wf_derive_run(&p, rc, newcomm);
}
