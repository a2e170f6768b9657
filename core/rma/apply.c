/* The effect of operations on memory of this process.
 *
 * DESIGN  Only the arrival unit of the target comes here, inside the section of
 * the window's engine. So all accumulates are atomic to each other, whatever
 * their operation, type and length, and no lock is needed.
 *
 * An accumulate on one block of aligned elements is applied where it lies.
 * Otherwise the old elements are gathered first: the packed stream of the place
 * becomes an array of elements, and goes back as one.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <sys/uio.h>

#include "datatype/derive.h"
#include "datatype/describe.h"
#include "datatype/move.h"
#include "datatype/op.h"
#include "datatype/op_kernels.h"
#include "datatype/segments.h"
#include "datatype/type.h"
#include "object/error.h"
#include "rma/dynamic.h"
#include "rma/target.h"

/* ---- places -------------------------------------------------------------- */

bool wf_rma_is_in_range(uint64_t size, uint64_t position,
                        const struct wf_type *t, uint64_t count)
{
    int64_t low, high;

    if (!wf_type_reach(t, count, &low, &high) || position > INT64_MAX ||
        __builtin_add_overflow(low, (int64_t)position, &low) ||
        __builtin_add_overflow(high, (int64_t)position, &high))
        return false;
    return low >= 0 && (uint64_t)high <= size;
}

static bool are_segments_attached(const struct wf_win *win, uint64_t position,
                                  const struct wf_type *t, uint64_t count)
{
    uint64_t off = 0, bytes = count * (uint64_t)t->size;

    while (off < bytes) {
        struct iovec v[16];
        int n = wf_type_list_segments(t, (void *)(uintptr_t)position, count,
                                      off, v, 16);

        for (int i = 0; i < n; i++) {
            if (!wf_region_has(win, (uintptr_t)v[i].iov_base, v[i].iov_len))
                return false;
            off += v[i].iov_len;
        }
    }
    return true;
}

/* Finds a place in a dynamic window, whose positions are addresses. */
static int find_attached(const struct wf_win *win, uint64_t position,
                         const struct wf_type *t, uint64_t count,
                         uint64_t bytes)
{
    int64_t low, high;

    if (!t)
        return wf_region_has(win, position, bytes) ? MPI_SUCCESS
                                                   : MPI_ERR_RMA_RANGE;
    if (!wf_type_reach(t, count, &low, &high))
        return MPI_ERR_RMA_RANGE;
    return wf_region_has(win, position + (uint64_t)low,
                         (uint64_t)high - (uint64_t)low) ||
                   are_segments_attached(win, position, t, count)
               ? MPI_SUCCESS
               : MPI_ERR_RMA_RANGE;
}

int wf_rma_find_place(struct wf_win *win, uint64_t position, struct wf_type *t,
                      uint64_t count, uint64_t bytes, struct wf_rma_place *p)
{
    uint64_t size = (uint64_t)win->size, all;
    int rc = MPI_SUCCESS;

    if (t && (__builtin_mul_overflow(count, (uint64_t)t->size, &all) ||
              all != bytes))
        return MPI_ERR_RMA_RANGE;
    if (win->flavor == MPI_WIN_FLAVOR_DYNAMIC)
        rc = find_attached(win, position, t, count, bytes);
    else if (t ? !wf_rma_is_in_range(size, position, t, count)
               : position > size || bytes > size - position)
        rc = MPI_ERR_RMA_RANGE;
    if (rc)
        return rc;
    p->at = win->flavor == MPI_WIN_FLAVOR_DYNAMIC
                ? (char *)(uintptr_t)position
                : (char *)win->base + position;
    p->type = t;
    p->count = count;
    p->bytes = bytes;
    return MPI_SUCCESS;
}

/* ---- copies -------------------------------------------------------------- */

void wf_rma_write(const struct wf_rma_place *p, uint64_t offset,
                  const void *data, uint64_t n)
{
    WF_ASSERT(offset <= p->bytes && n <= p->bytes - offset);
    if (p->type)
        wf_type_unpack(p->type, p->at, p->count, offset, data, n);
    else
        wf_copy_short(p->at + offset, data, n);
}

void wf_rma_read(const struct wf_rma_place *p, uint64_t offset, void *out,
                 uint64_t n)
{
    WF_ASSERT(offset <= p->bytes && n <= p->bytes - offset);
    if (p->type)
        wf_type_pack(p->type, p->at, p->count, offset, out, n);
    else
        wf_copy_short(out, p->at + offset, n);
}

/* ---- accumulates --------------------------------------------------------- */

bool wf_rma_op_is_valid(uint32_t op, const struct wf_type *basic)
{
    const struct wf_op *o = wf_op_of((MPI_Op)(uintptr_t)op);

    if (!basic || !o || !o->predefined)
        return false;
    return op == WF_OP_REPLACE || op == WF_OP_NO_OP ||
           wf_op_is_defined(o, basic);
}

static bool is_aligned(const void *p, const struct wf_type *basic)
{
    return (uintptr_t)p % wf_type_align(basic) == 0;
}

static int apply_op(uint32_t op, const void *in, void *inout, uint64_t count,
                    struct wf_type *basic)
{
    return wf_op_apply(NULL, wf_op_of((MPI_Op)(uintptr_t)op), in, inout, count,
                       basic);
}

/* Applies elements to a place that is not one aligned block. memory: room for
 * two arrays of elements, and n bytes. */
static int apply_gathered(const struct wf_rma_place *p,
                          const struct wf_rma_piece *piece, char *memory)
{
    struct wf_type *basic = piece->basic;
    uint64_t count = piece->n / (uint64_t)basic->size;
    uint64_t array = count * (uint64_t)basic->extent;
    char *old = memory + array, *packed = old + array;
    int rc;

    wf_type_unpack(basic, memory, count, 0, piece->data, piece->n);
    wf_rma_read(p, piece->offset, packed, piece->n);
    wf_type_unpack(basic, old, count, 0, packed, piece->n);
    rc = apply_op(piece->op, memory, old, count, basic);
    if (rc)
        return rc;
    wf_type_pack(basic, old, count, 0, packed, piece->n);
    wf_rma_write(p, piece->offset, packed, piece->n);
    return MPI_SUCCESS;
}

int wf_rma_accumulate_piece(const struct wf_rma_place *p,
                            const struct wf_rma_piece *piece)
{
    enum { SMALL = 512 };
    _Alignas(64) char small[SMALL];
    struct wf_type *basic = piece->basic;
    uint64_t count = piece->n / (uint64_t)basic->size;
    uint64_t room = piece->n + 2 * count * (uint64_t)basic->extent;
    char *at = p->at + piece->offset, *memory = small;
    int rc;

    if (piece->op == WF_OP_NO_OP)
        return MPI_SUCCESS;
    if (piece->op == WF_OP_REPLACE) {
        wf_rma_write(p, piece->offset, piece->data, piece->n);
        return MPI_SUCCESS;
    }
    if (!p->type && wf_type_is_contiguous(basic) &&
        is_aligned(piece->data, basic) && is_aligned(at, basic))
        return apply_op(piece->op, piece->data, at, count, basic);
    if (room > SMALL)
        memory = aligned_alloc(64, (room + 63) & ~(uint64_t)63);
    if (!memory)
        return MPI_ERR_NO_MEM;
    memset(memory, 0, room);
    rc = apply_gathered(p, piece, memory);
    if (memory != small)
        free(memory);
    return rc;
}
