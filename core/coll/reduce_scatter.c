/* Reduce-scatter and reduce-scatter-block.
 *
 *   pairwise  every rank gets its block from every other and reduces them in
 *             rank order: each byte moves once, any operation
 *   tree      reduce to rank 0 and scatter, for short vectors on many ranks
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/coll.h"

/* ---- pairwise ------------------------------------------------------------ */

/* Reduce operand[p-1], ..., operand[0] into the first of these; operands that
 * arrive have their receive in arrived[], the own one has -1. */
static int reduce_downward(struct wf_sched *s, const struct wf_coll_args *a,
                           int p, void *const *operand, const int *arrived,
                           uint64_t count)
{
    int before = arrived[p - 1];

    for (int i = p - 2; i >= 0; i--) {
        int reduced = wf_sched_reduce(s, a->op, operand[i], operand[p - 1],
                                      count, a->rtype);
        wf_sched_after(s, reduced, before);
        wf_sched_after(s, reduced, arrived[i]);
        before = reduced;
    }
    return before;
}

void wf_coll_reduce_blocks(struct wf_sched *s, const struct wf_comm *g,
                           const struct wf_coll_args *a, const void *src,
                           void *out)
{
    struct wf_coll_args from = *a;
    int p = g->size, rank = g->rank, copied;
    uint64_t own = wf_coll_rcount(a, rank);
    void **operand = wf_sched_temp(s, (size_t)p * sizeof *operand);
    int *arrived = wf_sched_temp(s, (size_t)p * sizeof *arrived);

    if (!operand || !arrived)
        return;
    from.rbuf = (void *)(uintptr_t)src;
    for (int step = 1; step < p; step++) {
        int peer = (rank + step) % p;
        if (wf_coll_rbytes(a, peer))
            wf_sched_send(s, wf_coll_rblock(&from, peer),
                          wf_coll_rcount(a, peer), a->rtype, peer);
    }
    if (own * (uint64_t)a->rtype->size == 0)
        return;
    for (int step = 1; step < p; step++) {
        int peer = (rank - step + p) % p;
        operand[peer] = wf_coll_temp(s, own, a->rtype);
        arrived[peer] = wf_sched_recv(s, operand[peer], own, a->rtype, peer);
    }
    operand[rank] = wf_coll_rblock(&from, rank);
    arrived[rank] = -1;
    if (rank == p - 1) { /* the accumulator must not be the user's input */
        operand[rank] = wf_coll_temp(s, own, a->rtype);
        arrived[rank] = wf_sched_copy(s, wf_coll_rblock(&from, rank), own,
                                      a->rtype, operand[rank], own, a->rtype);
    }
    reduce_downward(s, a, p, operand, arrived, own);
    copied = wf_sched_copy(s, operand[p - 1], own, a->rtype, out, own,
                           a->rtype);
    /* in place, out may be memory that the sends still read */
    wf_sched_after_all(s, copied);
}

/* ---- whole vectors ------------------------------------------------------- */

static uint64_t total(const struct wf_coll_args *a, int p)
{
    uint64_t n = 0;

    for (int i = 0; i < p; i++)
        n += wf_coll_rcount(a, i);
    return n;
}

/* Displacements of consecutive blocks, for a->rdispls. */
static bool consecutive(struct wf_sched *s, struct wf_coll_args *a, int p)
{
    int64_t *displs = wf_sched_temp(s, (size_t)p * sizeof *displs);
    int64_t at = 0;

    if (!displs)
        return false;
    for (int i = 0; i < p; i++) {
        displs[i] = at;
        at += (int64_t)wf_coll_rcount(a, i);
    }
    a->rdispls = (struct wf_ints){displs, sizeof *displs};
    return true;
}

/* sbuf of all of g, reduced into `whole` of rank 0. */
static void reduce_whole(struct wf_sched *s, const struct wf_comm *g,
                         const struct wf_coll_args *a, void *whole, uint64_t n)
{
    struct wf_coll_args r = {.sbuf = a->sbuf, .rbuf = whole, .rcount = n,
                             .rtype = a->rtype, .op = a->op, .root = 0};

    if (a->sbuf == MPI_IN_PLACE)
        r.sbuf = a->rbuf;
    wf_coll_reduce_tree(s, g, &r);
    wf_sched_fence(s);
}

/* `whole` of rank 0 to rbuf of all of g, by a's receive counts. */
static void scatter_whole(struct wf_sched *s, const struct wf_comm *g,
                          const struct wf_coll_args *a, const void *whole)
{
    struct wf_coll_args b = *a;

    b.sbuf = whole;
    b.stype = a->rtype;
    b.scount = a->rcount;
    b.scounts = a->rcounts;
    b.sdispls = a->rdispls;
    b.rcount = wf_coll_rcount(a, g->rank);
    b.rcounts.base = b.rdispls.base = NULL;
    b.root = 0;
    wf_coll_scatter_linear(s, g, &b);
}

static void build_tree(struct wf_sched *s, const struct wf_coll_args *a)
{
    const struct wf_comm *g = a->comm;
    uint64_t n = total(a, g->size);
    void *whole = wf_coll_temp(s, n, a->rtype);

    reduce_whole(s, g, a, whole, n);
    scatter_whole(s, g, a, whole);
}

/* The result of each group is scattered over the other (s6.10.2): the total
 * count is the same in both. */
static void build_inter(struct wf_sched *s, const struct wf_coll_args *a)
{
    const struct wf_comm *g = a->comm->local_comm;
    uint64_t n = total(a, g->size);
    void *ours = wf_coll_temp(s, n, a->rtype);
    void *theirs = wf_coll_temp(s, n, a->rtype);

    wf_sched_local(s, true);
    reduce_whole(s, g, a, ours, n);
    wf_sched_local(s, false);
    if (g->rank == 0) {
        wf_sched_recv(s, theirs, n, a->rtype, 0);
        wf_sched_send(s, ours, n, a->rtype, 0);
        wf_sched_fence(s);
    }
    wf_sched_local(s, true);
    scatter_whole(s, g, a, theirs);
}

/* ---- building ------------------------------------------------------------ */

int wf_build_reduce_scatter_block(struct wf_sched *s,
                                  const struct wf_coll_args *given)
{
    struct wf_coll_args a = *given, whole = *given;
    int p = a.comm->size, rc;
    uint64_t bytes;

    whole.rcount = total(&a, p);
    if ((rc = wf_coll_check_reduce(&whole, true)))
        return rc;
    bytes = whole.rcount * (uint64_t)a.rtype->size;
    if (bytes == 0 || !consecutive(s, &a, p))
        return MPI_SUCCESS;
    if (a.comm->inter)
        build_inter(s, &a);
    else if (wf_coll_decide(WF_COLL_REDUCE_SCATTER, p, bytes) == WF_ALG_TREE)
        build_tree(s, &a);
    else
        wf_coll_reduce_blocks(s, a.comm, &a,
                              a.sbuf == MPI_IN_PLACE ? a.rbuf : a.sbuf,
                              a.rbuf);
    return MPI_SUCCESS;
}

int wf_build_reduce_scatter(struct wf_sched *s, const struct wf_coll_args *a)
{
    int rc = wf_coll_check_counts(a->rcounts, a->comm->size, "receive");
    return rc ? rc : wf_build_reduce_scatter_block(s, a);
}
