/* A builder concatenates placements into one layout, in typemap order.
 *
 * Byte segments are collected in a run; a child that is too large to be
 * flattened is an item of its own. At the end the run or the list of items
 * becomes the simplest of these that it can be: a block, a loop, equal
 * segments, or a list.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/layout_build.h"

#include <stdlib.h>

#include "datatype/layout.h"
#include "os/tuning.h"

static int64_t saturate_add(int64_t a, int64_t b)
{
    int64_t r;

    return __builtin_add_overflow(a, b, &r) ? INT64_MAX : r;
}

static bool grow_array(void *array_p, int64_t *room, int64_t used, size_t width)
{
    void **array = array_p;
    int64_t wanted = used < 8 ? 16 : used * 2;
    void *bigger = realloc(*array, (size_t)wanted * width);

    if (!bigger)
        return false;
    *array = bigger;
    *room = wanted;
    return true;
}

void wf_layout_reserve(struct wf_layout_builder *b, int64_t n)
{
    b->seg_disp = malloc((size_t)n * sizeof *b->seg_disp);
    b->seg_len = malloc((size_t)n * sizeof *b->seg_len);
    if (b->seg_disp && b->seg_len)
        b->seg_room = n; /* else: grow when needed, and fail then */
}

void wf_layout_add_bytes(struct wf_layout_builder *b, int64_t disp, int64_t len)
{
    int64_t n = b->nseg, room = b->seg_room;

    if (len == 0 || b->failed)
        return;
    if (n > 0 && b->seg_disp[n - 1] + b->seg_len[n - 1] == disp) {
        b->seg_len[n - 1] += len;
        return;
    }
    if (n == b->seg_room &&
        (!grow_array(&b->seg_disp, &room, n, sizeof *b->seg_disp) ||
         !grow_array(&b->seg_len, &b->seg_room, n, sizeof *b->seg_len))) {
        b->failed = true;
        return;
    }
    b->seg_disp[n] = disp;
    b->seg_len[n] = len;
    b->nseg++;
}

/* Appends a child to the list of items; takes over the reference. */
static void add_item(struct wf_layout_builder *b, int64_t disp,
                     struct wf_type_layout *l)
{
    int64_t n = b->nitem, room = b->item_room;

    if (l && n == b->item_room &&
        (!grow_array(&b->item_disp, &room, n, sizeof *b->item_disp) ||
         !grow_array(&b->item, &b->item_room, n, sizeof *b->item))) {
        wf_layout_put(l);
        l = NULL;
    }
    if (!l) {
        b->failed = true;
        return;
    }
    b->item_disp[n] = disp;
    b->item[n] = l;
    b->nitem++;
}

/* Returns whether the run has equal lengths at equal steps. */
static bool is_run_regular(const struct wf_layout_builder *b)
{
    int64_t step = b->seg_disp[1] - b->seg_disp[0];

    for (int64_t i = 1; i < b->nseg; i++)
        if (b->seg_len[i] != b->seg_len[0] ||
            b->seg_disp[i] - b->seg_disp[i - 1] != step)
            return false;
    return true;
}

