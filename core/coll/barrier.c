/* Barrier: dissemination (Hensgen, Finkel, Manber 1988).
 *
 * In round k rank r tells r + 2^k and hears from r - 2^k; after ceil(log2 p)
 * rounds everyone has heard, directly or not, from everyone.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/coll.h"
#include "core_api.h"

void wf_coll_disseminate(struct wf_sched *s, const struct wf_comm *g)
{
    struct wf_type *byte = wf_coll_byte();
    int heard = -1, told = -1;

    for (int d = 1; d < g->size; d *= 2) {
        int to = (g->rank + d) % g->size;
        int from = (g->rank - d + g->size) % g->size;
        int recv = wf_sched_recv(s, NULL, 0, byte, from);
        int send = wf_sched_send(s, NULL, 0, byte, to);

        if (heard >= 0) {
            wf_sched_after(s, send, told); /* implies all earlier rounds */
            wf_sched_after(s, send, heard);
        }
        heard = recv;
        told = send;
    }
}

/* MPI-5.0 s6.3: on an intercommunicator a process leaves when all of the
 * other group have entered. */
static void build_inter(struct wf_sched *s, const struct wf_comm *comm)
{
    struct wf_type *byte = wf_coll_byte();

    wf_sched_local(s, true);
    wf_coll_disseminate(s, comm->local_comm);
    wf_sched_fence(s);
    wf_sched_local(s, false);
    if (comm->rank == 0) {
        wf_sched_recv(s, NULL, 0, byte, 0);
        wf_sched_send(s, NULL, 0, byte, 0);
        wf_sched_fence(s);
    }
    wf_sched_local(s, true);
    wf_coll_bcast_tree(s, comm->local_comm, NULL, 0, byte, 0);
}

static int build(struct wf_sched *s, const struct wf_coll_args *a)
{
    if (a->comm->inter)
        build_inter(s, a->comm);
    else
        wf_coll_disseminate(s, a->comm);
    return MPI_SUCCESS;
}

int wf_mpi_barrier(struct wf_instance *wf, struct wf_comm *comm)
{
    struct wf_coll_args a = {.comm = comm};
    return wf_coll_blocking(build, &a);
}

int wf_mpi_ibarrier(struct wf_instance *wf, struct wf_comm *comm,
                    MPI_Request *request)
{
    struct wf_coll_args a = {.comm = comm};
    return wf_coll_nonblocking(build, &a, request);
}

int wf_mpi_barrier_init(struct wf_instance *wf, struct wf_comm *comm,
                        struct wf_info *info, MPI_Request *request)
{
    struct wf_coll_args a = {.comm = comm};
    return wf_coll_persistent(build, &a, request);
}
