/* Size, bounds and layout are derived here from the constructor record.
 *
 * Rules: MPI-5.0 s5.1 (typemaps), s5.1.6 (lower and upper bound). A bound set
 * by MPI_Type_create_resized sticks: as soon as one component has set bounds,
 * only components with set bounds count. Otherwise the extent is rounded up to
 * the strictest alignment of the basic elements.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/derive.h"

#include <stdlib.h>

#include "datatype/blocks.h"
#include "datatype/derived.h"
#include "datatype/layout.h"
#include "datatype/layout_build.h"
#include "datatype/predefined.h"
#include "datatype/swap.h"
#include "object/error.h"
#include "os/tuning.h"

/* The bounds, sizes and units of the blocks added so far. */
struct bounds {
    bool any, sticky, any_data;
    int64_t lb, ub, true_lb, true_ub;
    int64_t size, elements, external;
    uint32_t align;
    unsigned unit;  /* width of the units so far; 0: they differ */
    bool rewritten; /* external32 changes more than the byte order */
};

static bool is_sticky(const struct wf_type *t)
{
    return t->priv && t->priv->sticky;
}

int64_t wf_type_elements(const struct wf_type *t)
{
    if (t->priv)
        return t->priv->elements;
    return wf_predefined(t)->group == WF_GROUP_PAIR ? 2 : 1;
}

int64_t wf_type_external(const struct wf_type *t)
{
    const struct wf_predefined *p = wf_predefined(t);

    if (t->priv)
        return t->priv->external;
    if (!p->value)
        return p->external;
    return wf_type_external(wf_type_find_predefined(0x200u + p->value)) +
           wf_type_external(wf_type_find_predefined(0x200u + p->index));
}

bool wf_type_needs_conversion(const struct wf_type *t)
{
    const struct wf_predefined *p = wf_predefined(t);

    if (!p)
        return t->priv->rewritten;
    if (p->value)
        return wf_type_needs_conversion(
                   wf_type_find_predefined(0x200u + p->value)) ||
               wf_type_needs_conversion(
                   wf_type_find_predefined(0x200u + p->index));
    return p->external != t->size || p->scalar == WF_SCALAR_FLD ||
           p->scalar == WF_SCALAR_CLD;
}

uint32_t wf_type_align(const struct wf_type *t)
{
    return t->priv ? t->priv->align : wf_predefined(t)->align;
}

/* Elements of one type: n in all, of which the first bytes lie at low to
 * high. */
struct elements {
    const struct wf_type *type;
    int64_t n, low, high;
};

/* Adds the elements of a block of the same type; false: an overflow. */
static inline bool add_block(struct elements *e, const struct wf_type_block *b)
{
    int64_t last;

    if (b->n == 0)
        return true;
    if (__builtin_mul_overflow(b->n - 1, b->type->extent, &last) ||
        __builtin_add_overflow(b->disp, last, &last))
        return false;
    if (e->n == 0)
        e->low = e->high = last;
    e->low = b->disp < e->low ? b->disp : e->low;
    e->high = b->disp > e->high ? b->disp : e->high;
    e->low = last < e->low ? last : e->low;
    e->high = last > e->high ? last : e->high;
    if (!__builtin_add_overflow(e->n, b->n, &e->n))
        return true;
    e->n = INT64_MAX;
    return b->type->size == 0;
}

/* Computes the range *low to *high that the elements cover when one covers lb
 * to lb + extent, which may be negative. false: an overflow. */
static bool compute_reach(const struct elements *e, int64_t lb, int64_t extent,
                          int64_t *low, int64_t *high)
{
    return !__builtin_add_overflow(e->low, lb, low) &&
           !__builtin_add_overflow(e->high, lb, high) &&
           !__builtin_add_overflow(*high, extent, high);
}

static bool add_data_bounds(struct bounds *s, const struct elements *e)
{
    const struct wf_type *t = e->type;
    int64_t low, high;

    if (t->size == 0)
        return true;
    if (!compute_reach(e, t->true_lb, t->true_extent, &low, &high))
        return false;
    if (!s->any_data || low < s->true_lb)
        s->true_lb = low;
    if (!s->any_data || high > s->true_ub)
        s->true_ub = high;
    s->any_data = true;
    return true;
}

/* Adds the place of elements to the bounds; false: an overflow. */
static bool add_bounds(struct bounds *s, const struct elements *e)
{
    const struct wf_type *t = e->type;
    int64_t low, high;

    if (wf_type_align(t) > s->align)
        s->align = wf_type_align(t);
    if (!add_data_bounds(s, e))
        return false;
    if (s->sticky && !is_sticky(t))
        return true;
    if (!compute_reach(e, t->lb, t->extent, &low, &high))
        return false;
    if (is_sticky(t) && !s->sticky) {
        s->sticky = true;
        s->any = false;
    }
    if (!s->any || low < s->lb)
        s->lb = low;
    if (!s->any || high > s->ub)
        s->ub = high;
    s->any = true;
    return true;
}

static void add_saturated(int64_t *sum, int64_t each, int64_t n)
{
    if (__builtin_mul_overflow(each, n, &each) ||
        __builtin_add_overflow(*sum, each, sum))
        *sum = INT64_MAX;
}