static struct wf_type_layout *
make_loop_of_run(const struct wf_layout_builder *b)
{
    struct wf_type_layout *block = wf_layout_make_block(0, b->seg_len[0]);
    struct wf_type_layout *l;

    if (!block)
        return NULL;
    l = wf_layout_make_loop_node(b->seg_disp[0], b->nseg,
                            b->seg_disp[1] - b->seg_disp[0], block);
    wf_layout_put(block);
    return l;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Returns the width into which all segments can be cut so that they become
 * equal without becoming many more; 0 if there is none. Equal segments move in
 * a loop without branches, which is faster than having fewer of them. */
static int64_t find_cut_width(const struct wf_layout_builder *b)
{
    int64_t width = b->seg_len[0], size = 0;
    bool equal = true;

    for (int64_t i = 0; i < b->nseg; i++) {
        equal = equal && b->seg_len[i] == b->seg_len[0];
        width = common_divisor(width, b->seg_len[i]);
        size += b->seg_len[i];
    }
    if (equal)
        return width;
    if (b->nseg >= WF_LONG_LIST && (width == 4 || width == 8 || width == 16) &&
        size / width <= WF_MORE_SEGS * b->nseg)
        return width;
    return 0;
}

/* Makes a node of the run with every segment cut into blocks of width bytes. */
static struct wf_type_layout *
make_segs_of_cut_run(const struct wf_layout_builder *b, int64_t width)
{
    struct wf_type_layout *l = wf_layout_make_node(WF_LAYOUT_SEGS);
    int64_t n = 0, k = 0;

    if (!l)
        return NULL;
    for (int64_t i = 0; i < b->nseg; i++)
        n += b->seg_len[i] / width;
    l->starts = malloc((size_t)(n + 1) * sizeof *l->starts);
    l->disps = malloc((size_t)n * sizeof *l->disps);
    if (!l->starts || !l->disps) {
        wf_layout_put(l);
        return NULL;
    }
    for (int64_t i = 0; i < b->nseg; i++)
        for (int64_t at = 0; at < b->seg_len[i]; at += width)
            l->disps[k++] = b->seg_disp[i] + at;
    for (k = 0; k <= n; k++)
        l->starts[k] = k * width;
    l->count = l->segs = n;
    l->width = width;
    l->size = n * width;
    return l;
}

static struct wf_type_layout *
make_segs_of_run(const struct wf_layout_builder *b)
{
    struct wf_type_layout *l = wf_layout_make_node(WF_LAYOUT_SEGS);
    int64_t at = 0;

    if (!l)
        return NULL;
    l->starts = malloc((size_t)(b->nseg + 1) * sizeof *l->starts);
    l->disps = malloc((size_t)b->nseg * sizeof *l->disps);
    if (!l->starts || !l->disps) {
        wf_layout_put(l);
        return NULL;
    }
    memcpy(l->disps, b->seg_disp, (size_t)b->nseg * sizeof *l->disps);
    l->count = l->segs = b->nseg;
    for (int64_t i = 0; i < b->nseg; i++) {
        l->starts[i] = at;
        at += b->seg_len[i];
    }
    l->starts[b->nseg] = l->size = at;
    return l;
}

/* Makes a layout of the open run, which is empty afterwards. */
static struct wf_type_layout *make_layout_of_run(struct wf_layout_builder *b)
{
    struct wf_type_layout *l;
    int64_t width;

    if (b->nseg == 0)
        l = wf_layout_make_block(0, 0);
    else if (b->nseg == 1)
        l = wf_layout_make_block(b->seg_disp[0], b->seg_len[0]);
    else if (is_run_regular(b))
        l = make_loop_of_run(b);
    else if ((width = find_cut_width(b)) > 0)
        l = make_segs_of_cut_run(b, width);
    else
        l = make_segs_of_run(b);
    b->nseg = 0;
    return l;
}

static void flush_run(struct wf_layout_builder *b)
{
    if (b->nseg)
        add_item(b, 0, make_layout_of_run(b));
}

/* Copies the segments of a small layout into the open run. */
static void flatten_layout(struct wf_layout_builder *b, int64_t disp,
                           const struct wf_type_layout *l)
{
    switch (l->kind) {
    case WF_LAYOUT_BLOCK:
        wf_layout_add_bytes(b, disp + l->disp, l->size);
        break;
    case WF_LAYOUT_LOOP:
        for (int64_t i = 0; i < l->count; i++)
            flatten_layout(b, disp + l->disp + i * l->stride, l->child);
        break;
    case WF_LAYOUT_SEGS:
        for (int64_t i = 0; i < l->count; i++)
            wf_layout_add_bytes(b, disp + l->disps[i],
                                l->starts[i + 1] - l->starts[i]);
        break;
    case WF_LAYOUT_LIST:
        for (int64_t i = 0; i < l->count; i++)
            flatten_layout(b, disp + l->disps[i], l->children[i]);
        break;
    }
}

void wf_layout_add(struct wf_layout_builder *b, int64_t disp,
                   struct wf_type_layout *l)
{
    if (l->size == 0 || b->failed)
        return;
    if (l->segs <= WF_FLATTEN_SEGS) {
        flatten_layout(b, disp, l);
        return;
    }
    flush_run(b);
    wf_layout_get(l);
    add_item(b, disp, l);
}

/* Returns whether the items are the same child at equal steps. */
static bool are_items_regular(const struct wf_layout_builder *b)
{
    int64_t step = b->item_disp[1] - b->item_disp[0];

    for (int64_t i = 1; i < b->nitem; i++)
        if (b->item[i] != b->item[0] ||
            b->item_disp[i] - b->item_disp[i - 1] != step)
            return false;
    return true;
}

static struct wf_type_layout *
make_loop_of_items(const struct wf_layout_builder *b)
{
    struct wf_type_layout *loop = wf_layout_make_loop(
        b->nitem, b->item_disp[1] - b->item_disp[0], b->item[0]);
    struct wf_type_layout *l = NULL;

    if (loop)
        l = wf_layout_shift(loop, b->item_disp[0]);
    wf_layout_put(loop);
    return l;
}

/* Makes a list node, and moves the items into it. */
static struct wf_type_layout *make_list_of_items(struct wf_layout_builder *b)
{
    struct wf_type_layout *l = wf_layout_make_node(WF_LAYOUT_LIST);
    int64_t at = 0;

    if (!l)
        return NULL;
    l->starts = malloc((size_t)(b->nitem + 1) * sizeof *l->starts);
    if (!l->starts) {
        wf_layout_put(l);
        return NULL;
    }
    l->disps = b->item_disp;
    l->children = b->item;
    l->count = b->nitem;
    for (int64_t i = 0; i < l->count; i++) {
        l->starts[i] = at;
        at += l->children[i]->size;
        l->segs = saturate_add(l->segs, l->children[i]->segs);
    }
    l->starts[l->count] = l->size = at;
    b->item = NULL;
    b->item_disp = NULL;
    b->nitem = 0;
    return l;
}

static void clear_builder(struct wf_layout_builder *b)
{
    for (int64_t i = 0; i < b->nitem; i++)
        wf_layout_put(b->item[i]);
    free(b->item);
    free(b->item_disp);
    free(b->seg_disp);
    free(b->seg_len);
    memset(b, 0, sizeof *b);
}

struct wf_type_layout *wf_layout_finish(struct wf_layout_builder *b)
{
    struct wf_type_layout *l = NULL;

    if (b->nitem)
        flush_run(b);
    if (b->failed)
        goto out;
    if (b->nitem == 0)
        l = make_layout_of_run(b);
    else if (b->nitem == 1)
        l = wf_layout_shift(b->item[0], b->item_disp[0]);
    else if (are_items_regular(b))
        l = make_loop_of_items(b);
    else
        l = make_list_of_items(b);
out:
    clear_builder(b);
    return l;
}
