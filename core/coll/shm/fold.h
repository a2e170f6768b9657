/* Reductions of the contributions of all members.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_SHM_FOLD_H
#define WF_COLL_SHM_FOLD_H

#include "coll/shm/contribution.h"

/* The orders in which the schedules bracket operands. */
enum wf_shmcoll_order {
    WF_SHMCOLL_ORDER_TREE, /* binomial tree, recursive doubling */
    /* blocks.c: descending; the own operand first or second */
    WF_SHMCOLL_ORDER_BLOCKS,
    WF_SHMCOLL_ORDER_RING, /* ring.c: ascending, the own operand last */
    WF_SHMCOLL_ORDER_CHAIN /* chain.c: descending, that of first_rank last */
};

/* A reduction of some elements of the contributions of all members. */
struct wf_shmcoll_fold {
    const struct wf_coll_args *a; /* operation and type */
    uint64_t offset, count;       /* offset in bytes; number of elements */
    const void *const *operands;  /* contributions, packed, by rank */
    void *out; /* of the first byte: true_lb is not before it */
    enum wf_shmcoll_order order;
    int first_rank; /* of a tree: its first rank; ranks wrap around */
    /* so many of the first ranks are combined in pairs before the others */
    int paired_ranks;
    int owner; /* of blocks and rings: the rank whose block it is */
    bool own_first;
};

/* Returns the operand of this member. */
static inline const void *wf_shmcoll_own_operand(const struct wf_coll_args *a)
{
    return a->sbuf == MPI_IN_PLACE ? a->rbuf : a->sbuf;
}

/* The same as a block of so many elements. */
static inline struct wf_coll_block
wf_shmcoll_own_block(const struct wf_coll_args *a, uint64_t count)
{
    return (struct wf_coll_block){(void *)(uintptr_t)wf_shmcoll_own_operand(a),
                                  count, a->rtype};
}

/* Computes inout = in op inout. `in` is the lower operand, `inout` the higher
 * one; both are packed. */
static inline int wf_shmcoll_apply_op(const struct wf_coll_args *a,
                                      const void *in, void *inout,
                                      uint64_t count)
{
    int64_t lb = a->rtype->true_lb;

    return wf_op_apply(a->comm->wf, a->op, (const char *)in - lb,
                       (char *)inout - lb, count, a->rtype);
}

/* Sets from[r] to the contribution of each rank r, which must be of so many
 * bytes; this member's is at `own`. */
int wf_shmcoll_find_operands(struct wf_shmcoll *, uint64_t bytes,
                             const void *own, const void **from);
/* Reduces them. */
int wf_shmcoll_fold(struct wf_shmcoll *, const struct wf_shmcoll_fold *);
/* Reduces the whole contributions of all members, as an allreduce by recursive
 * doubling does, into the receive buffer. */
int wf_shmcoll_fold_all(struct wf_shmcoll *, const struct wf_coll_args *);

#endif