/* Adds the data of elements; false: an overflow. */
static bool add_size(struct bounds *s, const struct elements *e)
{
    const struct wf_type *t = e->type;
    int64_t bytes;

    if (t->size == 0)
        return true;
    if (s->size == 0)
        s->unit = wf_type_unit(t);
    else if (s->unit != wf_type_unit(t))
        s->unit = 0;
    s->rewritten = s->rewritten || wf_type_needs_conversion(t);
    if (__builtin_mul_overflow(e->n, t->size, &bytes) ||
        __builtin_add_overflow(s->size, bytes, &s->size))
        return false;
    add_saturated(&s->elements, wf_type_elements(t), e->n);
    add_saturated(&s->external, wf_type_external(t), e->n);
    return true;
}

static bool add_elements(struct bounds *s, const struct elements *e)
{
    if (e->n == 0 || (e->type->size == 0 && !is_sticky(e->type)))
        return true;
    return add_bounds(s, e) && add_size(s, e);
}

/* Finds the least and the greatest displacement, in units of the scale. */
static void find_ends(const struct wf_type_blocks *all, int64_t *low,
                      int64_t *high)
{
    struct wf_ints places = all->places;

    *low = 0;
    *high = all->count - 1;
    if (!places.base)
        return;
    *low = *high = wf_int_at(places, 0);
    for (int64_t i = 1; i < all->count; i++) {
        int64_t at = wf_int_at(places, (size_t)i);

        *low = at < *low ? at : *low;
        *high = at > *high ? at : *high;
    }
}

/* Measures blocks of one length and type by those at both ends. */
static bool measure_equal(const struct wf_type_blocks *all, struct bounds *s)
{
    struct wf_type_block b = {.n = all->n, .type = all->types[0]};
    struct elements e = {.type = b.type};
    int64_t low, high;

    find_ends(all, &low, &high);
    if (__builtin_mul_overflow(low, all->scale, &b.disp) || !add_block(&e, &b))
        return false;
    if (__builtin_mul_overflow(high, all->scale, &b.disp) || !add_block(&e, &b))
        return false;
    if (__builtin_mul_overflow(b.n, all->count, &e.n)) {
        if (b.type->size > 0)
            return false;
        e.n = INT64_MAX;
    }
    return add_elements(s, &e);
}

/* Adds the blocks from i on that are of e's type. Returns the index of the next
 * one, or -1: an overflow. */
static int64_t add_row(const struct wf_type_blocks *blocks, int64_t i,
                       struct elements *e)
{
    const struct wf_type_blocks all = *blocks; /* in registers */
    struct elements sum = *e;
    struct wf_type_block b;

    for (; i < all.count; i++) {
        if (!wf_type_blocks_at(&all, i, &b))
            return -1;
        if (b.type != sum.type)
            break;
        if (!add_block(&sum, &b))
            return -1;
    }
    *e = sum;
    return i;
}

/* Measures blocks one after another, those of a few types together. */
static bool measure_each(const struct wf_type_blocks *all, struct bounds *s)
{
    struct elements e[4] = {{0}};
    unsigned kinds = sizeof e / sizeof *e, k, next = 0;

    for (int64_t i = 0; i < all->count;) {
        const struct wf_type *t = all->types[all->types_differ ? i : 0];

        for (k = 0; k < kinds && e[k].type != t; k++)
            ;
        if (k == kinds) {
            k = next++ % kinds;
            if (!add_elements(s, &e[k]))
                return false;
            e[k] = (struct elements){.type = t};
        }
        i = add_row(all, i, &e[k]);
        if (i < 0)
            return false;
    }
    for (k = 0; k < kinds; k++)
        if (!add_elements(s, &e[k]))
            return false;
    return true;
}

static bool measure_type(const struct wf_type_blocks *all, struct bounds *s)
{
    s->align = 1;
    if (all->count == 0)
        return true;
    return all->lengths.base ? measure_each(all, s) : measure_equal(all, s);
}

/* Writes the bounds into the type; false: the extent does not fit. */
static bool set_bounds(struct wf_type *t, const struct bounds *s)
{
    int64_t extent, pad;

    t->size = s->size;
    t->true_lb = s->any_data ? s->true_lb : 0;
    t->priv->align = s->align;
    t->priv->elements = s->elements;
    t->priv->external = s->external;
    t->priv->unit = (uint8_t)s->unit;
    t->priv->rewritten = s->rewritten;
    t->priv->sticky = s->sticky;
    if (s->any_data &&
        __builtin_sub_overflow(s->true_ub, s->true_lb, &t->true_extent))
        return false;
    t->lb = s->any ? s->lb : 0;
    if (!s->any)
        return true;
    if (__builtin_sub_overflow(s->ub, s->lb, &extent))
        return false;
    pad = extent % (int64_t)s->align;
    if (!s->sticky && pad > 0 &&
        __builtin_add_overflow(extent, (int64_t)s->align - pad, &extent))
        return false;
    t->extent = extent;
    return true;
}

