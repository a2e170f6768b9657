/* Barrier: through shared memory, by dissemination, or by signals to and from
 * rank 0 where ranks outnumber CPUs.
 *
 * Dissemination (Hensgen, Finkel, Manber 1988): in round k rank r signals r +
 * 2^k and receives from r - 2^k; after ceil(log2 p) rounds every rank has
 * heard, directly or not, from every other. Each round may cost a process its
 * CPU. Where ranks outnumber CPUs it is better that each waits twice, whatever
 * their number: all signal rank 0, which signals all.
 *
 * Members may see different numbers of CPUs and must choose alike. So the first
 * blocking barrier of a communicator carries a byte up a tree and down again,
 * the OR of what each one sees; calls after it, in the order that is the same
 * everywhere, use the outcome. A tree connects p - 1 pairs of processes, a
 * dissemination p log p, and that is what a first call costs.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/barrier.h"

#include "coll/args.h"
#include "coll/bcast.h"
#include "coll/decision.h"
#include "coll/nodes.h"
#include "coll/path.h"
#include "coll/shm/all_to_all.h"
#include "coll/shm/shmcoll.h"
#include "core_api.h"
#include "progress/progress.h"
#include "progress/wait.h"

/* Merges the bytes received so far. */
static int merge_heard_bytes(void *arg)
{
    struct wf_oversubscription *c = arg;

    for (size_t i = 0; i < sizeof c->heard; i++)
        c->any |= c->heard[i];
    return MPI_SUCCESS;
}

void wf_coll_disseminate(struct wf_sched *s, const struct wf_comm *g)
{
    struct wf_type *byte = wf_coll_byte();
    int before = -1, told = -1;

    for (int d = 1; d < g->size; d *= 2) {
        int send = wf_sched_send(s, NULL, 0, byte, (g->rank + d) % g->size);
        int recv =
            wf_sched_recv(s, NULL, 0, byte, (g->rank - d + g->size) % g->size);

        wf_sched_after(s, send, told); /* implies all earlier rounds */
        wf_sched_after(s, send, before);
        before = recv;
        told = send;
    }
}

void wf_coll_signal_up(struct wf_sched *s, const struct wf_comm *g)
{
    struct wf_type *byte = wf_coll_byte();

    if (g->rank != 0)
        wf_sched_send(s, NULL, 0, byte, 0);
    for (int r = 1; g->rank == 0 && r < g->size; r++)
        wf_sched_recv(s, NULL, 0, byte, r);
}

void wf_coll_signal_down(struct wf_sched *s, const struct wf_comm *g)
{
    struct wf_type *byte = wf_coll_byte();

    if (g->rank != 0)
        wf_sched_recv(s, NULL, 0, byte, 0);
    for (int r = 1; g->rank == 0 && r < g->size; r++)
        wf_sched_send(s, NULL, 0, byte, r);
}

/* All ranks signal rank 0, which then signals all. */
static void build_linear(struct wf_sched *s, const struct wf_comm *g)
{
    wf_coll_signal_up(s, g);
    wf_sched_fence(s);
    wf_coll_signal_down(s, g);
}

/* The last rank of each subtree signals its parent; rank 0 then broadcasts.
 * `shared` NULL: the signals carry no byte. */
static void build_tree(struct wf_sched *s, const struct wf_comm *g,
                       struct wf_oversubscription *shared)
{
    struct wf_type *byte = wf_coll_byte();
    uint64_t n = shared ? 1 : 0;
    uint8_t *any = shared ? &shared->any : NULL,
            *heard = shared ? shared->heard : NULL;
    int bit = 1;

    for (; bit < g->size && !(g->rank & bit); bit *= 2)
        if (g->rank + bit < g->size)
            wf_sched_recv(s, heard ? heard++ : NULL, n, byte, g->rank + bit);
    wf_sched_fence(s);
    if (shared) {
        wf_sched_call(s, merge_heard_bytes, shared);
        wf_sched_fence(s);
    }
    if (g->rank != 0)
        wf_sched_send(s, any, n, byte, g->rank - bit);
    wf_sched_fence(s);
    wf_coll_bcast_tree(s, g, any, n, byte, 0);
}

static void choose_and_build(struct wf_sched *s, struct wf_comm *comm)
{
    switch (wf_coll_choose(s, comm, WF_COLL_BARRIER, comm->oversubscription.any,
                           WF_ALG_ANY)) {
    case WF_ALG_LINEAR:
        build_linear(s, comm);
        break;
    case WF_ALG_BINOMIAL:
        build_tree(s, comm, NULL);
        break;
    case WF_ALG_NODES:
        wf_coll_barrier_nodes(s, comm);
        break;
    default:
        wf_coll_disseminate(s, comm);
    }
}

/* MPI-5.0 s6.3: on an intercommunicator a process leaves when all of the
 * other group have entered. */
static void build_inter(struct wf_sched *s, const struct wf_comm *comm)
{
    struct wf_type *byte = wf_coll_byte();

    wf_sched_use_local_group(s, true);
    wf_coll_disseminate(s, comm->local_comm);
    wf_sched_fence(s);
    wf_sched_use_local_group(s, false);
    if (comm->rank == 0) {
        wf_sched_recv(s, NULL, 0, byte, 0);
        wf_sched_send(s, NULL, 0, byte, 0);
        wf_sched_fence(s);
    }
    wf_sched_use_local_group(s, true);
    wf_coll_bcast_tree(s, comm->local_comm, NULL, 0, byte, 0);
}

int wf_build_barrier(struct wf_sched *s, const struct wf_coll_args *a)
{
    if (a->comm->inter)
        build_inter(s, a->comm);
    else if (a->comm->oversubscription.known)
        choose_and_build(s, a->comm);
    else
        wf_coll_disseminate(s, a->comm);
    return MPI_SUCCESS;
}

int wf_coll_build_barrier_with_flags(struct wf_sched *s,
                                     const struct wf_coll_args *a)
{
    build_tree(s, a->comm, a->rbuf);
    return MPI_SUCCESS;
}

/* ---- running ------------------------------------------------------------- */

int wf_barrier_agree_on_flags(struct wf_comm *comm, uint8_t *flags)
{
    struct wf_oversubscription shared = {.any = *flags};
    struct wf_coll_args a = {.comm = comm, .rbuf = &shared};
    int rc = wf_coll_run_blocking(wf_coll_build_barrier_with_flags, &a);

    *flags = shared.any;
    return rc;
}

static int run_barrier_schedule(struct wf_instance *wf, struct wf_comm *comm)
{
    struct wf_coll_args a = {.comm = comm, .rbuf = &comm->oversubscription};
    int rc;

    if (comm->oversubscription.known || comm->inter)
        return wf_coll_run_blocking(wf_build_barrier, &a);
    comm->oversubscription.any = wf_progress_is_oversubscribed(wf);
    rc = wf_coll_run_blocking(wf_coll_build_barrier_with_flags, &a);
    comm->oversubscription.known = rc == MPI_SUCCESS;
    return rc;
}

int wf_mpi_barrier(struct wf_instance *wf, struct wf_comm *comm)
{
    int rc;

    if (wf_likely(wf_shmcoll_is_usable(comm)) || wf_shmcoll_catch_up(comm)) {
        if (WF_TRACING(comm->wf))
            wf_shmcoll_note_call(comm);
        return wf_shmcoll_barrier(comm->shmcoll);
    }
    rc = run_barrier_schedule(wf, comm);
    wf_shmcoll_count_call(comm, rc);
    return rc;
}
