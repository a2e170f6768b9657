/* A datatype is described in words, so that another process can make one with
 * the same layout of it.
 *
 *   description   extent, node
 *   node          BLOCK  disp  size
 *                 LOOP   disp  count  stride  node
 *                 SEGS   count  disps[count]  lengths[count]
 *                 LIST   count  (disp  node)[count]
 *
 * DESIGN  The layout travels, not the record of the constructor: it is
 * normalised, mostly a few words, and all that whoever moves bytes looks at.
 * A layout that is nested deeper than DEPTH_MOST is described as a list of its
 * segments, so that whoever reads a description needs a bounded stack.
 *
 * Every number of a description is checked before it is used: sizes and bounds
 * are computed from it, with overflows noticed, and none is believed.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/describe.h"

#include <stdlib.h>
#include <sys/uio.h>

#include "datatype/blocks.h"
#include "datatype/derived.h"
#include "datatype/layout.h"
#include "datatype/layout_build.h"
#include "datatype/predefined.h"
#include "datatype/segments.h"
#include "os/tuning.h"

enum { DEPTH_MOST = 32 };

/* ---- writing ------------------------------------------------------------- */

struct words {
    int64_t *at;
    size_t n, room;
    bool failed;
};

static void put_word(struct words *w, int64_t value)
{
    if (w->n == w->room && !w->failed) {
        size_t room = w->room ? 2 * w->room : 32;
        int64_t *at = realloc(w->at, room * sizeof *at);

        w->failed = !at;
        if (at) {
            w->at = at;
            w->room = room;
        }
    }
    if (!w->failed)
        w->at[w->n++] = value;
}

static int depth_of(const struct wf_type_layout *l)
{
    int most = 0;

    if (l->kind == WF_LAYOUT_LOOP)
        return 1 + depth_of(l->child);
    if (l->kind == WF_LAYOUT_LIST)
        for (int64_t i = 0; i < l->count; i++) {
            int depth = depth_of(l->children[i]);
            most = depth > most ? depth : most;
        }
    return 1 + most;
}

static void put_segs(struct words *w, const struct wf_type_layout *l)
{
    put_word(w, l->count);
    for (int64_t i = 0; i < l->count; i++)
        put_word(w, l->disps[i]);
    for (int64_t i = 0; i < l->count; i++)
        put_word(w, wf_layout_start(l, i + 1) - wf_layout_start(l, i));
}

static void put_node(struct words *w, const struct wf_type_layout *l)
{
    put_word(w, l->kind);
    switch (l->kind) {
    case WF_LAYOUT_BLOCK:
        put_word(w, l->disp);
        put_word(w, l->size);
        break;
    case WF_LAYOUT_LOOP:
        put_word(w, l->disp);
        put_word(w, l->count);
        put_word(w, l->stride);
        put_node(w, l->child);
        break;
    case WF_LAYOUT_SEGS:
        put_segs(w, l);
        break;
    default:
        put_word(w, l->count);
        for (int64_t i = 0; i < l->count; i++) {
            put_word(w, l->disps[i]);
            put_node(w, l->children[i]);
        }
    }
}

/* Describes a type as a list of blocks, one for each segment. */
static void put_segments(struct words *w, const struct wf_type *t)
{
    uint64_t off = 0, size = (uint64_t)t->size;
    size_t count_at = w->n + 1;
    int64_t count = 0;

    put_word(w, WF_LAYOUT_LIST);
    put_word(w, 0);
    while (off < size && !w->failed) {
        struct iovec v[16];
        int n = wf_type_list_segments(t, NULL, 1, off, v, 16);

        for (int i = 0; i < n; i++) {
            put_word(w, (int64_t)(intptr_t)v[i].iov_base);
            put_word(w, WF_LAYOUT_BLOCK);
            put_word(w, 0);
            put_word(w, (int64_t)v[i].iov_len);
            off += v[i].iov_len;
        }
        count += n;
    }
    if (!w->failed)
        w->at[count_at] = count;
}

int64_t *wf_type_describe(const struct wf_type *t, size_t *n)
{
    struct words w = {0};

    put_word(&w, t->extent);
    if (!t->layout) { /* a predefined type without holes */
        put_word(&w, WF_LAYOUT_BLOCK);
        put_word(&w, 0);
        put_word(&w, t->size);
    } else if (depth_of(t->layout) > DEPTH_MOST) {
        put_segments(&w, t);
    } else {
        put_node(&w, t->layout);
    }
    if (w.failed) {
        free(w.at);
        return NULL;
    }
    *n = w.n;
    return w.at;
}

