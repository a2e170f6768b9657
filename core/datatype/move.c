/* Moving bytes between user memory and the packed stream.
 *
 *   wf_type_pack, wf_type_unpack   walk the layout from any byte of the stream
 *   wf_type_copy                   layout to layout
 *
 * DESIGN  Packing and unpacking are the same walk; only the leaf kernel swaps
 * its ends. One kernel moves equal blocks from one stride to another, with a
 * loop per common block width so that no call is made per block. Rows of
 * several segments are moved column by column, a cacheful of rows at a time,
 * so that the width is decided once per column and not once per block.
 *
 * Addresses are integers here: MPI_BOTTOM plus an absolute displacement is a
 * legal buffer, and pointer arithmetic on a null pointer is not C.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/layout.h"
#include "datatype/type.h"

typedef uintptr_t addr; /* of user memory */

enum {
    COLUMN_BYTES = 16384, /* user memory touched by one block of rows */
    NARROW = 64           /* blocks up to this are moved without a call */
};

struct mover {
    char *packed; /* next byte of the stream */
    bool unpack;
};

/* ---- kernels ---------------------------------------------------------- */

/* w bytes as two moves of H bytes that overlap in the middle: H <= w <= 2H. */
#define TWO_MOVES(d, s, w, H)                                                  \
    do {                                                                       \
        memcpy((d), (s), (H));                                                 \
        memcpy((d) + (w) - (H), (s) + (w) - (H), (H));                         \
    } while (0)

/* n blocks of w bytes, from steps of ss to steps of ds; common widths. */
static void copy_narrow(char *restrict d, int64_t ds, const char *restrict s,
                        int64_t ss, int64_t n, int64_t w)
{
#define FOR_EACH(MOVE)                                                         \
    for (int64_t i = 0; i < n; i++, d += ds, s += ss)                          \
    MOVE
    switch (w) {
    case 1:
        FOR_EACH(*d = *s);
        break;
    case 2:
        FOR_EACH(memcpy(d, s, 2));
        break;
    case 3:
        FOR_EACH(memcpy(d, s, 3));
        break;
    case 4:
        FOR_EACH(memcpy(d, s, 4));
        break;
    case 8:
        FOR_EACH(memcpy(d, s, 8));
        break;
    case 16:
        FOR_EACH(memcpy(d, s, 16));
        break;
    default:
        if (w < 8)
            FOR_EACH(TWO_MOVES(d, s, w, 4));
        else if (w < 16)
            FOR_EACH(TWO_MOVES(d, s, w, 8));
        else if (w <= 32)
            FOR_EACH(TWO_MOVES(d, s, w, 16));
        else
            FOR_EACH(TWO_MOVES(d, s, w, 32));
    }
#undef FOR_EACH
}

