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

#include "datatype/describe.h"
#include "datatype/move.h"
#include "datatype/segments.h"

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
