/* Allreduce: recursive doubling, or for long vectors by blocks, each of which
 * one rank reduces and sends to all, segment by segment; and others in files of
 * their own. Every element is computed either once or by the same expression
 * everywhere, so that all ranks get the same bits.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/allreduce.h"

#include "coll/allgather.h"
#include "coll/args.h"
#include "coll/bcast.h"
#include "coll/blocks.h"
#include "coll/decision.h"
#include "coll/halving.h"
#include "coll/nodes.h"
#include "coll/reduce.h"
#include "coll/ring.h"
#include "coll/bcast_pool.h"

static const void *own_operand(const struct wf_coll_args *a)
{
    return a->sbuf == MPI_IN_PLACE ? a->rbuf : a->sbuf;
}

static int copy_vector(struct wf_sched *s, const struct wf_coll_args *a,
                       const void *from, void *to)
{
    return wf_sched_copy(s, from, a->rcount, a->rtype, to, a->rcount, a->rtype);
}

/* ---- recursive doubling -------------------------------------------------- */

/* State of recursive doubling. With p not a power of two, the first 2 * extra
 * ranks work in pairs: the even one gives its vector to the odd one and gets
 * the result back. The members of the doubling then stand for consecutive
 * ranges of ranks, in order. */
struct doubling {
    struct wf_sched *s;
    const struct wf_coll_args *a;
    int members, extra;
    void *mine;    /* accumulated vector */
    bool borrowed; /* `mine` is the program's send buffer */
    int ready;     /* the vertex after which `mine` is complete, or -1: it is */
};

static int rank_of_member(const struct doubling *d, int member)
{
    return member < d->extra ? 2 * member + 1 : member + d->extra;
}

/* Reduces `mine` and `theirs`, ordered by rank. The result is stored in the
 * higher operand, so that `mine` may become the buffer just received. */
static void combine_operands(struct doubling *d, void *theirs,
                             bool they_are_lower, int received, int sent)
{
    const struct wf_coll_args *a = d->a;
    int reduced;

    d->borrowed = false;
    if (they_are_lower)
        reduced =
            wf_sched_reduce(d->s, a->op, theirs, d->mine, a->rcount, a->rtype);
    else
        reduced =
            wf_sched_reduce(d->s, a->op, d->mine, theirs, a->rcount, a->rtype);
    wf_sched_after(d->s, reduced, d->ready);
    wf_sched_after(d->s, reduced, received);
    wf_sched_after(d->s, reduced, sent);
    if (!they_are_lower)
        d->mine = theirs;
    d->ready = reduced;
}

/* Returns the buffer for the partner's vector. The send buffer is only read:
 * where the result is stored in that buffer, it is the receive buffer and
 * nothing is copied. */
static void *place_for_theirs(struct doubling *d, bool they_are_lower)
{
    const struct wf_coll_args *a = d->a;

    if (d->borrowed && !they_are_lower)
        return a->rbuf;
    if (d->borrowed) {
        d->ready = copy_vector(d->s, a, d->mine, a->rbuf);
        d->mine = a->rbuf;
    }
    return wf_coll_alloc_temp(d->s, a->rcount, a->rtype);
}

static void exchange_vectors(struct doubling *d, int partner,
                             bool they_are_lower)
{
    const struct wf_coll_args *a = d->a;
    int sent = wf_sched_send(d->s, d->mine, a->rcount, a->rtype, partner);
    void *theirs;
    int received;

    wf_sched_after(d->s, sent, d->ready);
    theirs = place_for_theirs(d, they_are_lower);
    received = wf_sched_recv(d->s, theirs, a->rcount, a->rtype, partner);
    combine_operands(d, theirs, they_are_lower, received, sent);
}

/* Adds the part of the even rank of a pair: it gives its vector and gets the
 * result. */
static void build_outsider(struct wf_sched *s, const struct wf_coll_args *a)
{
    int partner = a->comm->rank + 1;

    wf_sched_send(s, own_operand(a), a->rcount, a->rtype, partner);
    wf_sched_fence(s); /* in place, both are the same memory */
    wf_sched_recv(s, a->rbuf, a->rcount, a->rtype, partner);
}

static void join_outsider(struct doubling *d, int rank)
{
    const struct wf_coll_args *a = d->a;
    void *theirs = place_for_theirs(d, true);
    int received = wf_sched_recv(d->s, theirs, a->rcount, a->rtype, rank - 1);

    combine_operands(d, theirs, true, received, -1);
}

static void build_doubling(struct wf_sched *s, const struct wf_coll_args *a)
{
    struct doubling d = {.s = s,
                         .a = a,
                         .members = 1,
                         .ready = -1,
                         .mine = (void *)(uintptr_t)own_operand(a),
                         .borrowed = a->sbuf != MPI_IN_PLACE};
    int p = a->comm->size, rank = a->comm->rank, me;

    while (2 * d.members <= p)
        d.members *= 2;
    d.extra = p - d.members;
    if (rank < 2 * d.extra && rank % 2 == 0) {
        build_outsider(s, a);
        return;
    }
    if (rank < 2 * d.extra)
        join_outsider(&d, rank);
    me = rank < 2 * d.extra ? rank / 2 : rank - d.extra;
    for (int bit = 1; bit < d.members; bit *= 2)
        exchange_vectors(&d, rank_of_member(&d, me ^ bit), me & bit);
    if (rank < 2 * d.extra)
        wf_sched_after(s,
                       wf_sched_send(s, d.mine, a->rcount, a->rtype, rank - 1),
                       d.ready);
    if (d.mine != a->rbuf)
        wf_sched_after(s, copy_vector(s, a, d.mine, a->rbuf), d.ready);
}

