/* Copies between typed buffers, and the check of a target's range: direct.h.
 *
 *   both without holes     memcpy
 *   one without            its bytes are the packed stream of the other: one
 *                          walk (datatype/move.h)
 *   both with many small   by a piece of stack that stays in the first-level
 *   segments               cache, as wf_type_copy does: listing them costs more
 *   else                   the segments of both are listed and met
 *
 * DESIGN  The bulk is copied by memcpy, whose own limit for non-temporal stores
 * fits: only the copying process is known, not who reads the data next. The
 * library's non-temporal copy (os/copy.h) is for pieces that another CPU reads.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/direct.h"

#include <stdio.h>

#include "datatype/describe.h"
#include "datatype/move.h"
#include "datatype/segments.h"
#include "object/error.h"

/* The segments of one side, from the first byte that was not copied. */
struct segment_cursor {
    const struct wf_rma_side *side;
    uint64_t listed; /* bytes of the stream */
    int next, n;
    struct iovec segments[WF_RMA_SEGMENTS];
};

/* Returns the segment with the next byte; NULL at the end. */
static struct iovec *current_segment(struct segment_cursor *c)
{
    const struct wf_rma_side *s = c->side;

    if (c->next < c->n)
        return &c->segments[c->next];
    c->next = 0;
    c->n = wf_type_list_segments(s->type, s->buf, s->count, c->listed,
                                 c->segments, WF_RMA_SEGMENTS);
    for (int i = 0; i < c->n; i++)
        c->listed += c->segments[i].iov_len;
    return c->n > 0 ? c->segments : NULL;
}

static void skip_bytes(struct segment_cursor *c, size_t n)
{
    struct iovec *v = &c->segments[c->next];

    v->iov_base = (char *)v->iov_base + n;
    v->iov_len -= n;
    c->next += v->iov_len == 0;
}

static void copy_segments(const struct wf_rma_side *to_side,
                          const struct wf_rma_side *from_side)
{
    struct segment_cursor to, from;
    struct iovec *t, *f;

    to.side = to_side;
    from.side = from_side;
    to.listed = from.listed = 0;
    to.next = to.n = from.next = from.n = 0;
    while ((t = current_segment(&to)) && (f = current_segment(&from))) {
        size_t n = t->iov_len < f->iov_len ? t->iov_len : f->iov_len;

        wf_copy_short(t->iov_base, f->iov_base, n);
        skip_bytes(&to, n);
        skip_bytes(&from, n);
    }
}

void wf_rma_copy(const struct wf_rma_side *to, const struct wf_rma_side *from)
{
    bool to_flat = wf_type_is_contiguous(to->type);
    bool from_flat = wf_type_is_contiguous(from->type);
    uint64_t room = to->count * (uint64_t)to->type->size;
    uint64_t n = from->count * (uint64_t)from->type->size;

    n = n < room ? n : room;
    if (wf_likely(to_flat && from_flat))
        wf_copy_short(wf_type_data(to->type, to->buf),
                      wf_type_data(from->type, from->buf), n);
    else if (to_flat || from_flat ||
             (to->type->flags & from->type->flags & WF_TYPE_SMALL_SEGMENTS))
        (void)wf_type_copy(from->type, from->buf, from->count, to->type,
                           to->buf, to->count);
    else
        copy_segments(to, from);
}

/* Computes the bytes of the window from *low to before *end. */
static bool compute_range(const struct wf_rma_displacement *p,
                          const struct wf_type *t, uint64_t count, int64_t *low,
                          int64_t *end)
{
    int64_t offset;

    return !__builtin_mul_overflow(p->disp, p->disp_unit, &offset) &&
           wf_type_reach(t, count, low, end) &&
           !__builtin_add_overflow(offset, *low, low) &&
           !__builtin_add_overflow(offset, *end, end);
}

static WF_COLD int report_range(const struct wf_rma_displacement *p,
                                const struct wf_type *t, uint64_t count)
{
    char range[64] = "beyond 2^63 bytes";
    int64_t low, end;

    if (compute_range(p, t, count, &low, &end))
        snprintf(range, sizeof range, "bytes %lld to %lld", (long long)low,
                 (long long)end - 1);
    return wf_error(MPI_ERR_RMA_RANGE,
                    "displacement %lld of unit %lld with %llu elements of '%s' "
                    "is %s, and the window has %llu bytes there",
                    (long long)p->disp, (long long)p->disp_unit,
                    (unsigned long long)count, wf_type_name(t), range,
                    (unsigned long long)p->size);
}

int wf_rma_check_range(const struct wf_rma_displacement *p,
                       const struct wf_type *t, uint64_t count, int64_t *offset)
{
    int64_t low, end;

    *offset = 0;
    if (count == 0 || t->size == 0)
        return MPI_SUCCESS;
    if (wf_unlikely(!compute_range(p, t, count, &low, &end) || low < 0 ||
                    (uint64_t)end > p->size))
        return report_range(p, t, count);
    *offset = p->disp * p->disp_unit;
    return MPI_SUCCESS;
}
