/* Broadcast: the choice, a binomial tree, a pipelined chain for large messages,
 * and sends from the root to every rank.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/bcast.h"

#include "coll/args.h"
#include "coll/bcast_pool.h"
#include "coll/bcast_scatter.h"
#include "coll/decision.h"
#include "coll/nodes.h"
#include "object/error.h"
#include "os/tuning.h"

enum { MAX_SEGMENTS = 256 /* of the chain: bounds the size of the schedule */ };

void wf_coll_bcast_tree(struct wf_sched *s, const struct wf_comm *g, void *buf,
                        uint64_t count, struct wf_type *t, int root)
{
    int p = g->size, relative = (g->rank - root + p) % p;
    int received = -1, bit = 1;

    while (bit < p && !(relative & bit))
        bit *= 2;
    if (bit < p)
        received = wf_sched_recv(s, buf, count, t, (relative - bit + root) % p);
    /* the largest subtree first: it has the longest way to go */
    for (bit /= 2; bit > 0; bit /= 2) {
        int send;
        if (relative + bit >= p)
            continue;
        send = wf_sched_send(s, buf, count, t, (relative + bit + root) % p);
        wf_sched_after(s, send, received);
    }
}

char *wf_coll_pack_bcast(struct wf_sched *s, const struct wf_coll_args *a,
                     uint64_t bytes)
{
    char *packed;

    if (wf_type_is_contiguous(a->rtype))
        return wf_type_data(a->rtype, a->rbuf);
    packed = wf_sched_alloc_temp(s, bytes);
    if (packed && a->comm->rank == a->root) {
        wf_sched_copy(s, a->rbuf, a->rcount, a->rtype, packed, bytes,
                      wf_coll_byte());
        wf_sched_fence(s);
    }
    return packed;
}

void wf_coll_unpack_bcast(struct wf_sched *s, const struct wf_coll_args *a,
                    const char *packed, uint64_t bytes)
{
    if (a->comm->rank == a->root || wf_type_is_contiguous(a->rtype))
        return;
    wf_sched_fence(s);
    wf_sched_copy(s, packed, bytes, wf_coll_byte(), a->rbuf, a->rcount,
                  a->rtype);
}

static void build_chain(struct wf_sched *s, const struct wf_coll_args *a)
{
    struct wf_type *byte = wf_coll_byte();
    int p = a->comm->size, rank = a->comm->rank;
    int position = (rank - a->root + p) % p;
    uint64_t bytes = a->rcount * (uint64_t)a->rtype->size;
    uint64_t segment = bytes / MAX_SEGMENTS + 1;
    char *data = wf_coll_pack_bcast(s, a, bytes);

    if (!data)
        return; /* remembered by the schedule */
    if (segment < WF_BCAST_SEGMENT)
        segment = WF_BCAST_SEGMENT;
    for (uint64_t off = 0; off < bytes; off += segment) {
        uint64_t n = bytes - off < segment ? bytes - off : segment;
        int recv = -1, send;
        if (position > 0)
            recv = wf_sched_recv(s, data + off, n, byte, (rank - 1 + p) % p);
        if (position == p - 1)
            continue;
        send = wf_sched_send(s, data + off, n, byte, (rank + 1) % p);
        wf_sched_after(s, send, recv);
    }
    wf_coll_unpack_bcast(s, a, data, bytes);
}

static void build_linear(struct wf_sched *s, const struct wf_coll_args *a)
{
    if (a->comm->rank != a->root) {
        wf_sched_recv(s, a->rbuf, a->rcount, a->rtype, a->root);
        return;
    }
    for (int i = 0; i < a->comm->size; i++)
        if (i != a->root)
            wf_sched_send(s, a->rbuf, a->rcount, a->rtype, i);
}

void wf_coll_bcast(struct wf_sched *s, const struct wf_coll_args *a)
{
    uint64_t bytes = a->rcount * (uint64_t)a->rtype->size;

    switch (wf_coll_choose(s, a->comm, WF_COLL_BCAST, bytes, WF_ALG_ANY)) {
    case WF_ALG_CHAIN:
        build_chain(s, a);
        break;
    case WF_ALG_LINEAR:
        build_linear(s, a);
        break;
    case WF_ALG_SCATTER_ALLGATHER:
        wf_coll_bcast_scatter(s, a);
        break;
    case WF_ALG_NODES:
        wf_coll_bcast_nodes(s, a);
        break;
    default:
        wf_coll_bcast_tree(s, a->comm, a->rbuf, a->rcount, a->rtype, a->root);
    }
}

/* MPI-5.0 s6.4: data goes from the root to the other group, not to its own. */
static void build_inter(struct wf_sched *s, const struct wf_coll_args *a)
{
    if (a->root == MPI_PROC_NULL)
        return;
    if (a->root == MPI_ROOT) {
        wf_sched_send(s, a->rbuf, a->rcount, a->rtype, 0);
        return;
    }
    if (a->comm->rank == 0) {
        wf_sched_recv(s, a->rbuf, a->rcount, a->rtype, a->root);
        wf_sched_fence(s);
    }
    wf_sched_use_local_group(s, true);
    wf_coll_bcast_tree(s, a->comm->local_comm, a->rbuf, a->rcount, a->rtype, 0);
}

int wf_build_bcast(struct wf_sched *s, const struct wf_coll_args *a)
{
    uint64_t bytes;
    int rc;

    if ((rc = wf_coll_check_root(a)))
        return rc;
    if (a->comm->inter && a->root == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if ((rc = wf_coll_check_recv(a)))
        return rc;
    if (a->rbuf == MPI_IN_PLACE)
        return wf_error(MPI_ERR_BUFFER, "MPI_IN_PLACE is not for MPI_Bcast");
    bytes = a->rcount * (uint64_t)a->rtype->size;
    if (bytes == 0)
        return MPI_SUCCESS;
    if (a->comm->inter)
        build_inter(s, a);
    else if (wf_bcast_pool_fits(a->comm, bytes))
        wf_bcast_pool_bcast(s, a);
    else
        wf_coll_bcast(s, a);
    return MPI_SUCCESS;
}