/* ---- reading ------------------------------------------------------------- */

struct reader {
    const int64_t *at, *end;
    bool no_memory;
};

/* The bytes that a node has, and where they lie; high 0 and low 0 without
 * bytes. */
struct place {
    int64_t size, low, high;
};

/* Whether a number is one of a datatype. Larger than any address of a process,
 * and yet so small that the sums along the depth of a layout fit. */
static bool is_sensible(int64_t value)
{
    return value < INT64_C(1) << 57 && value > -(INT64_C(1) << 57);
}

static bool get_word(struct reader *r, int64_t *value)
{
    if (r->at == r->end || !is_sensible(*r->at))
        return false;
    *value = *r->at++;
    return true;
}

/* Adds n places like `one`, the first moved by disp and the others by stride
 * more each. */
static bool add_places(struct place *sum, const struct place *one, int64_t disp,
                       int64_t n, int64_t stride)
{
    int64_t last, low, high, far_low, far_high, bytes;

    if (one->size == 0 || n == 0)
        return true;
    if (__builtin_mul_overflow(n - 1, stride, &last) ||
        __builtin_add_overflow(one->low, disp, &low) ||
        __builtin_add_overflow(one->high, disp, &high) ||
        __builtin_add_overflow(low, last, &far_low) ||
        __builtin_add_overflow(high, last, &far_high) ||
        __builtin_mul_overflow(n, one->size, &bytes) ||
        __builtin_add_overflow(bytes, sum->size, &bytes))
        return false;
    low = far_low < low ? far_low : low;
    high = far_high > high ? far_high : high;
    if (sum->size == 0 || low < sum->low)
        sum->low = low;
    if (sum->size == 0 || high > sum->high)
        sum->high = high;
    sum->size = bytes;
    return !__builtin_sub_overflow(sum->high, sum->low, &last);
}

static struct wf_type_layout *note_memory(struct reader *r,
                                          struct wf_type_layout *l)
{
    r->no_memory |= l == NULL;
    return l;
}

static struct wf_type_layout *get_block(struct reader *r, struct place *p)
{
    struct place one = {0};
    int64_t disp;

    if (!get_word(r, &disp) || !get_word(r, &one.size) || one.size < 0)
        return NULL;
    one.high = one.size;
    if (!add_places(p, &one, disp, 1, 0))
        return NULL;
    return note_memory(r, wf_layout_make_block(disp, one.size));
}

static struct wf_type_layout *get_node(struct reader *r, struct place *p,
                                       int depth);

static struct wf_type_layout *get_loop(struct reader *r, struct place *p,
                                       int depth)
{
    struct wf_type_layout *child, *loop = NULL, *l = NULL;
    struct place one = {0};
    int64_t disp, count, stride;

    if (!get_word(r, &disp) || !get_word(r, &count) || !get_word(r, &stride) ||
        count < 1)
        return NULL;
    child = get_node(r, &one, depth + 1);
    if (child && add_places(p, &one, disp, count, stride))
        loop = note_memory(r, wf_layout_make_loop(count, stride, child));
    if (loop)
        l = note_memory(r, wf_layout_shift(loop, disp));
    wf_layout_put(loop);
    wf_layout_put(child);
    return l;
}

static struct wf_type_layout *get_segs(struct reader *r, struct place *p)
{
    struct wf_layout_builder b = {0};
    struct wf_type_layout *l;
    bool valid = true;
    int64_t count;

    if (!get_word(r, &count) || count < 1 || count > (r->end - r->at) / 2)
        return NULL;
    for (int64_t i = 0; valid && i < count; i++) {
        struct place one = {r->at[count + i], 0, r->at[count + i]};

        valid = one.size >= 0 && is_sensible(one.size) &&
                is_sensible(r->at[i]) && add_places(p, &one, r->at[i], 1, 0);
        if (valid)
            wf_layout_add_bytes(&b, r->at[i], one.size);
    }
    r->at += 2 * count;
    l = note_memory(r, wf_layout_finish(&b));
    if (valid)
        return l;
    wf_layout_put(l);
    return NULL;
}