static void copy_blocks(char *restrict d, int64_t ds, const char *restrict s,
                        int64_t ss, int64_t n, int64_t w)
{
    if (w <= NARROW) {
        copy_narrow(d, ds, s, ss, n, w);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        memcpy(d + i * ds, s + i * ss, (size_t)w);
}

/* n blocks of w bytes in user memory at steps of stride; the packed side at
 * steps of pstride. Does not advance the stream. */
static void move_blocks(const struct mover *m, char *packed, int64_t pstride,
                        addr user, int64_t stride, int64_t n, int64_t w)
{
    if (m->unpack)
        copy_blocks((char *)user, stride, packed, pstride, n, w);
    else
        copy_blocks(packed, pstride, (const char *)user, stride, n, w);
}

static void move_bytes(struct mover *m, addr user, int64_t n)
{
    if (m->unpack)
        memcpy((char *)user, m->packed, (size_t)n);
    else
        memcpy(m->packed, (const char *)user, (size_t)n);
    m->packed += n;
}

/* Blocks of one width at listed places, to and from the stream. */
static void gather(char *restrict out, addr user, const int64_t *disps,
                   int64_t n, int64_t w)
{
#define CASE(W)                                                                \
    case W:                                                                    \
        for (int64_t i = 0; i < n; i++)                                        \
            memcpy(out + i * W, (const char *)(user + (addr)disps[i]), W);     \
        break
    switch (w) {
        CASE(1);
        CASE(2);
        CASE(4);
        CASE(8);
        CASE(12);
        CASE(16);
        CASE(24);
        CASE(32);
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy(out + i * w, (const char *)(user + (addr)disps[i]),
                   (size_t)w);
    }
#undef CASE
}

static void scatter(const char *restrict in, addr user, const int64_t *disps,
                    int64_t n, int64_t w)
{
#define CASE(W)                                                                \
    case W:                                                                    \
        for (int64_t i = 0; i < n; i++)                                        \
            memcpy((char *)(user + (addr)disps[i]), in + i * W, W);            \
        break
    switch (w) {
        CASE(1);
        CASE(2);
        CASE(4);
        CASE(8);
        CASE(12);
        CASE(16);
        CASE(24);
        CASE(32);
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy((char *)(user + (addr)disps[i]), in + i * w, (size_t)w);
    }
#undef CASE
}

/* ---- whole children --------------------------------------------------- */

static void move_rows(struct mover *m, const struct wf_type_layout *l,
                      addr user, int64_t stride, int64_t rows);

/* Segments first..last-1 of one row. */
static void move_segs(struct mover *m, const struct wf_type_layout *l,
                      addr user, int64_t first, int64_t last)
{
    if (l->width) {
        if (m->unpack)
            scatter(m->packed, user, l->disps + first, last - first, l->width);
        else
            gather(m->packed, user, l->disps + first, last - first, l->width);
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
    int64_t step = stride < 0 ? -stride : stride;
    int64_t batch = COLUMN_BYTES / (step + 1) + 1;

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
            move_blocks(m, m->packed + l->starts[i], l->size,
                        user + (addr)(r * stride + l->disps[i]), stride, n,
                        l->starts[i + 1] - l->starts[i]);
        m->packed += n * l->size;
    }
}

static void move_list(struct mover *m, const struct wf_type_layout *l,
                      addr user)
{
    for (int64_t i = 0; i < l->count; i++)
        move_rows(m, l->children[i], user + (addr)l->disps[i], 0, 1);
}

/* All of `rows` instances of l, the first at user. */
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

/* Bytes [off, off+n) of instances of l that lie stride apart. */
static void move_rows_range(struct mover *m, const struct wf_type_layout *l,
                            addr user, int64_t stride, int64_t off, int64_t n)
{
    int64_t row = off / l->size, skip = off % l->size, whole;

    if (skip || n < l->size) {
        int64_t part = l->size - skip < n ? l->size - skip : n;

        move_range(m, l, user + (addr)(row * stride), skip, part);
        row++;
        n -= part;
    }
    whole = n / l->size;
    if (whole)
        move_rows(m, l, user + (addr)(row * stride), stride, whole);
    n -= whole * l->size;
    if (n)
        move_range(m, l, user + (addr)((row + whole) * stride), 0, n);
}

/* The part of a SEGS or LIST node that holds byte off of its stream. */
static int64_t find_part(const struct wf_type_layout *l, int64_t off)
{
    int64_t low = 0, high = l->count;

    if (l->kind == WF_LAYOUT_SEGS && l->width)
        return off / l->width;
    while (high - low > 1) {
        int64_t mid = low + (high - low) / 2;

        if (l->starts[mid] <= off)
            low = mid;
        else
            high = mid;
    }
    return low;
}

static void move_segs_range(struct mover *m, const struct wf_type_layout *l,
                            addr user, int64_t off, int64_t n)
{
    int64_t i = find_part(l, off), end = off + n, last;

    if (off != l->starts[i] || end < l->starts[i + 1]) {
        int64_t stop = end < l->starts[i + 1] ? end : l->starts[i + 1];

        move_bytes(m, user + (addr)(l->disps[i] + off - l->starts[i]),
                   stop - off);
        off = stop;
        i++;
    }
    if (off == end)
        return;
    last = end == l->size ? l->count : find_part(l, end);
    move_segs(m, l, user, i, last);
    if (last < l->count && l->starts[last] < end)
        move_bytes(m, user + (addr)l->disps[last], end - l->starts[last]);
}

static void move_list_range(struct mover *m, const struct wf_type_layout *l,
                            addr user, int64_t off, int64_t n)
{
    for (int64_t i = find_part(l, off); n > 0; i++) {
        int64_t skip = off - l->starts[i];
        int64_t part = l->starts[i + 1] - off < n ? l->starts[i + 1] - off : n;

        move_range(m, l->children[i], user + (addr)l->disps[i], skip, part);
        off += part;
        n -= part;
    }
}

/* Bytes [off, off+n) of one instance of l; n > 0. */
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

    if (n == 0)
        return;
    if (t->flags & WF_TYPE_CONTIG) {
        move_bytes(m, user + (addr)t->true_lb + off, (int64_t)n);
        return;
    }
    /* A loop that the next element continues: one long loop. */
    if (l->kind == WF_LAYOUT_LOOP && l->stride * l->count == t->extent)
        move_rows_range(m, l->child, user + (addr)l->disp, l->stride,
                        (int64_t)off, (int64_t)n);
    else
        move_rows_range(m, l, user, t->extent, (int64_t)off, (int64_t)n);
}

void wf_type_pack(const struct wf_type *t, const void *buf, uint64_t count,
                  uint64_t off, void *out, uint64_t n)
{
    struct mover m = {.packed = out, .unpack = false};

    move_stream(&m, t, (addr)buf, off, n);
}

void wf_type_unpack(const struct wf_type *t, void *buf, uint64_t count,
                    uint64_t off, const void *in, uint64_t n)
{
    struct mover m = {.packed = (char *)in, .unpack = true};

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
    if (wf_type_contiguous(dtype)) {
        wf_type_pack(stype, src, scount, 0,
                     (void *)((addr)dst + (addr)dtype->true_lb), n);
        return MPI_SUCCESS;
    }
    if (wf_type_contiguous(stype)) {
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
