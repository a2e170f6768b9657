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
    b->disps = malloc((size_t)n * sizeof *b->disps);
    if (b->disps)
        b->room = n; /* else: grow when needed, and fail then */
}

/* Gives the run starts, one for each segment that there is room for. */
static bool make_starts(struct wf_layout_builder *b)
{
    b->starts = malloc((size_t)(b->room + 1) * sizeof *b->starts);
    for (int64_t i = 0; b->starts && i <= b->nseg; i++)
        b->starts[i] = i * b->width;
    return b->starts != NULL;
}

static bool grow_run(struct wf_layout_builder *b)
{
    int64_t room = b->room, *bigger;

    if (!grow_array(&b->disps, &room, b->nseg, sizeof *b->disps))
        return false;
    b->room = room;
    if (!b->starts)
        return true;
    bigger = realloc(b->starts, (size_t)(room + 1) * sizeof *bigger);
    if (bigger)
        b->starts = bigger;
    return bigger != NULL;
}

bool wf_layout_widen_run(struct wf_layout_builder *b, int64_t len)
{
    if (b->nseg == 0)
        b->width = len;
    if ((b->nseg == b->room && !grow_run(b)) ||
        (len != b->width && !b->starts && !make_starts(b)))
        b->failed = true;
    return !b->failed;
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
    int64_t step = b->disps[1] - b->disps[0];

    if (b->starts)
        return false;
    for (int64_t i = 2; i < b->nseg; i++)
        if (b->disps[i] - b->disps[i - 1] != step)
            return false;
    return true;
}

static struct wf_type_layout *
make_loop_of_run(const struct wf_layout_builder *b)
{
    struct wf_type_layout *block = wf_layout_make_block(0, b->width);
    struct wf_type_layout *l;

    if (!block)
        return NULL;
    l = wf_layout_make_loop_node(b->disps[0], b->nseg,
                                 b->disps[1] - b->disps[0], block);
    wf_layout_put(block);
    return l;
}

/* Returns the width into which segments that differ can be cut so that they
 * become equal without becoming many more; 0 if there is none. Equal segments
 * move in a loop without branches, which is faster than having fewer of
 * them. */
static int64_t find_cut_width(const struct wf_layout_builder *b)
{
    int64_t width = b->lengths & -b->lengths; /* the lowest bit of all */

    if (b->starts && b->nseg >= WF_LONG_LIST && width >= 4 && width <= 16 &&
        b->starts[b->nseg] / width <= WF_MORE_SEGS * b->nseg)
        return width;
    return 0;
}

/* Cuts the segments of the run into blocks of width bytes, a power of two.
 * WF_MORE_SEGS displacements are written for each segment, however many it
 * needs: a branch on that would be predicted wrongly for every other one. */
static bool cut_run(struct wf_layout_builder *b, int64_t width)
{
    int shift = __builtin_ctzll((uint64_t)width);
    int64_t n = b->starts[b->nseg] >> shift, k = 0, more;
    int64_t *disps = malloc((size_t)(n + WF_MORE_SEGS) * sizeof *disps);

    if (!disps)
        return false;
    for (int64_t i = 0; i < b->nseg; i++, k += more) {
        int64_t at = b->disps[i], j = 0;

        more = (b->starts[i + 1] - b->starts[i]) >> shift;
        do {
            for (int64_t end = j + WF_MORE_SEGS; j < end; j++, at += width)
                disps[k + j] = at;
        } while (wf_unlikely(j < more));
    }
    free(b->disps);
    free(b->starts);
    b->disps = disps;
    b->starts = NULL;
    b->nseg = b->room = n;
    b->width = width;
    return true;
}

/* Returns the array without the room that its n entries do not need. */
static int64_t *trim_array(int64_t *array, int64_t n)
{
    int64_t *trimmed = realloc(array, (size_t)n * sizeof *array);

    return trimmed ? trimmed : array;
}

/* Makes a node of the run, whose arrays it takes over. */
static struct wf_type_layout *make_segs_of_run(struct wf_layout_builder *b)
{
    struct wf_type_layout *l = wf_layout_make_node(WF_LAYOUT_SEGS);

    if (!l)
        return NULL;
    l->count = l->segs = b->nseg;
    l->width = b->starts ? 0 : b->width;
    l->disps = trim_array(b->disps, b->nseg);
    if (b->starts)
        l->starts = trim_array(b->starts, b->nseg + 1);
    l->size = wf_layout_start(l, l->count);
    b->disps = b->starts = NULL;
    b->room = 0;
    return l;
}

/* Makes a layout of the run, which is empty afterwards. */
static struct wf_type_layout *make_layout_of_run(struct wf_layout_builder *b)
{
    struct wf_type_layout *l;
    int64_t width;

    wf_layout_close_segment(b);
    b->open = b->end = 0;
    if (b->failed)
        return NULL;
    if (b->nseg == 0)
        l = wf_layout_make_block(0, 0);
    else if (b->nseg == 1)
        l = wf_layout_make_block(b->disps[0], b->width);
    else if (is_run_regular(b))
        l = make_loop_of_run(b);
    else if ((width = find_cut_width(b)) > 0 && !cut_run(b, width))
        l = NULL;
    else
        l = make_segs_of_run(b);
    free(b->starts);
    b->starts = NULL;
    b->nseg = b->lengths = 0;
    return l;
}

static void flush_run(struct wf_layout_builder *b)
{
    if (b->nseg || b->open != b->end)
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
                                wf_layout_start(l, i + 1) -
                                    wf_layout_start(l, i));
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
    free(b->disps);
    free(b->starts);
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
