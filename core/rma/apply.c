/* The effect of operations by message on memory of this process.
 *
 * DESIGN  Only the arrival unit of the target comes here, inside the section of
 * the window's engine. Others that have mapped the memory operate on it
 * meanwhile, so an accumulate goes by the functions that they use (atomic.h),
 * and is atomic to theirs.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/apply.h"

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
#include "rma/atomic.h"
#include "rma/direct.h"
#include "rma/dynamic.h"
#include "rma/target.h"

/* ---- places -------------------------------------------------------------- */

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

/* An accumulate on a piece of a place, under way. */
struct update {
    struct wf_rma_side origin, result;
    struct wf_rma_part target;
    char *memory; /* elements that are no array in the message; or NULL */
    _Alignas(16) char small[512];
};

/* Returns whether all bytes from the first of each element on are memory of the
 * window. The place has only been checked where its type has data, and the
 * origin may have described another type than that of the elements. */
static bool are_elements_inside(const struct wf_win *win,
                                const struct wf_rma_part *part)
{
    uint64_t n = (uint64_t)part->basic->true_extent;
    struct wf_rma_elements e;

    wf_rma_elements_begin_at(&e, &part->side, part->basic, part->first);
    for (uint64_t i = 0; i < part->count && e.left > 0; i++) {
        uint64_t at = (uintptr_t)e.at, from = at - (uintptr_t)win->base;

        if (win->flavor == MPI_WIN_FLAVOR_DYNAMIC
                ? !wf_region_has(win, at, n)
                : from > (uint64_t)win->size || n > (uint64_t)win->size - from)
            return false;
        wf_rma_elements_advance(&e, 1);
    }
    return true;
}

/* Finds the elements of the piece. */
static int find_part(const struct wf_win *win, const struct wf_rma_place *p,
                     const struct wf_rma_piece *piece, struct wf_rma_part *part)
{
    uint64_t size = (uint64_t)piece->basic->size;

    *part = (struct wf_rma_part){.side = {p->at, piece->basic, p->bytes / size},
                                 .basic = piece->basic,
                                 .first = piece->offset / size,
                                 .count = piece->n / size};
    if (p->type) {
        part->side.type = p->type;
        part->side.count = p->count;
    }
    return wf_type_is_contiguous(piece->basic) ||
                   (p->type && are_elements_inside(win, part))
               ? MPI_SUCCESS
               : MPI_ERR_TYPE;
}

/* Makes arrays of elements for those in the message, which are packed. */
static int make_arrays(struct update *u, const struct wf_rma_piece *piece,
                       uint64_t count)
{
    struct wf_type *basic = piece->basic;
    uint64_t room = count * (uint64_t)basic->extent;

    u->memory = u->small;
    if (2 * room > sizeof u->small)
        u->memory = aligned_alloc(64, (2 * room + 63) & ~(uint64_t)63);
    if (!u->memory)
        return MPI_ERR_NO_MEM;
    memset(u->memory, 0, 2 * room);
    if (piece->data) {
        wf_type_unpack(basic, u->memory, count, 0, piece->data, piece->n);
        u->origin.buf = u->memory;
    }
    if (piece->result)
        u->result.buf = u->memory + room;
    return MPI_SUCCESS;
}

int wf_rma_accumulate_piece(struct wf_win *win, const struct wf_rma_place *p,
                            const struct wf_rma_piece *piece)
{
    struct wf_win_peer *own = wf_win_peer(win, win->comm->rank);
    uint64_t count = piece->n / (uint64_t)piece->basic->size;
    struct update u;
    int rc = own ? find_part(win, p, piece, &u.target) : MPI_ERR_NO_MEM;

    u.memory = NULL;
    u.origin = (struct wf_rma_side){(void *)(uintptr_t)piece->data,
                                    piece->basic, count};
    u.result = (struct wf_rma_side){piece->result, piece->basic, count};
    if (rc == MPI_SUCCESS && !wf_type_is_contiguous(piece->basic))
        rc = make_arrays(&u, piece, count);
    if (rc)
        return rc;
    rc = wf_rma_accumulate_part(
        &own->domain, wf_op_of((MPI_Op)(uintptr_t)piece->op), &u.target,
        piece->data ? &u.origin : NULL, piece->result ? &u.result : NULL);
    if (u.memory && piece->result)
        wf_type_pack(piece->basic, u.result.buf, count, 0, piece->result,
                     piece->n);
    if (u.memory != u.small)
        free(u.memory);
    return rc;
}

int wf_rma_swap_place(struct wf_win *win, const struct wf_rma_place *p,
                      const struct wf_rma_swap *s)
{
    struct wf_win_peer *own = wf_win_peer(win, win->comm->rank);

    if (!own)
        return MPI_ERR_NO_MEM;
    wf_rma_swap_bytes(&own->domain, p->at, (size_t)p->bytes, s);
    return MPI_SUCCESS;
}
