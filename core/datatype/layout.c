/* This file makes layout nodes. The constructors return the simplest node for
 * the placement.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/layout.h"

#include <stdlib.h>

#include "object/handle.h"
#include "os/tuning.h"

struct wf_type_layout *wf_layout_make_node(enum wf_layout_kind kind)
{
    struct wf_type_layout *l = calloc(1, sizeof *l);

    if (l) {
        l->refs = 1;
        l->kind = (uint8_t)kind;
    }
    return l;
}

void wf_layout_get(struct wf_type_layout *l)
{
    if (l && l->refs)
        wf_refs_get(&l->refs);
}

void wf_layout_put(struct wf_type_layout *l)
{
    if (!l || !l->refs || !wf_refs_put(&l->refs))
        return;
    wf_layout_put(l->child);
    if (l->children)
        for (int64_t i = 0; i < l->count; i++)
            wf_layout_put(l->children[i]);
    free(l->children);
    free(l->disps);
    free(l->starts);
    free(l);
}

static int64_t saturate_mul(int64_t a, int64_t b)
{
    int64_t r;

    return __builtin_mul_overflow(a, b, &r) ? INT64_MAX : r;
}

struct wf_type_layout *wf_layout_make_block(int64_t disp, int64_t size)
{
    struct wf_type_layout *l = wf_layout_make_node(WF_LAYOUT_BLOCK);

    if (!l)
        return NULL;
    l->size = size;
    l->disp = size ? disp : 0;
    l->segs = size ? 1 : 0;
    return l;
}

struct wf_type_layout *wf_layout_make_loop_node(int64_t disp, int64_t count,
                                           int64_t stride,
                                           struct wf_type_layout *child)
{
    struct wf_type_layout *l = wf_layout_make_node(WF_LAYOUT_LOOP);

    if (!l)
        return NULL;
    l->disp = disp;
    l->count = count;
    l->stride = stride;
    l->size = count * child->size;
    l->segs = saturate_mul(count, child->segs);
    wf_layout_get(child);
    l->child = child;
    return l;
}

struct wf_type_layout *wf_layout_shift(struct wf_type_layout *l, int64_t disp)
{
    if (disp == 0 || l->size == 0) {
        wf_layout_get(l);
        return l;
    }
    if (l->kind == WF_LAYOUT_BLOCK)
        return wf_layout_make_block(l->disp + disp, l->size);
    if (l->kind == WF_LAYOUT_LOOP)
        return wf_layout_make_loop_node(l->disp + disp, l->count, l->stride,
                                   l->child);
    return wf_layout_make_loop_node(disp, 1, 0, l);
}

static bool is_loop_of_blocks(const struct wf_type_layout *l)
{
    return l->kind == WF_LAYOUT_LOOP && l->child->kind == WF_LAYOUT_BLOCK;
}

/* Makes one row of the segments of a short loop of blocks. */
static struct wf_type_layout *make_row_of_loop(const struct wf_type_layout *l)
{
    struct wf_type_layout *row = wf_layout_make_node(WF_LAYOUT_SEGS);
    int64_t width = l->child->size;

    if (!row)
        return NULL;
    row->count = row->segs = l->count;
    row->size = l->size;
    row->width = width;
    row->disps = malloc((size_t)l->count * sizeof *row->disps);
    if (!row->disps) {
        wf_layout_put(row);
        return NULL;
    }
    for (int64_t i = 0; i < l->count; i++)
        row->disps[i] = l->disp + l->child->disp + i * l->stride;
    return row;
}

struct wf_type_layout *wf_layout_make_loop(int64_t count, int64_t stride,
                                      struct wf_type_layout *child)
{
    struct wf_type_layout *row, *l;

    if (count == 0 || child->size == 0)
        return wf_layout_make_block(0, 0);
    if (count == 1)
        return wf_layout_shift(child, 0);
    if (child->kind == WF_LAYOUT_BLOCK && child->size == stride)
        return wf_layout_make_block(child->disp, count * stride);
    if (child->kind != WF_LAYOUT_LOOP)
        return wf_layout_make_loop_node(0, count, stride, child);
    if (child->count == 1)
        return wf_layout_make_loop_node(child->disp, count, stride,
                                        child->child);
    if (saturate_mul(child->count, child->stride) == stride)
        return wf_layout_make_loop_node(child->disp, count * child->count,
                                   child->stride, child->child);
    if (!is_loop_of_blocks(child) || child->count > WF_ROW_LOOP ||
        child->count >= count)
        return wf_layout_make_loop_node(0, count, stride, child);
    row = make_row_of_loop(child);
    if (!row)
        return NULL;
    l = wf_layout_make_loop_node(0, count, stride, row);
    wf_layout_put(row);
    return l;
}
