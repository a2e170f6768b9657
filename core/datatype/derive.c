/* Size, bounds and layout are derived here from the constructor record.
 *
 * Rules: MPI-5.0 s5.1 (typemaps), s5.1.6 (lower and upper bound). A bound set
 * by MPI_Type_create_resized sticks: as soon as one component has set bounds,
 * only components with set bounds count. Otherwise the extent is rounded up to
 * the strictest alignment of the basic elements.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/derive.h"

#include <stdlib.h>

#include "datatype/blocks.h"
#include "datatype/derived.h"
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

/* Computes the range *low to *high that the elements of b cover when one covers
 * lb to ub. false: an overflow. */
static bool compute_reach(const struct wf_type_block *b, int64_t lb, int64_t ub,
                          int64_t *low, int64_t *high)
{
    int64_t last, first_lb, first_ub, last_lb, last_ub;

    if (__builtin_mul_overflow(b->n - 1, b->type->extent, &last) ||
        __builtin_add_overflow(b->disp, lb, &first_lb) ||
        __builtin_add_overflow(b->disp, ub, &first_ub) ||
        __builtin_add_overflow(first_lb, last, &last_lb) ||
        __builtin_add_overflow(first_ub, last, &last_ub))
        return false;
    *low = last < 0 ? last_lb : first_lb;
    *high = last < 0 ? first_ub : last_ub;
    return true;
}

static bool add_data_bounds(struct bounds *s, const struct wf_type_block *b)
{
    const struct wf_type *t = b->type;
    int64_t low, high;

    if (t->size == 0)
        return true;
    if (!compute_reach(b, t->true_lb, t->true_lb + t->true_extent, &low, &high))
        return false;
    if (!s->any_data || low < s->true_lb)
        s->true_lb = low;
    if (!s->any_data || high > s->true_ub)
        s->true_ub = high;
    s->any_data = true;
    return true;
}

/* Adds the place of a block to the bounds; false: an overflow. */
static bool add_bounds(struct bounds *s, const struct wf_type_block *b)
{
    const struct wf_type *t = b->type;
    int64_t low, high;

    if (b->n == 0 || (t->size == 0 && !is_sticky(t)))
        return true;
    if (wf_type_align(t) > s->align)
        s->align = wf_type_align(t);
    if (!add_data_bounds(s, b))
        return false;
    if (s->sticky && !is_sticky(t))
        return true;
    if (!compute_reach(b, t->lb, t->lb + t->extent, &low, &high))
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

/* Adds the data of `times` blocks like this one; false: an overflow. */
static bool add_size(struct bounds *s, const struct wf_type_block *b,
                     int64_t times)
{
    int64_t n, bytes;

    if (b->type->size == 0 || b->n == 0)
        return true;
    if (s->size == 0)
        s->unit = wf_type_unit(b->type);
    else if (s->unit != wf_type_unit(b->type))
        s->unit = 0;
    s->rewritten = s->rewritten || wf_type_needs_conversion(b->type);
    if (__builtin_mul_overflow(b->n, times, &n) ||
        __builtin_mul_overflow(n, b->type->size, &bytes) ||
        __builtin_add_overflow(s->size, bytes, &s->size))
        return false;
    add_saturated(&s->elements, wf_type_elements(b->type), n);
    add_saturated(&s->external, wf_type_external(b->type), n);
    return true;
}

static bool is_regular(const struct wf_type_private *p)
{
    return p->combiner == MPI_COMBINER_VECTOR ||
           p->combiner == MPI_COMBINER_HVECTOR;
}

/* Measures a regular type by its first and its last block. */
static bool measure_regular(const struct wf_type *t, int64_t blocks,
                            struct bounds *s)
{
    struct wf_type_block first, last;

    if (!wf_type_block(t, 0, &first) || !wf_type_block(t, blocks - 1, &last))
        return false;
    return add_bounds(s, &first) && add_bounds(s, &last) &&
           add_size(s, &first, blocks);
}

static bool measure_type(const struct wf_type *t, struct bounds *s)
{
    int64_t blocks = wf_type_block_count(t);
    struct wf_type_block b;

    s->align = 1;
    if (blocks > 0 && is_regular(t->priv))
        return measure_regular(t, blocks, s);
    for (int64_t i = 0; i < blocks; i++)
        if (!wf_type_block(t, i, &b) || !add_bounds(s, &b) ||
            !add_size(s, &b, 1))
            return false;
    return true;
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

static struct wf_type_layout *make_regular_layout(const struct wf_type *t)
{
    const struct wf_type_private *p = t->priv;
    struct wf_type_layout *row, *l = NULL;
    struct wf_type_block b;

    /* measure_type() has shown that the second displacement fits. */
    if (p->value[0] == 0)
        return wf_layout_make_block(0, 0);
    row = make_layout_of_run(p->older[0], p->value[1]);
    if (p->value[0] == 1 || !wf_type_block(t, 1, &b))
        return row;
    if (row)
        l = wf_layout_make_loop(p->value[0], b.disp, row);
    wf_layout_put(row);
    return l;
}

static struct wf_type_layout *make_layout_of_blocks(const struct wf_type *t)
{
    struct wf_layout_builder builder = {0};
    struct wf_type_layout *run = NULL;
    struct wf_type_block b, last = {0};
    int64_t blocks = wf_type_block_count(t);

    if (blocks > 16)
        wf_layout_reserve(&builder, blocks);
    for (int64_t i = 0; i < blocks; i++) {
        wf_type_block(t, i, &b);
        if (b.n == 0 || b.type->size == 0)
            continue;
        if (wf_type_is_contiguous(b.type)) {
            wf_layout_add_bytes(&builder, b.disp + b.type->true_lb,
                                b.n * b.type->size);
            continue;
        }
        /* Equal blocks in a row share one node. */
        if (!run || b.n != last.n || b.type != last.type) {
            wf_layout_put(run);
            run = make_layout_of_run(b.type, b.n);
            last = b;
        }
        if (run)
            wf_layout_add(&builder, b.disp, run);
        else
            builder.failed = true;
    }
    wf_layout_put(run);
    return wf_layout_finish(&builder);
}

static bool set_layout(struct wf_type *t)
{
    const struct wf_type_layout *l;

    t->layout =
        is_regular(t->priv) ? make_regular_layout(t) : make_layout_of_blocks(t);
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
    int rc;

    if (!measure_type(t, &s) || !set_bounds(t, &s)) {
        rc = wf_error(MPI_ERR_COUNT,
                      "the new datatype would span more than 2^63 - 1 bytes");
        goto err;
    }
    override_bounds(t);
    if (!set_layout(t)) {
        rc = wf_type_report_no_memory();
        goto err;
    }
    *out = t;
    return MPI_SUCCESS;
err:
    wf_type_put(t);
    return rc;
}
