/* Reduce-scatter and reduce-scatter-block.
 *
 *   blocks    every rank gets its block from every other and reduces them
 *             (blocks.c): each byte moves once, any operation
 *   tree      reduce to rank 0 and scatter, for short vectors on many ranks
 *   halving   halving.c
 *   ring      ring.c
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/args.h"
#include "coll/blocks.h"
#include "coll/coll.h"
#include "coll/decision.h"
#include "coll/halving.h"
#include "coll/reduce.h"
#include "coll/ring.h"
#include "coll/scatter.h"

/* ---- whole vectors ------------------------------------------------------- */

static uint64_t sum_counts(const struct wf_coll_args *a, int p)
{
    uint64_t n = 0;

    for (int i = 0; i < p; i++)
        n += wf_coll_rcount(a, i);
    return n;
}

/* Sets a->rdispls to the displacements of consecutive blocks. */
static bool set_consecutive_displs(struct wf_sched *s, struct wf_coll_args *a,
                                   int p)
{
    int64_t *displs = wf_sched_alloc_temp(s, (size_t)p * sizeof *displs);
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

/* Reduces sbuf of all of g into `whole` of rank 0. */
static void reduce_whole(struct wf_sched *s, const struct wf_comm *g,
                         const struct wf_coll_args *a, void *whole, uint64_t n)
{
    struct wf_coll_args r = {.sbuf = a->sbuf,
                             .rbuf = whole,
                             .rcount = n,
                             .rtype = a->rtype,
                             .op = a->op,
                             .root = 0};

    if (a->sbuf == MPI_IN_PLACE)
        r.sbuf = a->rbuf;
    wf_coll_reduce_tree(s, g, &r);
    wf_sched_fence(s);
}

/* Scatters `whole` of rank 0 to rbuf of all of g, by a's receive counts. */
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
    uint64_t n = sum_counts(a, g->size);
    void *whole = wf_coll_alloc_temp(s, n, a->rtype);

    reduce_whole(s, g, a, whole, n);
    scatter_whole(s, g, a, whole);
}

/* Builds the reduction by blocks. In place, the result is copied over a source
 * when all have been sent. */
static void build_blocks(struct wf_sched *s, const struct wf_coll_args *a)
{
    struct wf_coll_blocks b = {
        .s = s, .g = a->comm, .a = a, .src = a->sbuf, .out = a->rbuf};
    uint64_t own = wf_coll_rcount(a, b.g->rank);
    bool aside = a->sbuf == MPI_IN_PLACE && b.g->rank > 0;

    if (a->sbuf == MPI_IN_PLACE)
        b.src = a->rbuf;
    if (aside)
        b.out = wf_coll_alloc_temp(s, own, a->rtype);
    wf_coll_reduce_blocks(&b);
    if (aside && own)
        wf_sched_after_all(
            s, wf_sched_copy(s, b.out, own, a->rtype, a->rbuf, own, a->rtype));
}

/* Builds recursive halving, for commutative operations only. Halving and ring
 * read the whole source before `out` of halving is written; the ring gets an
 * `out` of its own. */
static void build_halving(struct wf_sched *s, const struct wf_coll_args *a)
{
    wf_coll_scatter_halving(s, a, a->sbuf == MPI_IN_PLACE ? a->rbuf : a->sbuf,
                            sum_counts(a, a->comm->size), a->rbuf);
}

static void build_ring(struct wf_sched *s, const struct wf_coll_args *a)
{
    bool in_place = a->sbuf == MPI_IN_PLACE;
    uint64_t own = wf_coll_rcount(a, a->comm->rank);
    void *out = in_place ? wf_coll_alloc_temp(s, own, a->rtype) : a->rbuf;

    if (a->comm->size == 1) {
        if (!in_place)
            wf_sched_copy(s, a->sbuf, own, a->rtype, a->rbuf, own, a->rtype);
        return;
    }
    if (in_place && !out)
        return;
    wf_coll_reduce_ring(s, a->comm, a, in_place ? a->rbuf : a->sbuf, out);
    if (!in_place || !own)
        return;
    wf_sched_fence(s);
    wf_sched_copy(s, out, own, a->rtype, a->rbuf, own, a->rtype);
}

static void build_intra(struct wf_sched *s, const struct wf_coll_args *a,
                        uint64_t bytes)
{
    uint32_t able = WF_ALG_ANY;

    if (!a->op->commutes)
        able &= ~(WF_ALG(RING) | WF_ALG(RECURSIVE_HALVING));
    switch (wf_coll_choose(s, a->comm, WF_COLL_REDUCE_SCATTER, bytes, able)) {
    case WF_ALG_BINOMIAL:
        build_tree(s, a);
        break;
    case WF_ALG_RECURSIVE_HALVING:
        build_halving(s, a);
        break;
    case WF_ALG_RING:
        build_ring(s, a);
        break;
    default:
        build_blocks(s, a);
    }
}

/* The result of each group is scattered over the other (s6.10.2): the total
 * count is the same in both. */
static void build_inter(struct wf_sched *s, const struct wf_coll_args *a)
{
    const struct wf_comm *g = a->comm->local_comm;
    uint64_t n = sum_counts(a, g->size);
    void *ours = wf_coll_alloc_temp(s, n, a->rtype);
    void *theirs = wf_coll_alloc_temp(s, n, a->rtype);

    wf_sched_use_local_group(s, true);
    reduce_whole(s, g, a, ours, n);
    wf_sched_use_local_group(s, false);
    if (g->rank == 0) {
        wf_sched_recv(s, theirs, n, a->rtype, 0);
        wf_sched_send(s, ours, n, a->rtype, 0);
        wf_sched_fence(s);
    }
    wf_sched_use_local_group(s, true);
    scatter_whole(s, g, a, theirs);
}

/* ---- building ------------------------------------------------------------ */

int wf_build_reduce_scatter_block(struct wf_sched *s,
                                  const struct wf_coll_args *given)
{
    struct wf_coll_args a = *given, whole = *given;
    int p = a.comm->size, rc;
    uint64_t bytes;

    whole.rcount = sum_counts(&a, p);
    if ((rc = wf_coll_check_reduce(&whole, true)))
        return rc;
    bytes = whole.rcount * (uint64_t)a.rtype->size;
    if (bytes == 0 || !set_consecutive_displs(s, &a, p))
        return MPI_SUCCESS;
    if (a.comm->inter)
        build_inter(s, &a);
    else
        build_intra(s, &a, bytes);
    return MPI_SUCCESS;
}

int wf_build_reduce_scatter(struct wf_sched *s, const struct wf_coll_args *a)
{
    int rc = wf_coll_check_counts(a->rcounts, a->comm->size, "receive");
    return rc ? rc : wf_build_reduce_scatter_block(s, a);
}