/* ---- blocks -------------------------------------------------------------- */

/* Sends a segment of the own block to every other rank. */
static void send_piece_to_all(struct wf_coll_blocks *b, uint64_t first,
                              uint64_t count, int vertex)
{
    void *piece = wf_coll_element_at(b->out, (int64_t)first, b->a->rtype);
    int p = b->g->size;

    if (wf_bcast_pool_fits_elements(b->g, b->a->rtype, count)) {
        wf_bcast_pool_put(b->s, b->g, piece,
                          count * (uint64_t)b->a->rtype->size, vertex);
        return;
    }
    for (int step = 1; step < p; step++)
        wf_sched_after(b->s,
                       wf_sched_send(b->s, piece, count, b->a->rtype,
                                     (b->g->rank + step) % p),
                       vertex);
}

static void build_blocks(struct wf_sched *s, const struct wf_coll_args *given)
{
    struct wf_coll_args a = *given;
    struct wf_coll_blocks b = {.s = s,
                               .g = a.comm,
                               .a = &a,
                               .src = own_operand(given),
                               .reduced = send_piece_to_all,
                               .to_all = true};

    if (!wf_coll_split_vector(s, b.g, &a))
        return;
    b.out = wf_coll_rblock(&a, b.g->rank);
    wf_coll_reduce_blocks(&b);
    wf_coll_recv_reduced(&b);
}

/* ---- ring ---------------------------------------------------------------- */

static void build_ring(struct wf_sched *s, const struct wf_coll_args *given)
{
    struct wf_coll_args a = *given;

    if (!wf_coll_split_vector(s, a.comm, &a))
        return;
    if (a.comm->size == 1 && a.sbuf != MPI_IN_PLACE)
        copy_vector(s, &a, a.sbuf, a.rbuf);
    wf_coll_reduce_ring(s, a.comm, &a, own_operand(&a), NULL);
    wf_sched_fence(s);
    wf_coll_allgather_ring(s, a.comm, &a);
}

/* ---- reduce and broadcast ------------------------------------------------ */

static void build_tree(struct wf_sched *s, const struct wf_coll_args *given)
{
    struct wf_coll_args a = *given;

    a.root = 0;
    wf_coll_reduce_tree(s, a.comm, &a);
    wf_sched_fence(s);
    wf_coll_bcast_tree(s, a.comm, a.rbuf, a.rcount, a.rtype, 0);
}

/* ---- the choice ---------------------------------------------------------- */

static uint32_t able_algorithms(const struct wf_coll_args *a)
{
    uint32_t set = WF_ALG_ANY;

    if (a->rcount < (uint64_t)a->comm->size)
        set &= ~WF_ALG(BLOCKS);
    if (!a->op->commutes)
        set = (set & ~WF_ALG(RING)) | WF_ALG_NODES_CONSECUTIVE;
    return set;
}

void wf_coll_allreduce(struct wf_sched *s, const struct wf_coll_args *a)
{
    uint64_t bytes = a->rcount * (uint64_t)a->rtype->size;

    switch (wf_coll_choose(s, a->comm, WF_COLL_ALLREDUCE, bytes,
                           able_algorithms(a))) {
    case WF_ALG_BLOCKS:
        build_blocks(s, a);
        break;
    case WF_ALG_RABENSEIFNER:
        wf_coll_allreduce_halving(s, a);
        break;
    case WF_ALG_RING:
        build_ring(s, a);
        break;
    case WF_ALG_BINOMIAL:
        build_tree(s, a);
        break;
    case WF_ALG_NODES:
        wf_coll_allreduce_nodes(s, a);
        break;
    default:
        build_doubling(s, a);
    }
}

/* ---- building ------------------------------------------------------------ */

/* Each group gets the result of the other (s6.9.6). */
static void build_inter(struct wf_sched *s, const struct wf_coll_args *given)
{
    struct wf_coll_args a = *given;
    struct wf_comm *g = a.comm->local_comm;

    a.rbuf = wf_coll_alloc_temp(s, a.rcount, a.rtype);
    a.root = 0;
    wf_sched_use_local_group(s, true);
    wf_coll_reduce_tree(s, g, &a);
    wf_sched_use_local_group(s, false);
    wf_sched_fence(s);
    if (a.comm->rank == 0) {
        wf_sched_recv(s, given->rbuf, a.rcount, a.rtype, 0);
        wf_sched_send(s, a.rbuf, a.rcount, a.rtype, 0);
        wf_sched_fence(s);
    }
    wf_sched_use_local_group(s, true);
    wf_coll_bcast_tree(s, g, given->rbuf, a.rcount, a.rtype, 0);
}

int wf_build_allreduce(struct wf_sched *s, const struct wf_coll_args *a)
{
    int rc = wf_coll_check_reduce(a, true);

    if (rc)
        return rc;
    if (a->rcount == 0 || a->rtype->size == 0)
        return MPI_SUCCESS;
    if (a->comm->inter)
        build_inter(s, a);
    else
        wf_coll_allreduce(s, a);
    return MPI_SUCCESS;
}
