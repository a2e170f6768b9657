/* This file packs and unpacks streams in the byte order opposite to this
 * machine's.
 *
 * A packed stream consists of units: integers, floating-point numbers, the
 * halves of complex numbers. In the other byte order each unit is reversed:
 * byte k of a unit of w bytes is where byte w - 1 - k was.
 *
 * DESIGN  Nothing is kept between two calls, each of which moves a part of a
 * stream. A unit that the end of a part cuts moves byte by byte, each byte to
 * its mirrored place, with the part that has it; so parts may end anywhere and
 * come in any order, as they may without conversion (move.c). All between the
 * ends is moved as it is and reversed in the stream, a few hundred units at a
 * time. A type whose units all have one width, as in most types, is not walked;
 * of others, whole elements are walked column by column.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/swap.h"

#include "datatype/blocks.h"
#include "datatype/derived.h"
#include "datatype/move.h"
#include "datatype/predefined.h"

enum {
    CHUNK = 2048, /* bytes that are moved at a time */
    WIDEST = 16   /* bytes of the widest unit */
};

/* ---- units ------------------------------------------------------------ */

static void get_pair_parts(const struct wf_type *t,
                           const struct wf_type **value,
                           const struct wf_type **index)
{
    const struct wf_predefined *p = wf_predefined(t);

    *value = wf_type_find_predefined(0x200u + p->value);
    *index = wf_type_find_predefined(0x200u + p->index);
}

static unsigned unit_of_predefined(const struct wf_type *t)
{
    const struct wf_predefined *p = wf_predefined(t);
    const struct wf_type *value, *index;

    if (!p->value)
        return (unsigned)(p->group == WF_GROUP_COMPLEX ? t->size / 2 : t->size);
    get_pair_parts(t, &value, &index);
    return value->size == index->size ? (unsigned)value->size : 0;
}

unsigned wf_type_unit(const struct wf_type *t)
{
    return t->predefined ? unit_of_predefined(t) : t->priv->unit;
}

static void reverse_unit(char *unit, unsigned width)
{
    char from[WIDEST];

    memcpy(from, unit, width);
    for (unsigned k = 0; k < width; k++)
        unit[k] = from[width - 1 - k];
}

#define REVERSE(bits)                                                          \
    for (uint64_t i = 0; i < n; i += bits / 8) {                               \
        uint##bits##_t unit;                                                   \
        memcpy(&unit, at + i, sizeof unit);                                    \
        unit = __builtin_bswap##bits(unit);                                    \
        memcpy(at + i, &unit, sizeof unit);                                    \
    }

/* Reverses each unit of n bytes, which are whole units. */
static void reverse_units(char *at, uint64_t n, unsigned width)
{
    switch (width) {
    case 1:
        return;
    case 2:
        REVERSE(16)
        return;
    case 4:
        REVERSE(32)
        return;
    case 8:
        REVERSE(64)
        return;
    default:
        for (uint64_t i = 0; i < n; i += width)
            reverse_unit(at + i, width);
    }
}

/* ---- whole elements ---------------------------------------------------- */

/* Rows of elements: n rows, which begin stride bytes apart in the stream. */
struct rows {
    uint64_t n, stride;
};

static void reverse_run(char *at, const struct wf_type *t, uint64_t n,
                        struct rows rows);

static void reverse_blocks(char *at, const struct wf_type *t, struct rows rows)
{
    int64_t blocks = wf_type_block_count(t);
    struct wf_type_block b;

    for (int64_t i = 0; i < blocks; i++) {
        wf_type_block(t, i, &b);
        if (b.n == 0 || b.type->size == 0)
            continue;
        reverse_run(at, b.type, (uint64_t)b.n, rows);
        at += b.n * b.type->size;
    }
}

/* Reverses n elements of t in each row; the first row begins at `at`. */
static void reverse_run(char *at, const struct wf_type *t, uint64_t n,
                        struct rows rows)
{
    unsigned width = wf_type_unit(t);
    const struct wf_type *value, *index;

    if (!width && rows.n == 1) {
        rows = (struct rows){n, (uint64_t)t->size};
        n = 1;
    }
    if (width || n > 1) {
        for (uint64_t r = 0; r < rows.n; r++, at += rows.stride)
            if (width)
                reverse_units(at, n * (uint64_t)t->size, width);
            else
                reverse_run(at, t, n, (struct rows){1, 0});
    } else if (t->predefined) {
        get_pair_parts(t, &value, &index);
        reverse_run(at, value, 1, rows);
        reverse_run(at + value->size, index, 1, rows);
    } else {
        reverse_blocks(at, t, rows);
    }
}

/* ---- ranges of a stream ------------------------------------------------- */

/* A part of a unit: n bytes from its byte `phase` on. */
struct cut {
    uint64_t at, n; /* at: offset in the stream */
    unsigned phase, width;
};

/* A walk reverses whole units and notes the units that are cut at either
 * end. */
struct walk {
    char *bytes;
    uint64_t at; /* offset of bytes in the stream */
    struct cut head, tail;
};

static void walk_run(struct walk *w, const struct wf_type *t, uint64_t off,
                     uint64_t n);

static void advance_walk(struct walk *w, uint64_t n)
{
    w->bytes += n;
    w->at += n;
}

/* Walks over the next n bytes, of units of one width, the first of which began
 * `phase` bytes ago. */