static struct wf_type_layout *get_list(struct reader *r, struct place *p,
                                       int depth)
{
    struct wf_layout_builder b = {0};
    struct wf_type_layout *l;
    bool valid = true;
    int64_t count, disp;

    if (!get_word(r, &count) || count < 1 || count > r->end - r->at)
        return NULL;
    for (int64_t i = 0; valid && i < count; i++) {
        struct place one = {0};
        struct wf_type_layout *child = NULL;

        if (get_word(r, &disp))
            child = get_node(r, &one, depth + 1);
        valid = child && add_places(p, &one, disp, 1, 0);
        if (valid)
            wf_layout_add(&b, disp, child);
        wf_layout_put(child);
    }
    l = note_memory(r, wf_layout_finish(&b));
    if (valid)
        return l;
    wf_layout_put(l);
    return NULL;
}

static struct wf_type_layout *get_node(struct reader *r, struct place *p,
                                       int depth)
{
    int64_t kind;

    if (depth >= DEPTH_MOST || !get_word(r, &kind))
        return NULL;
    switch (kind) {
    case WF_LAYOUT_BLOCK:
        return get_block(r, p);
    case WF_LAYOUT_LOOP:
        return get_loop(r, p, depth);
    case WF_LAYOUT_SEGS:
        return get_segs(r, p);
    case WF_LAYOUT_LIST:
        return get_list(r, p, depth);
    default:
        return NULL;
    }
}

static struct wf_type *make_type(struct wf_type_layout *l,
                                 const struct place *p, int64_t extent)
{
    struct wf_type *t = wf_type_create(MPI_COMBINER_NAMED, 0, 0, 0);

    if (!t)
        return NULL;
    t->layout = l;
    t->size = p->size;
    t->extent = extent;
    t->true_lb = p->low;
    t->true_extent = p->high - p->low;
    t->flags = WF_TYPE_COMMITTED;
    if (l->kind == WF_LAYOUT_BLOCK && t->size == t->extent)
        t->flags |= WF_TYPE_CONTIG;
    else if (l->size / WF_SMALL_SEGMENT < l->segs)
        t->flags |= WF_TYPE_SMALL_SEGMENTS;
    return t;
}

struct wf_type *wf_type_rebuild(const int64_t *words, size_t n, bool *no_memory)
{
    struct reader r = {words, words + n, false};
    struct place p = {0};
    struct wf_type_layout *l = NULL;
    struct wf_type *t = NULL;
    int64_t extent, unused;

    if (get_word(&r, &extent))
        l = get_node(&r, &p, 0);
    if (l && r.at == r.end && l->size == p.size &&
        !__builtin_sub_overflow(p.high, p.low, &unused)) {
        t = make_type(l, &p, extent);
        r.no_memory |= t == NULL;
    }
    if (!t)
        wf_layout_put(l);
    *no_memory = r.no_memory;
    return t;
}

/* ---- facts --------------------------------------------------------------- */

struct wf_type *wf_type_basic(struct wf_type *t)
{
    struct wf_type *basic = NULL, *last = NULL;
    int64_t blocks;

    if (t->predefined)
        return t;
    blocks = wf_type_block_count(t);
    for (int64_t i = 0; i < blocks; i++) {
        struct wf_type_block b;
        struct wf_type *one;

        if (!wf_type_block(t, i, &b) || !b.type || b.type == last || b.n == 0 ||
            b.type->size == 0)
            continue; /* types in a row that are equal are asked once */
        last = b.type;
        one = wf_type_basic(b.type);
        if (!one || (basic && one != basic))
            return NULL;
        basic = one;
    }
    return basic;
}

bool wf_type_reach(const struct wf_type *t, uint64_t count, int64_t *low,
                   int64_t *high)
{
    int64_t end, last, bytes;

    *low = *high = 0;
    if (count == 0 || t->size == 0)
        return true;
    if (count > INT64_MAX ||
        __builtin_mul_overflow((int64_t)count, t->size, &bytes) ||
        __builtin_mul_overflow((int64_t)count - 1, t->extent, &last) ||
        __builtin_add_overflow(t->true_lb, t->true_extent, &end))
        return false;
    return !__builtin_add_overflow(t->true_lb, last < 0 ? last : 0, low) &&
           !__builtin_add_overflow(end, last > 0 ? last : 0, high) &&
           !__builtin_sub_overflow(*high, *low, &bytes);
}
