/* The fast path of one-sided calls: the usual one is tried before all checks,
 * by the binding.
 *
 *   MPI_Put --> wf_rma_fast_put --> memory of the target
 *                 | a test fails
 *                 +--> the slow path: checks, errors, every case
 *
 * DESIGN  As that of messages (protocol/fastpath.h) it finds out only whether
 * the call is a usual one: predefined types without holes, memory that is
 * mapped, a range that is inside, an epoch that is open (open.h). Of the
 * accumulates it has one integer of 4 or 8 bytes with the operations that the
 * processor has. No section is entered, and no reference is taken.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_FASTPATH_H
#define WF_RMA_FASTPATH_H

#include <limits.h>

#include "datatype/op_kernels.h"
#include "datatype/predefined.h"
#include "report/call_time.h"
#include "rma/lock_beside.h"
#include "rma/open.h"
#include "rma/update.h"

/* The memory of the target of a call. */
struct wf_rma_spot {
    char *at;
    uint64_t bytes;
};

/* Finds the memory of `bytes` bytes at a displacement. False: the call is not a
 * usual one. */
static inline __attribute__((always_inline)) bool
wf_rma_fast_find(struct wf_rma_spot *s, MPI_Win h, int rank, MPI_Aint disp,
                 enum wf_open_mapped how)
{
    const struct wf_open_target *t;
    uint64_t at;

    if (wf_unlikely(!wf_is_object(h, WF_KIND_WIN) || wf_call_is_timed()))
        return false;
    t = wf_open_find_target((const struct wf_win *)h, rank, WF_OPEN_ACTIVE,
                            how);
    if (wf_unlikely(!t ||
                    __builtin_mul_overflow((uint64_t)disp, t->unit, &at) ||
                    at > t->size || s->bytes > t->size - at || s->bytes == 0))
        return false;
    s->at = (char *)(t->base + at);
    return true;
}

/* Returns whether a buffer is a special address. */
static inline bool wf_rma_is_special(const void *buf)
{
    return (uintptr_t)buf <= 2;
}

/* The arguments of a call that moves data. */
struct wf_rma_usual {
    const void *origin;
    MPI_Count origin_count;
    MPI_Datatype origin_type;
    int rank;
    MPI_Aint disp;
    MPI_Count count;
    MPI_Datatype type;
};

/* Finds the memory of a put or get whose sides have as many bytes. */
static inline __attribute__((always_inline)) bool
wf_rma_fast_move(struct wf_rma_spot *s, MPI_Win h, const struct wf_rma_usual *a)
{
    if (wf_unlikely((uint64_t)a->count > INT_MAX ||
                    (uint64_t)a->origin_count > INT_MAX ||
                    wf_rma_is_special(a->origin)))
        return false;
    s->bytes = (uint64_t)a->count * wf_type_contig_size(a->type);
    return s->bytes != 0 &&
           s->bytes == (uint64_t)a->origin_count *
                           wf_type_contig_size(a->origin_type) &&
           wf_rma_fast_find(s, h, a->rank, a->disp, WF_MAPPED_BYTES);
}

static inline __attribute__((always_inline)) bool
wf_rma_fast_put(MPI_Win h, const struct wf_rma_usual *a)
{
    struct wf_rma_spot s;

    if (wf_unlikely(!wf_rma_fast_move(&s, h, a)))
        return false;
    wf_copy_short(s.at, a->origin, s.bytes);
    return true;
}

static inline __attribute__((always_inline)) bool
wf_rma_fast_get(MPI_Win h, const struct wf_rma_usual *a)
{
    struct wf_rma_spot s;

    if (wf_unlikely(!wf_rma_fast_move(&s, h, a)))
        return false;
    wf_copy_short((void *)(uintptr_t)a->origin, s.at, s.bytes);
    return true;
}

/* ---- one integer --------------------------------------------------------- */

/* Defines the operation on one integer, which is aligned. False: it is none
 * that the processor has, and nothing was done. */
