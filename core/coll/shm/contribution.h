/* Copying contributions to and from the lines and blocks of a shared-memory
 * collective, and what its collectives have in common.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SHMCOLL_CONTRIBUTION_H
#define WF_SHMCOLL_CONTRIBUTION_H

#include "coll/args.h"
#include "coll/run.h"
#include "coll/shm/fold.h"
#include "coll/shm/parts.h"
#include "coll/shm/shmcoll.h"
#include "coll/vertex.h"
#include "datatype/move.h"

/* Copies n bytes; without a call into libc for the 8 bytes that most small
 * collectives move. */
static inline void wf_shmcoll_copy_bytes(void *to, const void *from, uint64_t n)
{
    if (n == 8)
        memcpy(to, from, 8);
    else if (n)
        memcpy(to, from, n);
}

/* Packs `count` elements of the program's buffer. */
static inline int wf_shmcoll_pack_elements(void *to, const void *buf,
                                           uint64_t count,
                                           const struct wf_type *type)
{
    uint64_t n = count * (uint64_t)type->size;

    if (wf_unlikely(!wf_type_is_contiguous(type)))
        return wf_type_copy(type, buf, count, wf_coll_byte(), to, n);
    wf_shmcoll_copy_bytes(to, wf_type_data(type, buf), n);
    return MPI_SUCCESS;
}

/* Unpacks `count` elements into the program's buffer. */
static inline int wf_shmcoll_unpack_elements(const void *from, void *buf,
                                             uint64_t count,
                                             const struct wf_type *type)
{
    uint64_t n = count * (uint64_t)type->size;

    if (wf_unlikely(!wf_type_is_contiguous(type)))
        return wf_type_copy(wf_coll_byte(), from, n, type, buf, count);
    wf_shmcoll_copy_bytes(wf_type_data(type, buf), from, n);
    return MPI_SUCCESS;
}

/* Copies this member's block to itself. */
static inline int wf_shmcoll_copy_own_block(struct wf_coll_block from,
                                            struct wf_coll_block to)
{
    return wf_sched_copy_now(
        (struct wf_sched_block){from.buf, from.count, from.type},
        (struct wf_sched_block){to.buf, to.count, to.type});
}

/* Returns the send buffer as a block. */
static inline struct wf_coll_block
wf_shmcoll_sent_block(const struct wf_coll_args *a)
{
    return (struct wf_coll_block){(void *)(uintptr_t)a->sbuf, a->scount,
                                  a->stype};
}

static inline int wf_shmcoll_check_length(int source, uint64_t got,
                                          uint64_t expected)
{
    return wf_likely(got == expected)
               ? MPI_SUCCESS
               : wf_shmcoll_length_error(source, got, expected);
}

/* Keeps the first error of several in *rc. */
static inline void wf_shmcoll_keep_first_error(int *rc, int error)
{
    if (wf_unlikely(error) && !*rc)
        *rc = error;
}

/* Checks arguments by the builder, unless the call is plain: then they are
 * known to be in order. */
static inline int wf_shmcoll_check_unless_plain(wf_coll_builder *builder,
                                                const struct wf_coll_args *a,
                                                bool plain)
{
    return wf_likely(plain) ? MPI_SUCCESS : wf_shmcoll_check_args(builder, a);
}

/* ---- all to all: all_to_all.c -------------------------------------------- */

/* Returns true if the builder of a reduction would accept these arguments. */
static inline bool wf_shmcoll_is_plain_reduction(const struct wf_coll_args *a)
{
    return a->op->predefined && wf_type_is_contiguous(a->rtype) &&
           a->rbuf != MPI_IN_PLACE && a->sbuf != a->rbuf &&
           !wf_op_check(a->op, a->rtype);
}

/* ---- with a root --------------------------------------------------------- */

static inline bool wf_shmcoll_is_root(const struct wf_coll_args *a)
{
    return a->root == a->comm->rank;
}

static inline bool wf_shmcoll_is_root_valid(const struct wf_coll_args *a)
{
    return (unsigned)a->root < (unsigned)a->comm->size;
}

/* Completes a call to which this member has contributed its data, with the
 * result `rc`, and in which it needs nothing from others. */
static inline int wf_shmcoll_finish_contribution(struct wf_shmcoll *t,
                                                 uint64_t bytes, int rc)
{
    wf_shmcoll_store_flag(t, bytes, 0);
    wf_shmcoll_complete_call(t);
    return rc;
}

/* Counts a call in which this member neither writes nor reads. */
static inline int wf_shmcoll_skip_call(struct wf_shmcoll *t, int rc)
{
    wf_shmcoll_begin_without_line(t);
    wf_shmcoll_complete_call(t);
    return rc;
}

/* Contributes `count` elements of a member that is not the root; they fit its
 * block. */
static inline int wf_shmcoll_contribute_elements(const struct wf_coll_args *a,
                                                 const void *buf,
                                                 uint64_t count,
                                                 const struct wf_type *type)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    uint64_t bytes = count * (uint64_t)type->size;
    int rc;

    wf_shmcoll_begin_call(t, bytes);
    rc = wf_shmcoll_pack_elements(wf_shmcoll_data_of(t, t->rank, bytes), buf,
                                  count, type);
    return wf_shmcoll_finish_contribution(t, bytes, rc);
}

/* ---- parts for each other member: parts.c -------------------------------- */

/* Returns the index of the part for `to` among the parts of `from`. */
static inline uint64_t wf_shmcoll_part_index(const struct wf_shmcoll *t,
                                             int from, int to)
{
    return (uint64_t)(to > from ? to - from - 1 : to - from - 1 + t->size);
}

/* Returns the next rank; after the last one comes rank 0. */
static inline int wf_shmcoll_next_rank(const struct wf_shmcoll *t, int rank)
{
    return rank + 1 < t->size ? rank + 1 : 0;
}

/* Returns the bytes of the table of lengths. */
static inline uint64_t wf_shmcoll_table_bytes(const struct wf_shmcoll *t)
{
    return t->size > 2 ? (uint64_t)(t->size - 1) * sizeof(uint32_t) : 0;
}

/* ---- reductions: fold.c -------------------------------------------------- */

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
    const void *const *operands;  /* contributions, by rank */
    void *out; /* of the first byte: true_lb is not before it */
    enum wf_shmcoll_order order;
    int first_rank; /* of a tree: its first rank; ranks wrap around */
    /* so many of the first ranks are combined in pairs before the others */
    int paired_ranks;
    int owner; /* of blocks and rings: the rank whose block it is */
    bool own_first;
};

#endif
