/* Copying contributions to and from the lines and blocks of a shared-memory
 * collective, and what collectives have in common besides.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SHMCOLL_CONTRIBUTION_H
#define WF_SHMCOLL_CONTRIBUTION_H

#include "coll/args.h"
#include "coll/lengths.h"
#include "coll/run.h"
#include "coll/shm/shmcoll.h"
#include "coll/vertex.h"
#include "datatype/move.h"

/* Reads what others have contributed to a call. */
typedef int wf_shmcoll_reader(struct wf_shmcoll *, const struct wf_coll_args *);

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

/* Begins a call and packs what this member contributes to it, which fits its
 * block. *bytes: its length. */
static inline __attribute__((always_inline)) int
wf_shmcoll_write_contribution(struct wf_shmcoll *t, struct wf_coll_block own,
                              uint64_t *bytes)
{
    *bytes = wf_coll_block_bytes(own);
    wf_shmcoll_begin_call(t, *bytes);
    return wf_shmcoll_pack_elements(wf_shmcoll_data_of(t, t->rank, *bytes),
                                    own.buf, own.count, own.type);
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

/* Returns the receive buffer as one block. */
static inline struct wf_coll_block
wf_shmcoll_received_vector(const struct wf_coll_args *a)
{
    return (struct wf_coll_block){a->rbuf, a->rcount, a->rtype};
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
static inline int wf_shmcoll_check_args(wf_coll_builder *builder,
                                        const struct wf_coll_args *a,
                                        bool plain)
{
    return wf_likely(plain) ? MPI_SUCCESS
                            : wf_shmcoll_find_bad_args(builder, a);
}

/* Returns the bytes that a member's line, which has been read, states. */
static inline uint64_t wf_shmcoll_bytes_of_line(struct wf_shmcoll *t, int rank)
{
    struct wf_shmcoll_line *line = wf_shmcoll_line(t, rank);
    uint64_t word = wf_load_relaxed(&line->flag),
             bytes = wf_shmcoll_bytes_of(word);

    if (wf_unlikely(word & WF_SHMCOLL_FLAG_STAGED))
        memcpy(&bytes, line->data, sizeof bytes);
    return bytes;
}

/* Copies the whole contribution of a member out. */
static inline int wf_shmcoll_read_whole(struct wf_shmcoll *t, int rank,
                                        struct wf_coll_block to)
{
    uint64_t bytes = wf_coll_block_bytes(to);
    int rc =
        wf_shmcoll_check_length(rank, wf_shmcoll_bytes_of_line(t, rank), bytes);

    return rc ? rc
              : wf_shmcoll_unpack_elements(wf_shmcoll_data_of(t, rank, bytes),
                                           to.buf, to.count, to.type);
}

/* Returns the place of that member's block in the receive buffer. */
static inline struct wf_coll_block
wf_shmcoll_received_block(const struct wf_coll_args *a, int rank)
{
    return (struct wf_coll_block){wf_coll_rblock(a, rank),
                                  wf_coll_rcount(a, rank), a->rtype};
}

/* ---- all to all: all_to_all.c -------------------------------------------- */

/* Returns true if the builder of a reduction would accept these arguments, and
 * operands may change places. */
static inline bool wf_shmcoll_is_plain_reduction(const struct wf_coll_args *a)
{
    return a->op->commutes && a->rbuf != MPI_IN_PLACE && a->sbuf != a->rbuf &&
           !wf_op_check(a->op, a->rtype, a->comm->wf);
}

/* Returns the next rank; after the last one comes rank 0. */
static inline int wf_shmcoll_next_rank(const struct wf_shmcoll *t, int rank)
{
    return rank + 1 < t->size ? rank + 1 : 0;
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

/* Contributes the elements of a member that needs nothing from others; they fit
 * its block. */
static inline __attribute__((always_inline)) int
wf_shmcoll_contribute_elements(struct wf_shmcoll *t, struct wf_coll_block own)
{
    uint64_t bytes;
    int rc = wf_shmcoll_write_contribution(t, own, &bytes);

    return wf_shmcoll_finish_contribution(t, bytes, rc);
}

/* ---- parts for each other member ----------------------------------------- */

/* Parts for the other members lie in the block of one member, one after the
 * other in the order of ranks, beginning with the next rank. Where their
 * lengths vary, and there are several, a table of lengths comes first. */

/* Returns the index of the part for `to` among the parts of `from`. */
static inline uint64_t wf_shmcoll_part_index(const struct wf_shmcoll *t,
                                             int from, int to)
{
    return (uint64_t)(to > from ? to - from - 1 : to - from - 1 + t->size);
}

/* Returns the bytes of the table. */
static inline uint64_t wf_shmcoll_table_bytes(const struct wf_shmcoll *t,
                                              bool varied)
{
    return varied && t->size > 2 ? (uint64_t)(t->size - 1) * sizeof(uint32_t)
                                 : 0;
}

/* Copies the part for this member out, of those of rank r, which all have the
 * same length. */
static inline int wf_shmcoll_read_equal_part(struct wf_shmcoll *t, int r,
                                             struct wf_coll_block to)
{
    uint64_t bytes = wf_coll_block_bytes(to), others = (uint64_t)t->size - 1,
             all = wf_shmcoll_bytes_of_line(t, r);

    return wf_likely(all == bytes * others)
               ? wf_shmcoll_unpack_elements(
                     wf_shmcoll_data_of(t, r, all) +
                         wf_shmcoll_part_index(t, r, t->rank) * bytes,
                     to.buf, to.count, to.type)
               : wf_shmcoll_length_error(r, all / others, bytes);
}

#endif
