/* Scatter and scatterv: a binomial tree of packed blocks when they are small,
 * or else the root straight to every rank.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/scatter.h"

#include "coll/args.h"
#include "coll/coll.h"
#include "coll/decision.h"
#include "object/error.h"

static bool is_root(const struct wf_coll_args *a)
{
    return a->comm->inter ? a->root == MPI_ROOT : a->root == a->comm->rank;
}

/* ---- linear -------------------------------------------------------------- */

static void copy_own_block(struct wf_sched *s, const struct wf_coll_args *a)
{
    if (a->rbuf != MPI_IN_PLACE)
        wf_sched_copy(s, wf_coll_sblock(a, a->root), wf_coll_scount(a, a->root),
                      a->stype, a->rbuf, a->rcount, a->rtype);
}

void wf_coll_scatter_linear(struct wf_sched *s, const struct wf_comm *g,
                            const struct wf_coll_args *a)
{
    if (g->rank != a->root) { /* no bytes: no message */
        if (a->rcount * (uint64_t)a->rtype->size > 0)
            wf_sched_recv(s, a->rbuf, a->rcount, a->rtype, a->root);
        return;
    }
    for (int i = 0; i < g->size; i++)
        if (i != a->root && wf_coll_scount(a, i) * (uint64_t)a->stype->size > 0)
            wf_sched_send(s, wf_coll_sblock(a, i), wf_coll_scount(a, i),
                          a->stype, i);
    copy_own_block(s, a);
}

static void build_inter(struct wf_sched *s, const struct wf_coll_args *a)
{
    if (!is_root(a)) {
        wf_sched_recv(s, a->rbuf, a->rcount, a->rtype, a->root);
        return;
    }
    for (int i = 0; i < a->comm->peers->size; i++)
        wf_sched_send(s, wf_coll_sblock(a, i), wf_coll_scount(a, i), a->stype,
                      i);
}

/* ---- tree ---------------------------------------------------------------- */

/* Block j of the packed vector belongs to rank root + j; block 0 stays. */
static void pack_at_root(struct wf_sched *s, const struct wf_coll_args *a,
                         char *packed, uint64_t block)
{
    struct wf_type *byte = wf_coll_byte();
    int p = a->comm->size, after = p - 1 - a->root;

    if (after > 0)
        wf_sched_copy(s, wf_coll_sblock(a, a->root + 1),
                      (uint64_t)after * a->scount, a->stype, packed + block,
                      (uint64_t)after * block, byte);
    if (a->root > 0)
        wf_sched_copy(s, a->sbuf, (uint64_t)a->root * a->scount, a->stype,
                      packed + (uint64_t)(after + 1) * block,
                      (uint64_t)a->root * block, byte);
    copy_own_block(s, a);
}

static void build_tree(struct wf_sched *s, const struct wf_coll_args *a,
                       uint64_t block)
{
    struct wf_type *byte = wf_coll_byte();
    int p = a->comm->size, relative = (a->comm->rank - a->root + p) % p;
    int bit = 1, mine;
    char *packed;

    while (bit < p && !(relative & bit))
        bit *= 2;
    /* ranks whose blocks pass through this one */
    mine = bit < p - relative ? bit : p - relative;
    if (mine == 1 && relative != 0) {
        wf_sched_recv(s, a->rbuf, a->rcount, a->rtype,
                      (relative - bit + a->root) % p);
        return;
    }
    packed = wf_sched_alloc_temp(s, (size_t)mine * block);
    if (!packed)
        return;
    if (relative == 0)
        pack_at_root(s, a, packed, block);
    else
        wf_sched_recv(s, packed, (uint64_t)mine * block, byte,
                      (relative - bit + a->root) % p);
    wf_sched_fence(s);
    for (int d = bit / 2; d > 0; d /= 2) {
        int n = d < mine - d ? d : mine - d;
        if (n > 0)
            wf_sched_send(s, packed + (uint64_t)d * block, (uint64_t)n * block,
                          byte, (relative + d + a->root) % p);
    }
    if (relative != 0)
        wf_sched_copy(s, packed, block, byte, a->rbuf, a->rcount, a->rtype);
}

/* ---- building ------------------------------------------------------------ */

static int check_in_place(const struct wf_coll_args *a, bool root)
{
    if (root && a->sbuf == MPI_IN_PLACE)
        return wf_error(MPI_ERR_BUFFER,
                        "MPI_IN_PLACE cannot be the send buffer here");
    if (a->rbuf == MPI_IN_PLACE && !(root && !a->comm->inter))
        return wf_error(MPI_ERR_BUFFER, "MPI_IN_PLACE can be the receive "
                                        "buffer only at the root");
    return MPI_SUCCESS;
}

static int check_args(const struct wf_coll_args *a)
{
    bool root = is_root(a), inter = a->comm->inter;
    struct wf_coll_args own;
    int rc;

    if ((rc = check_in_place(a, root)))
        return rc;
    if (!(root && (inter || a->rbuf == MPI_IN_PLACE)) &&
        (rc = wf_coll_check_recv(a)))
        return rc;
    if (!root)
        return MPI_SUCCESS;
    if ((rc = wf_coll_check_send(a)))
        return rc;
    if (inter || a->rbuf == MPI_IN_PLACE || !a->sbuf)
        return MPI_SUCCESS;
    own = *a;
    own.scount = wf_coll_scount(a, a->root);
    own.sbuf = wf_coll_sblock(a, a->root);
    return wf_coll_check_alias(&own, a->rbuf);
}

int wf_build_scatter(struct wf_sched *s, const struct wf_coll_args *a)
{
    uint64_t block;
    int rc;

    if ((rc = wf_coll_check_root(a)))
        return rc;
    if (a->root == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if ((rc = check_args(a)))
        return rc;
    block = is_root(a) ? a->scount * (uint64_t)a->stype->size
                       : a->rcount * (uint64_t)a->rtype->size;
    if (a->comm->inter)
        build_inter(s, a);
    else if (wf_coll_choose(s, a->comm, WF_COLL_SCATTER, block, WF_ALG_ANY) ==
             WF_ALG_BINOMIAL)
        build_tree(s, a, block);
    else
        wf_coll_scatter_linear(s, a->comm, a);
    return MPI_SUCCESS;
}

int wf_build_scatterv(struct wf_sched *s, const struct wf_coll_args *a)
{
    int rc;

    if ((rc = wf_coll_check_root(a)))
        return rc;
    if (a->root == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if (is_root(a) &&
        (rc = wf_coll_check_counts(a->scounts, a->comm->peers->size, "send")))
        return rc;
    if ((rc = check_args(a)))
        return rc;
    if (a->comm->inter)
        build_inter(s, a);
    else
        wf_coll_scatter_linear(s, a->comm, a);
    return MPI_SUCCESS;
}
