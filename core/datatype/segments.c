/* This file lists the memory segments of a packed stream from any byte on.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/segments.h"

#include "datatype/layout.h"
#include "datatype/type.h"

typedef uintptr_t addr;

/* A list of segments that is being filled: n of at most max. */
struct segment_list {
    struct iovec *v;
    int n, max;
};

/* Adds a segment, or extends the last one. False: there is no room, so the walk
 * ends. */
static bool add_segment(struct segment_list *s, addr at, int64_t len)
{
    if (s->n > 0) {
        struct iovec *last = &s->v[s->n - 1];

        if ((addr)last->iov_base + last->iov_len == at) {
            last->iov_len += (size_t)len;
            return true;
        }
    }
    if (s->n == s->max)
        return false;
    WF_ASSERT(s->n < s->max && len > 0);
    s->v[s->n].iov_base = (void *)at;
    s->v[s->n].iov_len = (size_t)len;
    s->n++;
    return true;
}

static bool list_layout(struct segment_list *s, const struct wf_type_layout *l,
                        addr user, int64_t off);

/* Lists the segments from byte off on of `rows` instances of l that lie stride
 * apart. */
static bool list_rows(struct segment_list *s, const struct wf_type_layout *l,
                      addr user, int64_t stride, int64_t rows, int64_t off)
{
    int64_t row = off / l->size;

    WF_ASSERT(l->size > 0 && off >= 0);
    off %= l->size;
    for (; row < rows; row++) {
        if (!list_layout(s, l, user + (addr)(row * stride), off))
            return false;
        off = 0;
    }
    return true;
}

static bool list_parts(struct segment_list *s, const struct wf_type_layout *l,
                       addr user, int64_t off)
{
    for (int64_t i = wf_layout_find_part(l, off); i < l->count; i++) {
        int64_t start = wf_layout_start(l, i);
        int64_t skip = off > start ? off - start : 0;
        addr at = user + (addr)l->disps[i];
        bool more = l->kind == WF_LAYOUT_SEGS
                        ? add_segment(s, at + (addr)skip,
                                      wf_layout_start(l, i + 1) - start - skip)
                        : list_layout(s, l->children[i], at, skip);

        if (!more)
            return false;
    }
    return true;
}

static bool list_layout(struct segment_list *s, const struct wf_type_layout *l,
                        addr user, int64_t off)
{
    switch (l->kind) {
    case WF_LAYOUT_BLOCK:
        return add_segment(s, user + (addr)(l->disp + off), l->size - off);
    case WF_LAYOUT_LOOP:
        return list_rows(s, l->child, user + (addr)l->disp, l->stride, l->count,
                         off);
    default:
        return list_parts(s, l, user, off);
    }
}

int wf_type_list_segments(const struct wf_type *t, const void *buf,
                          uint64_t count, uint64_t off, struct iovec *v,
                          int max)
{
    struct segment_list s = {.v = v, .max = max};
    uint64_t total = count * (uint64_t)t->size;

    if (off >= total || max <= 0)
        return 0;
    if (t->flags & WF_TYPE_CONTIG)
        add_segment(&s, (addr)buf + (addr)t->true_lb + off,
                    (int64_t)(total - off));
    else
        list_rows(&s, t->layout, (addr)buf, t->extent, (int64_t)count,
                  (int64_t)off);
    return s.n;
}

int64_t wf_type_count_segments(const struct wf_type *t)
{
    if (t->size == 0)
        return 0;
    return wf_type_is_contiguous(t) ? 1 : t->layout->segs;
}
