/* Reduce: the choice, a binomial tree, or block-wise with a gather for long
 * vectors. All evaluate in rank order, so that they serve every operation.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/reduce.h"

#include "coll/args.h"
#include "coll/blocks.h"
#include "coll/chain.h"
#include "coll/coll.h"
#include "coll/decision.h"
#include "coll/nodes.h"
#include "os/tuning.h"

static const void *own_operand(const struct wf_coll_args *a)
{
    return a->sbuf == MPI_IN_PLACE ? a->rbuf : a->sbuf;
}

/* ---- binomial tree ------------------------------------------------------- */

/* One process of the tree. Process `relative` covers [relative, relative + bit)
 * before it hears from child relative + bit, which covers the next bit ranks:
 * the accumulated value is always the lower operand. */
struct node {
    struct wf_sched *s;
    const struct wf_coll_args *a;
    int p, relative, root, parent; /* parent: -1 at the root */
    int children;
    void **temps;
    int temp_count;
    /* where the last reduction must store its result, or NULL: anywhere */
    void *last;
};

static bool init_node(struct node *n, struct wf_sched *s,
                      const struct wf_comm *g, const struct wf_coll_args *a,
                      int root)
{
    int bit = 1;

    *n = (struct node){.s = s, .a = a, .p = g->size, .root = root};
    n->relative = (g->rank - root + n->p) % n->p;
    for (; bit < n->p && !(n->relative & bit); bit *= 2)
        n->children += n->relative + bit < n->p;
    n->parent = bit < n->p ? (n->relative - bit + root) % n->p : -1;
    n->temp_count = n->children;
    if (n->temp_count > 2 &&
        a->rcount * (uint64_t)a->rtype->size > WF_REDUCE_EAGER_TEMPS)
        n->temp_count = 2; /* they are used in turn */
    n->temps =
        wf_sched_alloc_temp(s, (size_t)(n->temp_count + 1) * sizeof(void *));
    for (int i = 0; n->temps && i < n->temp_count; i++)
        n->temps[i] = wf_coll_alloc_temp(s, a->rcount, a->rtype);
    return n->temps != NULL;
}

/* Receives from the children and reduces; returns the accumulated vector.
 * Reduction k reads what reduction k-1 wrote and writes buffer k; a buffer is
 * free again when the reduction after the one that wrote it is done. */
static const void *collect_children(struct node *n)
{
    const struct wf_coll_args *a = n->a;
    const void *acc = own_operand(a);
    int reduced[32];

    for (int k = 0, bit = 1; k < n->children; bit *= 2) {
        void *into = n->last && k == n->children - 1
                         ? n->last
                         : n->temps[k % n->temp_count];
        int recv = wf_sched_recv(n->s, into, a->rcount, a->rtype,
                                 (n->relative + bit + n->root) % n->p);
        if (k >= n->temp_count && into != n->last)
            wf_sched_after(n->s, recv, reduced[k - n->temp_count + 1]);
        reduced[k] =
            wf_sched_reduce(n->s, a->op, acc, into, a->rcount, a->rtype);
        wf_sched_after(n->s, reduced[k], recv);
        if (k > 0)
            wf_sched_after(n->s, reduced[k], reduced[k - 1]);
        acc = into;
        k++;
    }
    return acc;
}

/* The tree is rooted where rank order is kept: anywhere if op commutes. */
void wf_coll_reduce_tree(struct wf_sched *s, const struct wf_comm *g,
                         const struct wf_coll_args *a)
{
    int top = a->op->commutes ? a->root : 0;
    bool at_end = g->rank == a->root;
    const void *result;
    struct node n;

    if (!init_node(&n, s, g, a, top))
        return;
    if (at_end && n.parent < 0 && a->sbuf != MPI_IN_PLACE)
        n.last = a->rbuf;
    result = collect_children(&n);
    wf_sched_fence(s);
    if (n.parent >= 0)
        wf_sched_send(s, result, a->rcount, a->rtype, n.parent);
    else if (!at_end)
        wf_sched_send(s, result, a->rcount, a->rtype, a->root);
    else if (result != a->rbuf)
        wf_sched_copy(s, result, a->rcount, a->rtype, a->rbuf, a->rcount,
                      a->rtype);
    if (at_end && n.parent >= 0) {
        wf_sched_fence(s); /* the own contribution may be in rbuf */
        wf_sched_recv(s, a->rbuf, a->rcount, a->rtype, top);
    }
}

