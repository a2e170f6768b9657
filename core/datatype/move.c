/* This file moves bytes between user memory and the packed stream.
 *
 *   wf_type_pack, wf_type_unpack   walk the layout from any byte of the stream
 *   wf_type_copy                   layout to layout
 *
 * DESIGN  Packing and unpacking are the same walk; only the innermost kernel
 * swaps source and destination (kernels.h). Rows of several segments are moved
 * column by column, a cacheful of rows at a time, so that the width is decided
 * once per column and not once per block.
 *
 * Addresses are integers here: MPI_BOTTOM plus an absolute displacement is a
 * legal buffer, and pointer arithmetic on a null pointer is not C.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/move.h"

#include "datatype/kernels.h"
#include "datatype/layout.h"
#include "datatype/type.h"
#include "os/tuning.h"

typedef uintptr_t addr; /* an address of user memory */

/* The packed side of a move, and its direction. */
struct mover {
    char *packed; /* next byte of the stream */
    bool unpack;
};

/* Moves n blocks of w bytes, in user memory at steps of stride, on the packed
 * side at steps of pstride. Does not advance the stream. */
static void move_blocks(const struct mover *m, char *packed, int64_t pstride,
                        addr user, int64_t stride, int64_t n, int64_t w)
{
    if (m->unpack)
        wf_copy_blocks((char *)user, stride, packed, pstride, n, w);
    else
        wf_copy_blocks(packed, pstride, (const char *)user, stride, n, w);
}

static void move_bytes(struct mover *m, addr user, int64_t n)
{
    if (m->unpack)
        memcpy((char *)user, m->packed, (size_t)n);
    else
        memcpy(m->packed, (const char *)user, (size_t)n);
    m->packed += n;
}

/* ---- whole children --------------------------------------------------- */

static void move_rows(struct mover *m, const struct wf_type_layout *l,
                      addr user, int64_t stride, int64_t rows);

/* Moves segments first..last-1 of one row. */
static void move_segs(struct mover *m, const struct wf_type_layout *l,
                      addr user, int64_t first, int64_t last)
{
    if (l->width) {
        if (m->unpack)
            wf_copy_scatter(m->packed, user, l->disps + first, last - first,
                            l->width);
        else
            wf_copy_gather(m->packed, user, l->disps + first, last - first,
                           l->width);
        m->packed += (last - first) * l->width;
        return;
    }
    for (int64_t i = first; i < last; i++)
        move_bytes(m, user + (addr)l->disps[i],
                   l->starts[i + 1] - l->starts[i]);
}

static void move_rows_of_segs(struct mover *m, const struct wf_type_layout *l,
                              addr user, int64_t stride, int64_t rows)
{
    WF_ASSERT(rows > 0 && l->count > 0);
    int64_t step = stride < 0 ? -stride : stride;
    int64_t batch = WF_COLUMN_BYTES / (step + 1) + 1;

    if (batch > rows)
        batch = rows;
    if (batch < l->count) { /* long rows: one at a time */
        for (int64_t r = 0; r < rows; r++)
            move_segs(m, l, user + (addr)(r * stride), 0, l->count);
        return;
    }
    for (int64_t r = 0; r < rows; r += batch) {
        int64_t n = rows - r < batch ? rows - r : batch;

        for (int64_t i = 0; i < l->count; i++)
            move_blocks(m, m->packed + wf_layout_start(l, i), l->size,
                        user + (addr)(r * stride + l->disps[i]), stride, n,
                        wf_layout_start(l, i + 1) - wf_layout_start(l, i));
        m->packed += n * l->size;
    }
}

static void move_list(struct mover *m, const struct wf_type_layout *l,
                      addr user)
{
    for (int64_t i = 0; i < l->count; i++)
        move_rows(m, l->children[i], user + (addr)l->disps[i], 0, 1);
}

/* Moves `rows` whole instances of l, the first at user. */
static void move_rows(struct mover *m, const struct wf_type_layout *l,
                      addr user, int64_t stride, int64_t rows)
{
    switch (l->kind) {
    case WF_LAYOUT_BLOCK:
        user += (addr)l->disp;
        if (rows == 1) {
            move_bytes(m, user, l->size);
            return;
        }
        move_blocks(m, m->packed, l->size, user, stride, rows, l->size);
        m->packed += rows * l->size;
        return;
    case WF_LAYOUT_LOOP:
        user += (addr)l->disp;
        for (int64_t r = 0; r < rows; r++)
            move_rows(m, l->child, user + (addr)(r * stride), l->stride,
                      l->count);
        return;
    case WF_LAYOUT_SEGS:
        move_rows_of_segs(m, l, user, stride, rows);
        return;
    case WF_LAYOUT_LIST:
        for (int64_t r = 0; r < rows; r++)
            move_list(m, l, user + (addr)(r * stride));
    }
}

/* ---- ranges ----------------------------------------------------------- */

static void move_range(struct mover *m, const struct wf_type_layout *l,
                       addr user, int64_t off, int64_t n);

/* Returns a / b, by the narrow division, which is several times faster, where
 * it is wide enough; often the answer is 0. */
static inline int64_t divide_fast(int64_t a, int64_t b)
{
    if (a < b)
        return 0;
    if ((a | b) <= (int64_t)UINT32_MAX)
        return (uint32_t)a / (uint32_t)b;
    return a / b;
}