/* Sets the bounds that the constructor prescribes. */
static void override_bounds(struct wf_type *t)
{
    struct wf_type_private *p = t->priv;

    switch (p->combiner) {
    case MPI_COMBINER_RESIZED:
        t->lb = p->value[0];
        t->extent = p->value[1];
        p->sticky = true;
        break;
    case MPI_COMBINER_DUP:
        t->lb = p->older[0]->lb;
        t->extent = p->older[0]->extent;
        break;
    default:
        break;
    }
}

static bool is_regular(const struct wf_type_private *p)
{
    return p->combiner == MPI_COMBINER_VECTOR ||
           p->combiner == MPI_COMBINER_HVECTOR;
}

/* ---- layout ----------------------------------------------------------- */

/* Returns a reference to the layout of one element; predefined types without
 * holes have no layout of their own, and get a block. */
static struct wf_type_layout *get_layout(const struct wf_type *t)
{
    if (!t->layout)
        return wf_layout_make_block(0, t->size);
    wf_layout_get(t->layout);
    return t->layout;
}

static struct wf_type_layout *make_layout_of_run(const struct wf_type *t,
                                                 int64_t n)
{
    struct wf_type_layout *one = get_layout(t), *run = NULL;

    if (one)
        run = wf_layout_make_loop(n, t->extent, one);
    wf_layout_put(one);
    return run;
}

static struct wf_type_layout *
make_regular_layout(const struct wf_type_blocks *all)
{
    struct wf_type_layout *row, *l = NULL;

    if (all->count == 0)
        return wf_layout_make_block(0, 0);
    row = make_layout_of_run(all->types[0], all->n);
    if (all->count == 1)
        return row;
    if (row)
        l = wf_layout_make_loop(all->count, all->scale, row);
    wf_layout_put(row);
    return l;
}

/* Adds a block of a type with holes. *run is the layout of the block before it,
 * which equal blocks share. */
static void add_run(struct wf_layout_builder *builder,
                    const struct wf_type_block *b, struct wf_type_block *last,
                    struct wf_type_layout **run)
{
    if (!*run || b->n != last->n || b->type != last->type) {
        wf_layout_put(*run);
        *run = make_layout_of_run(b->type, b->n);
        *last = *b;
    }
    if (*run)
        wf_layout_add(builder, b->disp, *run);
    else
        builder->failed = true;
}

/* Adds the blocks from i on that are of a type without holes. Returns the index
 * of the next one. */
static int64_t add_whole_blocks(struct wf_layout_builder *builder,
                                const struct wf_type_blocks *blocks, int64_t i,
                                const struct wf_type *t)
{
    const struct wf_type_blocks all = *blocks; /* in registers */
    int64_t size = t->size, true_lb = t->true_lb;
    struct wf_type_block b;

    for (; i < all.count; i++) {
        wf_type_blocks_at(&all, i, &b);
        if (b.type != t)
            break;
        wf_layout_add_bytes(builder, b.disp + true_lb, b.n * size);
    }
    return i;
}

static struct wf_type_layout *
make_layout_of_blocks(const struct wf_type_blocks *all)
{
    struct wf_layout_builder builder = {0};
    struct wf_type_layout *run = NULL;
    struct wf_type_block b, last = {0};

    if (all->count > 16)
        wf_layout_reserve(&builder, all->count);
    for (int64_t i = 0; i < all->count;) {
        wf_type_blocks_at(all, i, &b);
        if (wf_type_is_contiguous(b.type)) {
            i = add_whole_blocks(&builder, all, i, b.type);
            continue;
        }
        if (b.n > 0 && b.type->size > 0)
            add_run(&builder, &b, &last, &run);
        i++;
    }
    wf_layout_put(run);
    return wf_layout_finish(&builder);
}

static bool set_layout(struct wf_type *t, const struct wf_type_blocks *all)
{
    const struct wf_type_layout *l;

    t->layout = is_regular(t->priv) ? make_regular_layout(all)
                                    : make_layout_of_blocks(all);
    l = t->layout;
    if (!l)
        return false;
    if (l->kind == WF_LAYOUT_BLOCK && t->size == t->extent)
        t->flags |= WF_TYPE_CONTIG;
    else if (l->size / WF_SMALL_SEGMENT < l->segs)
        t->flags |= WF_TYPE_SMALL_SEGMENTS;
    return true;
}

int wf_type_report_no_memory(void)
{
    return wf_error(MPI_ERR_NO_MEM, "no memory for the new datatype");
}

int wf_type_derive(struct wf_type *t, struct wf_type **out)
{
    struct bounds s = {0};
    struct wf_type_blocks all;
    int rc;

    if (!wf_type_blocks(t, &all) || !measure_type(&all, &s) ||
        !set_bounds(t, &s)) {
        rc = wf_error(MPI_ERR_COUNT,
                      "the new datatype would span more than 2^63 - 1 bytes");
        goto err;
    }
    override_bounds(t);
    if (!set_layout(t, &all)) {
        rc = wf_type_report_no_memory();
        goto err;
    }
    *out = t;
    return MPI_SUCCESS;
err:
    wf_type_put(t);
    return rc;
}