#define WF_RMA_FAST_WORD(BITS)                                                 \
    static inline __attribute__((always_inline)) bool wf_rma_fast_word_##BITS( \
        uintptr_t op, void *target, const void *origin, void *result)          \
    {                                                                          \
        _Atomic uint##BITS##_t *at = target;                                   \
        uint##BITS##_t value = 0, old;                                         \
                                                                               \
        if (op != WF_OP_NO_OP)                                                 \
            memcpy(&value, origin, sizeof value);                              \
        if (wf_likely(op == WF_OP_SUM))                                        \
            old = wf_add_acq_rel(at, value);                                   \
        else if (op == WF_OP_REPLACE)                                          \
            old = wf_exchange_acq_rel(at, value);                              \
        else if (op == WF_OP_NO_OP)                                            \
            old = wf_load_acquire(at);                                         \
        else                                                                   \
            return false;                                                      \
        if (result)                                                            \
            memcpy(result, &old, sizeof old);                                  \
        return true;                                                           \
    }
WF_RMA_FAST_WORD(32)
WF_RMA_FAST_WORD(64)

/* The arguments of a call about one element. */
struct wf_rma_single {
    const void *origin;
    void *result; /* NULL: nobody asks for it */
    MPI_Datatype type;
    int rank;
    MPI_Aint disp;
};

/* Finds the memory of one integer, and says how many bytes it has; 0: the call
 * is not a usual one. */
static inline __attribute__((always_inline)) unsigned
wf_rma_fast_integer(struct wf_rma_spot *s, MPI_Win h,
                    const struct wf_rma_single *a)
{
    unsigned size = wf_type_integer_size(a->type);

    s->bytes = size;
    return wf_likely(
               size >= 4 &&
               wf_rma_fast_find(s, h, a->rank, a->disp, WF_MAPPED_WORDS) &&
               wf_rma_is_aligned(s->at, size))
               ? size
               : 0;
}

static inline __attribute__((always_inline)) bool
wf_rma_fast_update(MPI_Win h, const struct wf_rma_single *a, MPI_Op op)
{
    struct wf_rma_spot s;
    unsigned size = wf_rma_fast_integer(&s, h, a);

    if (wf_likely(size == 8))
        return wf_rma_fast_word_64((uintptr_t)op, s.at, a->origin, a->result);
    return size == 4 &&
           wf_rma_fast_word_32((uintptr_t)op, s.at, a->origin, a->result);
}

static inline __attribute__((always_inline)) bool
wf_rma_fast_fetch_and_op(MPI_Win h, const struct wf_rma_single *a, MPI_Op op)
{
    if (wf_unlikely(
            wf_rma_is_special(a->result) ||
            (wf_rma_is_special(a->origin) && (uintptr_t)op != WF_OP_NO_OP)))
        return false;
    return wf_rma_fast_update(h, a, op);
}

static inline __attribute__((always_inline)) bool
wf_rma_fast_accumulate(MPI_Win h, const struct wf_rma_usual *a, MPI_Op op)
{
    if (wf_unlikely(a->count != 1 || a->origin_count != 1 ||
                    a->type != a->origin_type || wf_rma_is_special(a->origin) ||
                    (uintptr_t)op == WF_OP_NO_OP))
        return false;
    return wf_rma_fast_update(
        h, &(struct wf_rma_single){a->origin, NULL, a->type, a->rank, a->disp},
        op);
}

static inline __attribute__((always_inline)) bool
wf_rma_fast_compare_and_swap(MPI_Win h, const struct wf_rma_single *a,
                             const void *compare)
{
    struct wf_rma_spot s;
    uint64_t value, old;

    if (wf_unlikely(wf_rma_is_special(a->result) ||
                    wf_rma_is_special(a->origin) ||
                    wf_rma_is_special(compare) ||
                    wf_rma_fast_integer(&s, h, a) != sizeof value))
        return false;
    memcpy(&old, compare, sizeof old);
    memcpy(&value, a->origin, sizeof value);
    (void)wf_cas_acq_rel((wf_atomic_u64 *)(void *)s.at, &old, value);
    memcpy(a->result, &old, sizeof old);
    return true;
}

/* ---- completion ---------------------------------------------------------- */

/* Every WF_OPEN_POLL_EVERY-th call polls, and is not a usual one. */
static inline __attribute__((always_inline)) bool wf_rma_fast_flush(MPI_Win h,
                                                                    int rank)
{
    unsigned calls = wf_call_now.unpolled + 1;

    if (wf_unlikely(!wf_is_object(h, WF_KIND_WIN) || wf_call_is_timed() ||
                    calls % WF_OPEN_POLL_EVERY == 0 ||
                    !wf_open_find_target((const struct wf_win *)h, rank,
                                         WF_OPEN_FLUSH, WF_MAPPED_BYTES)))
        return false;
    wf_call_now.unpolled = calls;
    wf_fence_full();
    return true;
}

#endif