/* ---- blocks -------------------------------------------------------------- */

static void send_piece_to_root(struct wf_coll_blocks *b, uint64_t first,
                               uint64_t count, int vertex)
{
    int send = wf_sched_send(
        b->s, wf_coll_element_at(b->out, (int64_t)first, b->a->rtype), count,
        b->a->rtype, b->a->root);

    wf_sched_after(b->s, send, vertex);
}

static void build_blocks(struct wf_sched *s, const struct wf_coll_args *given)
{
    struct wf_coll_args a = *given;
    struct wf_coll_blocks b = {
        .s = s, .g = a.comm, .a = &a, .src = own_operand(given)};
    bool at_root = a.comm->rank == a.root;

    if (!wf_coll_split_vector(s, b.g, &a))
        return;
    b.out = at_root
                ? wf_coll_rblock(&a, b.g->rank)
                : wf_coll_alloc_temp(s, wf_coll_rcount(&a, b.g->rank), a.rtype);
    b.reduced = at_root ? NULL : send_piece_to_root;
    wf_coll_reduce_blocks(&b);
    if (at_root)
        wf_coll_recv_reduced(&b);
}

void wf_coll_reduce(struct wf_sched *s, const struct wf_coll_args *a)
{
    uint64_t bytes = a->rcount * (uint64_t)a->rtype->size;
    uint32_t able = WF_ALG_ANY;

    if (a->rcount < (uint64_t)a->comm->size)
        able &= ~WF_ALG(BLOCKS);
    if (!a->op->commutes)
        able |= WF_ALG_NODES_CONSECUTIVE;
    switch (wf_coll_choose(s, a->comm, WF_COLL_REDUCE, bytes, able)) {
    case WF_ALG_BLOCKS:
        build_blocks(s, a);
        break;
    case WF_ALG_CHAIN:
        wf_coll_reduce_chain(s, a);
        break;
    case WF_ALG_NODES:
        wf_coll_reduce_nodes(s, a);
        break;
    default:
        wf_coll_reduce_tree(s, a->comm, a);
    }
}

/* ---- building ------------------------------------------------------------ */

static void build_inter(struct wf_sched *s, const struct wf_coll_args *given)
{
    struct wf_coll_args a = *given;

    if (a.root == MPI_ROOT) {
        wf_sched_recv(s, a.rbuf, a.rcount, a.rtype, 0);
        return;
    }
    a.rbuf = wf_coll_alloc_temp(s, a.rcount, a.rtype);
    a.root = 0;
    wf_sched_use_local_group(s, true);
    wf_coll_reduce_tree(s, a.comm->local_comm, &a);
    wf_sched_use_local_group(s, false);
    wf_sched_fence(s);
    if (a.comm->rank == 0)
        wf_sched_send(s, a.rbuf, a.rcount, a.rtype, given->root);
}

/* MPI_IN_PLACE is for the root; elsewhere rbuf means nothing (s6.9.1). */
static int check_args(const struct wf_coll_args *a, bool at_root)
{
    struct wf_coll_args b = *a;

    if (!at_root)
        b.rbuf = NULL;
    return wf_coll_check_reduce(&b, at_root);
}

int wf_build_reduce(struct wf_sched *s, const struct wf_coll_args *a)
{
    bool inter = a->comm->inter;
    bool at_root = inter ? a->root == MPI_ROOT : a->root == a->comm->rank;
    int rc;

    if ((rc = wf_coll_check_root(a)))
        return rc;
    if (inter && a->root == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if ((rc = check_args(a, at_root)))
        return rc;
    if (a->rcount == 0 || a->rtype->size == 0)
        return MPI_SUCCESS;
    if (inter) {
        build_inter(s, a);
        return MPI_SUCCESS;
    }
    wf_coll_reduce(s, a);
    return MPI_SUCCESS;
}
