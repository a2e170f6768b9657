/* Neighbourhood collectives as schedules (MPI-5.0 s8.6): a message along every
 * edge, all at once.
 *
 * Messages between two processes match in order, for graphs in the order of the
 * lists of neighbours. On a grid, a block that is sent in negative direction
 * comes from the receiver's positive side. So the two receives of each
 * dimension are posted in swapped order, and match also where both neighbours
 * are the same process (a periodic dimension of 1 or 2 processes).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "topo/neighbor.h"

#include "coll/args.h"
#include "object/error.h"
#include "topo/topo.h"

static int check_args(const struct wf_coll_args *a)
{
    const struct wf_topo *t = a->comm->topo;
    int rc;

    if (!t)
        return wf_error(MPI_ERR_TOPOLOGY, "the communicator has no topology: "
                                          "no process is a neighbour");
    if ((rc = wf_coll_check_in_place(a, false)))
        return rc;
    if (!a->stypes && !a->scounts.base && (rc = wf_coll_check_send(a)))
        return rc;
    if (!a->rtypes && !a->rcounts.base && (rc = wf_coll_check_recv(a)))
        return rc;
    return MPI_SUCCESS;
}

static void add_receives(struct wf_sched *s, const struct wf_coll_args *a)
{
    const struct wf_topo *t = a->comm->topo;

    for (int k = 0; k < t->indegree; k++) {
        int i = t->kind == MPI_CART ? k ^ 1 : k;
        struct wf_coll_block b;
        if (t->sources[i] == MPI_PROC_NULL)
            continue;
        b = wf_coll_recv_block(a, i);
        if (wf_coll_block_bytes(b))
            wf_sched_recv(s, b.buf, b.count, b.type, t->sources[i]);
    }
}

static void add_sends(struct wf_sched *s, const struct wf_coll_args *a,
                      bool same)
{
    const struct wf_topo *t = a->comm->topo;

    for (int i = 0; i < t->outdegree; i++) {
        struct wf_coll_block b;
        if (t->destinations[i] == MPI_PROC_NULL)
            continue;
        b = wf_coll_send_block(a, same ? 0 : i);
        if (wf_coll_block_bytes(b))
            wf_sched_send(s, b.buf, b.count, b.type, t->destinations[i]);
    }
}

static int build_schedule(struct wf_sched *s, const struct wf_coll_args *a,
                          bool same)
{
    int rc = check_args(a);

    if (rc)
        return rc;
    add_sends(s, a, same);
    add_receives(s, a);
    return MPI_SUCCESS;
}

int wf_build_neighbor_allgather(struct wf_sched *s,
                                const struct wf_coll_args *a)
{
    return build_schedule(s, a, true);
}

int wf_build_neighbor_allgatherv(struct wf_sched *s,
                                 const struct wf_coll_args *a)
{
    return build_schedule(s, a, true);
}

int wf_build_neighbor_alltoall(struct wf_sched *s, const struct wf_coll_args *a)
{
    return build_schedule(s, a, false);
}

int wf_build_neighbor_alltoallv(struct wf_sched *s,
                                const struct wf_coll_args *a)
{
    return build_schedule(s, a, false);
}

int wf_build_neighbor_alltoallw(struct wf_sched *s,
                                const struct wf_coll_args *a)
{
    return build_schedule(s, a, false);
}