static void walk_units(struct walk *w, unsigned phase, unsigned width,
                       uint64_t n)
{
    uint64_t cut = width - phase < n ? width - phase : n, left;

    if (phase) {
        w->head = (struct cut){w->at, cut, phase, width};
        advance_walk(w, cut);
        n -= cut;
    }
    left = n % width;
    reverse_units(w->bytes, n - left, width);
    advance_walk(w, n - left);
    if (left)
        w->tail = (struct cut){w->at, left, 0, width};
    advance_walk(w, left);
}

static void walk_pair(struct walk *w, const struct wf_type *t, uint64_t off,
                      uint64_t n)
{
    const struct wf_type *value, *index;
    uint64_t first, part;

    get_pair_parts(t, &value, &index);
    first = (uint64_t)value->size;
    part = off >= first ? 0 : first - off < n ? first - off : n;
    if (part)
        walk_run(w, value, off, part);
    if (n > part)
        walk_run(w, index, off + part - first, n - part);
}

/* Returns the block that has byte *off of an element, if that can be computed
 * without walking over the blocks before, and makes *off an offset in that
 * block; otherwise returns 0. */
static int64_t find_block(const struct wf_type *t, uint64_t *off)
{
    struct wf_type_block b;
    uint64_t bytes, i;

    switch (t->priv->combiner) {
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
        wf_type_block(t, 0, &b);
        bytes = (uint64_t)(b.n * b.type->size);
        i = *off / bytes;
        *off -= i * bytes;
        return (int64_t)i;
    default:
        return 0;
    }
}

/* Walks over bytes [off, off+n) of one element; n > 0. */
static void walk_element(struct walk *w, const struct wf_type *t, uint64_t off,
                         uint64_t n)
{
    struct wf_type_block b;

    if (t->predefined) {
        walk_pair(w, t, off, n);
        return;
    }
    for (int64_t i = find_block(t, &off); n > 0; i++) {
        uint64_t bytes, part;

        wf_type_block(t, i, &b);
        bytes = (uint64_t)(b.n * b.type->size);
        if (off >= bytes) {
            off -= bytes;
            continue;
        }
        part = bytes - off < n ? bytes - off : n;
        walk_run(w, b.type, off, part);
        off = 0;
        n -= part;
    }
}

/* Walks over bytes [off, off+n) of consecutive elements of t. */
static void walk_run(struct walk *w, const struct wf_type *t, uint64_t off,
                     uint64_t n)
{
    uint64_t size = (uint64_t)t->size, whole;
    unsigned width = wf_type_unit(t);

    if (width) {
        walk_units(w, (unsigned)(off % width), width, n);
        return;
    }
    off %= size;
    if (off > 0) {
        uint64_t part = size - off < n ? size - off : n;

        walk_element(w, t, off, part);
        n -= part;
    }
    whole = n - n % size;
    if (whole)
        reverse_run(w->bytes, t, whole / size, (struct rows){1, 0});
    advance_walk(w, whole);
    if (n > whole)
        walk_element(w, t, 0, n - whole);
}

/* ---- moving ------------------------------------------------------------ */

/* User memory, and the bytes of its stream from byte `from` on. */
struct swap {
    const struct wf_type *type;
    void *buf;
    uint64_t count, from;
    char *packed;
    bool unpack;
};

static void move_range(const struct swap *s, uint64_t off, char *bytes,
                       uint64_t n)
{
    if (s->unpack)
        wf_type_unpack(s->type, s->buf, s->count, off, bytes, n);
    else
        wf_type_pack(s->type, s->buf, s->count, off, bytes, n);
}

static void move_cut(const struct swap *s, const struct cut *c)
{
    uint64_t unit = c->at - c->phase;
    char *bytes = s->packed + (c->at - s->from);

    for (uint64_t k = 0; k < c->n; k++)
        move_range(s, unit + c->width - 1 - (c->phase + k), bytes + k, 1);
}

/* Moves bytes [off, off+n) of the stream. If more follow, it leaves the last
 * ones to the next call when they are of a unit that continues. Returns the
 * number of bytes moved. */
static uint64_t move_chunk(const struct swap *s, uint64_t off, uint64_t n,
                           bool more)
{
    char copy[CHUNK], *bytes = s->packed + (off - s->from);
    struct walk w = {.at = off};
    uint64_t end;

    if (s->unpack)
        bytes = memcpy(copy, bytes, n);
    else
        move_range(s, off, bytes, n);
    w.bytes = bytes;
    walk_run(&w, s->type, off, n);
    end = n - w.tail.n;
    if (s->unpack)
        move_range(s, off + w.head.n, bytes + w.head.n, end - w.head.n);
    move_cut(s, &w.head);
    if (more)
        return end;
    move_cut(s, &w.tail);
    return n;
}

static void move_packed(const struct swap *s, uint64_t n)
{
    uint64_t off = s->from;

    while (n > 0) {
        uint64_t part = n < CHUNK ? n : CHUNK;

        part = move_chunk(s, off, part, part < n);
        off += part;
        n -= part;
    }
}

void wf_type_pack_swapped(const struct wf_type *t, const void *buf,
                          uint64_t count, uint64_t off, void *out, uint64_t n)
{
    struct swap s = {t, (void *)buf, count, off, out, false};

    move_packed(&s, n);
}

void wf_type_unpack_swapped(const struct wf_type *t, void *buf, uint64_t count,
                            uint64_t off, const void *in, uint64_t n)
{
    struct swap s = {t, buf, count, off, (char *)in, true};

    move_packed(&s, n);
}