/* Moves bytes [off, off+n) of instances of l that lie stride apart. */
static void move_rows_range(struct mover *m, const struct wf_type_layout *l,
                            addr user, int64_t stride, int64_t off, int64_t n)
{
    int64_t row = divide_fast(off, l->size), skip = off - row * l->size, whole;

    WF_ASSERT(off >= 0 && n > 0 && l->size > 0);
    if (skip || n < l->size) {
        int64_t part = l->size - skip < n ? l->size - skip : n;

        move_range(m, l, user + (addr)(row * stride), skip, part);
        row++;
        n -= part;
    }
    whole = divide_fast(n, l->size);
    if (whole)
        move_rows(m, l, user + (addr)(row * stride), stride, whole);
    n -= whole * l->size;
    if (n)
        move_range(m, l, user + (addr)((row + whole) * stride), 0, n);
}

static void move_segs_range(struct mover *m, const struct wf_type_layout *l,
                            addr user, int64_t off, int64_t n)
{
    int64_t i = wf_layout_find_part(l, off), end = off + n, last;
    int64_t start = wf_layout_start(l, i), stop = wf_layout_start(l, i + 1);

    WF_ASSERT(n > 0 && end <= l->size && start <= off && off < stop);
    if (off != start || end < stop) {
        stop = end < stop ? end : stop;
        move_bytes(m, user + (addr)(l->disps[i] + off - start), stop - off);
        off = stop;
        i++;
    }
    if (off == end)
        return;
    last = end == l->size ? l->count : wf_layout_find_part(l, end);
    move_segs(m, l, user, i, last);
    if (last < l->count && wf_layout_start(l, last) < end)
        move_bytes(m, user + (addr)l->disps[last],
                   end - wf_layout_start(l, last));
}

static void move_list_range(struct mover *m, const struct wf_type_layout *l,
                            addr user, int64_t off, int64_t n)
{
    for (int64_t i = wf_layout_find_part(l, off); n > 0; i++) {
        int64_t skip = off - l->starts[i];
        WF_ASSERT(i < l->count && skip >= 0 && off < l->starts[i + 1]);
        int64_t part = l->starts[i + 1] - off < n ? l->starts[i + 1] - off : n;

        move_range(m, l->children[i], user + (addr)l->disps[i], skip, part);
        off += part;
        n -= part;
    }
}

/* Moves bytes [off, off+n) of one instance of l; n > 0. */
static void move_range(struct mover *m, const struct wf_type_layout *l,
                       addr user, int64_t off, int64_t n)
{
    switch (l->kind) {
    case WF_LAYOUT_BLOCK:
        move_bytes(m, user + (addr)(l->disp + off), n);
        break;
    case WF_LAYOUT_LOOP:
        move_rows_range(m, l->child, user + (addr)l->disp, l->stride, off, n);
        break;
    case WF_LAYOUT_SEGS:
        move_segs_range(m, l, user, off, n);
        break;
    case WF_LAYOUT_LIST:
        move_list_range(m, l, user, off, n);
        break;
    }
}

static void move_stream(struct mover *m, const struct wf_type *t, addr user,
                        uint64_t off, uint64_t n)
{
    const struct wf_type_layout *l = t->layout;
    int64_t stride = t->extent;

    if (n == 0)
        return;
    if (t->flags & WF_TYPE_CONTIG) {
        move_bytes(m, user + (addr)t->true_lb + off, (int64_t)n);
        return;
    }
    /* If the range is within one loop, or the next element continues the loop,
     * its rows are moved directly. */
    if (l->kind == WF_LAYOUT_LOOP &&
        (l->stride * l->count == stride || off + n <= (uint64_t)l->size)) {
        user += (addr)l->disp;
        stride = l->stride;
        l = l->child;
    }
    move_rows_range(m, l, user, stride, (int64_t)off, (int64_t)n);
}

void wf_type_pack(const struct wf_type *t, const void *buf, uint64_t count,
                  uint64_t off, void *out, uint64_t n)
{
    struct mover m = {.packed = out, .unpack = false};

    WF_ASSERT(n <= count * (uint64_t)t->size &&
              off <= count * (uint64_t)t->size - n);
    move_stream(&m, t, (addr)buf, off, n);
}

void wf_type_unpack(const struct wf_type *t, void *buf, uint64_t count,
                    uint64_t off, const void *in, uint64_t n)
{
    struct mover m = {.packed = (char *)in, .unpack = true};

    WF_ASSERT(n <= count * (uint64_t)t->size &&
              off <= count * (uint64_t)t->size - n);
    move_stream(&m, t, (addr)buf, off, n);
}

int wf_type_copy(const struct wf_type *stype, const void *src, uint64_t scount,
                 const struct wf_type *dtype, void *dst, uint64_t dcount)
{
    uint64_t have = scount * (uint64_t)stype->size;
    uint64_t room = dcount * (uint64_t)dtype->size;
    uint64_t n = have < room ? have : room;
    char bounce[8192]; /* small enough to stay in the first-level cache */

    if (n == 0)
        return MPI_SUCCESS;
    if (wf_type_is_contiguous(dtype)) {
        wf_type_pack(stype, src, scount, 0,
                     (void *)((addr)dst + (addr)dtype->true_lb), n);
        return MPI_SUCCESS;
    }
    if (wf_type_is_contiguous(stype)) {
        wf_type_unpack(dtype, dst, dcount, 0,
                       (const void *)((addr)src + (addr)stype->true_lb), n);
        return MPI_SUCCESS;
    }
    for (uint64_t off = 0; off < n; off += sizeof bounce) {
        uint64_t part = n - off < sizeof bounce ? n - off : sizeof bounce;

        wf_type_pack(stype, src, scount, off, bounce, part);
        wf_type_unpack(dtype, dst, dcount, off, bounce, part);
    }
    return MPI_SUCCESS;
}
