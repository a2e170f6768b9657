/* The kind of topology that a communicator has (MPI-5.0 s8.5.5).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "topo/query.h"

#include "core_api.h"
#include "object/error.h"
#include "topo/topo.h"

static const char *kind_name(int kind)
{
    switch (kind) {
    case MPI_CART:
        return "a Cartesian";
    case MPI_GRAPH:
        return "a graph";
    case MPI_DIST_GRAPH:
        return "a distributed graph";
    }
    return "no";
}

static int kind_of(const struct wf_comm *comm)
{
    return comm->topo ? comm->topo->kind : MPI_UNDEFINED;
}

struct wf_topo *wf_topo_of(const struct wf_comm *comm, int kind)
{
    if (kind_of(comm) == kind)
        return comm->topo;
    wf_error(MPI_ERR_TOPOLOGY,
             "the call is about %s topology, but the communicator has %s "
             "topology",
             kind_name(kind), kind_name(kind_of(comm)));
    return NULL;
}

int wf_mpi_topo_test(struct wf_instance *wf, struct wf_comm *comm, int *status)
{
    *status = kind_of(comm);
    return MPI_SUCCESS;
}
