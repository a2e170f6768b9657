/* Gather and gatherv: a binomial tree of packed blocks when they are small, or
 * else every rank straight to the root.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/gather.h"

#include "coll/args.h"
#include "coll/coll.h"
#include "coll/decision.h"

static bool is_root(const struct wf_coll_args *a)
{
    return a->comm->inter ? a->root == MPI_ROOT : a->root == a->comm->rank;
}

/* ---- linear -------------------------------------------------------------- */

static void copy_own_block(struct wf_sched *s, const struct wf_coll_args *a)
{
    if (a->sbuf != MPI_IN_PLACE)
        wf_sched_copy(s, a->sbuf, a->scount, a->stype,
                      wf_coll_rblock(a, a->root), wf_coll_rcount(a, a->root),
                      a->rtype);
}

static void build_linear(struct wf_sched *s, const struct wf_coll_args *a)
{
    int n = a->comm->peers->size;

    if (!is_root(a)) { /* no bytes: no message */
        if (a->scount * (uint64_t)a->stype->size > 0)
            wf_sched_send(s, a->sbuf, a->scount, a->stype, a->root);
        return;
    }
    for (int i = 0; i < n; i++)
        if ((a->comm->inter || i != a->root) && wf_coll_rbytes(a, i))
            wf_sched_recv(s, wf_coll_rblock(a, i), wf_coll_rcount(a, i),
                          a->rtype, i);
    if (!a->comm->inter)
        copy_own_block(s, a);
}

/* ---- tree ---------------------------------------------------------------- */

/* Block j of the packed vector belongs to rank root + relative + j. */
static void unpack_at_root(struct wf_sched *s, const struct wf_coll_args *a,
                           const char *packed, uint64_t block)
{
    struct wf_type *byte = wf_coll_byte();
    int p = a->comm->size, after = p - 1 - a->root;

    copy_own_block(s, a);
    if (after > 0)
        wf_sched_copy(s, packed + block, (uint64_t)after * block, byte,
                      wf_coll_rblock(a, a->root + 1),
                      (uint64_t)after * a->rcount, a->rtype);
    if (a->root > 0)
        wf_sched_copy(s, packed + (uint64_t)(after + 1) * block,
                      (uint64_t)a->root * block, byte, a->rbuf,
                      (uint64_t)a->root * a->rcount, a->rtype);
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
        wf_sched_send(s, a->sbuf, a->scount, a->stype,
                      (relative - bit + a->root) % p);
        return;
    }
    packed = wf_sched_alloc_temp(s, (size_t)mine * block);
    if (!packed)
        return;
    for (int d = 1; d < mine; d *= 2) {
        int n = d < mine - d ? d : mine - d;
        wf_sched_recv(s, packed + (uint64_t)d * block, (uint64_t)n * block,
                      byte, (relative + d + a->root) % p);
    }
    if (relative != 0)
        wf_sched_copy(s, a->sbuf, a->scount, a->stype, packed, block, byte);
    wf_sched_fence(s);
    if (relative == 0)
        unpack_at_root(s, a, packed, block);
    else
        wf_sched_send(s, packed, (uint64_t)mine * block, byte,
                      (relative - bit + a->root) % p);
}

void wf_coll_gather(struct wf_sched *s, const struct wf_coll_args *a,
                    uint64_t block)
{
    if (wf_coll_choose(s, a->comm, WF_COLL_GATHER, block, WF_ALG_ANY) ==
        WF_ALG_BINOMIAL)
        build_tree(s, a, block);
    else
        build_linear(s, a);
}

/* ---- building ------------------------------------------------------------ */

static int check_args(const struct wf_coll_args *a)
{
    struct wf_coll_args b = *a;
    bool root = is_root(a);
    int rc;

    if (!root)
        b.rbuf = NULL; /* not significant */
    if ((rc = wf_coll_check_in_place(&b, root)))
        return rc;
    if (!(root && (a->comm->inter || a->sbuf == MPI_IN_PLACE)) &&
        (rc = wf_coll_check_send(a)))
        return rc;
    if (!root)
        return MPI_SUCCESS;
    if ((rc = wf_coll_check_recv(a)))
        return rc;
    if (a->comm->inter || !a->rbuf)
        return MPI_SUCCESS;
    return wf_coll_check_alias(a, wf_coll_rblock(a, a->root));
}

int wf_build_gather(struct wf_sched *s, const struct wf_coll_args *a)
{
    uint64_t block;
    int rc;

    if ((rc = wf_coll_check_root(a)))
        return rc;
    if (a->root == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if ((rc = check_args(a)))
        return rc;
    block = is_root(a) ? a->rcount * (uint64_t)a->rtype->size
                       : a->scount * (uint64_t)a->stype->size;
    if (a->comm->inter)
        build_linear(s, a);
    else
        wf_coll_gather(s, a, block);
    return MPI_SUCCESS;
}

int wf_build_gatherv(struct wf_sched *s, const struct wf_coll_args *a)
{
    int rc;

    if ((rc = wf_coll_check_root(a)))
        return rc;
    if (a->root == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if (is_root(a) && (rc = wf_coll_check_counts(
                           a->rcounts, a->comm->peers->size, "receive")))
        return rc;
    if ((rc = check_args(a)))
        return rc;
    build_linear(s, a); /* only the root knows the other counts */
    return MPI_SUCCESS;
}
