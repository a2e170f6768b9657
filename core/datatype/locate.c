/* This file finds the place of a byte of the packed stream, and the reverse.
 *
 * Both are a descent into the layout: a division in each loop, a binary search
 * in each list.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/locate.h"

#include "datatype/layout.h"
#include "datatype/type.h"

int64_t wf_type_locate(const struct wf_type *t, int64_t off)
{
    const struct wf_type_layout *l = t->layout;
    int64_t at = 0, i;

    WF_ASSERT(off >= 0 && off < t->size);
    if (wf_type_is_contiguous(t)) /* predefined ones have no layout */
        return t->true_lb + off;
    for (;;)
        switch (l->kind) {
        case WF_LAYOUT_BLOCK:
            return at + l->disp + off;
        case WF_LAYOUT_LOOP:
            at += l->disp + off / l->child->size * l->stride;
            off %= l->child->size;
            l = l->child;
            break;
        default:
            i = wf_layout_find_part(l, off);
            at += l->disps[i];
            off -= wf_layout_start(l, i);
            if (l->kind == WF_LAYOUT_SEGS)
                return at + off;
            l = l->children[i];
        }
}

/* ---- the order of addresses ---------------------------------------------- */

/* Returns the address of the first byte of the stream. */
static int64_t find_first(const struct wf_type_layout *l)
{
    int64_t at = 0;

    for (;;)
        switch (l->kind) {
        case WF_LAYOUT_BLOCK:
            return at + l->disp;
        case WF_LAYOUT_LOOP:
            at += l->disp;
            l = l->child;
            break;
        case WF_LAYOUT_SEGS:
            return at + l->disps[0];
        default:
            at += l->disps[0];
            l = l->children[0];
        }
}

/* Returns the address of the last piece of the stream, or behind it. */
static int64_t find_last(const struct wf_type_layout *l, bool behind)
{
    int64_t at = 0, last;

    for (;;)
        switch (l->kind) {
        case WF_LAYOUT_BLOCK:
            return at + l->disp + (behind ? l->size : 0);
        case WF_LAYOUT_LOOP:
            at += l->disp + (l->count - 1) * l->stride;
            l = l->child;
            break;
        default:
            last = l->count - 1;
            at += l->disps[last];
            if (l->kind == WF_LAYOUT_SEGS)
                return at + (behind ? wf_layout_start(l, last + 1) -
                                          wf_layout_start(l, last)
                                    : 0);
            l = l->children[last];
        }
}

static bool are_segs_ascending(const struct wf_type_layout *l, bool apart)
{
    for (int64_t i = 0; i + 1 < l->count; i++)
        if (l->disps[i] +
                (apart ? wf_layout_start(l, i + 1) - wf_layout_start(l, i)
                       : 0) >
            l->disps[i + 1])
            return false;
    return true;
}

/* Returns whether each piece begins at or behind the one before it; apart:
 * behind its end. */
static bool is_ascending(const struct wf_type_layout *l, bool apart)
{
    switch (l->kind) {
    case WF_LAYOUT_BLOCK:
        return true;
    case WF_LAYOUT_LOOP:
        return is_ascending(l->child, apart) &&
               (l->count <= 1 ||
                l->stride >= find_last(l->child, apart) - find_first(l->child));
    case WF_LAYOUT_SEGS:
        return are_segs_ascending(l, apart);
    default:
        for (int64_t i = 0; i < l->count; i++)
            if (!is_ascending(l->children[i], apart) ||
                (i > 0 &&
                 l->disps[i - 1] + find_last(l->children[i - 1], apart) >
                     l->disps[i] + find_first(l->children[i])))
                return false;
        return true;
    }
}

bool wf_type_is_ascending(const struct wf_type *t)
{
    return t->size == 0 || wf_type_is_contiguous(t) ||
           is_ascending(t->layout, true);
}

bool wf_type_is_nondecreasing(const struct wf_type *t)
{
    return t->size == 0 || wf_type_is_contiguous(t) ||
           is_ascending(t->layout, false);
}

/* ---- bytes below an address ---------------------------------------------- */

static int64_t clamp_count(int64_t n, int64_t most)
{
    return n < 0 ? 0 : n < most ? n : most;
}

/* Returns the index of the last part of a SEGS or LIST node that begins below
 * an address, or -1. */
static int64_t find_part_below(const struct wf_type_layout *l, int64_t address)
{
    int64_t low = -1, high = l->count;

    while (high - low > 1) {
        int64_t mid = low + (high - low) / 2;
        int64_t first = l->disps[mid];

        if (l->kind == WF_LAYOUT_LIST)
            first += find_first(l->children[mid]);
        if (first < address)
            low = mid;
        else
            high = mid;
    }
    return low;
}

/* Returns the index of the last row of a loop that begins below an address, or
 * -1. */
static int64_t find_row_below(const struct wf_type_layout *l, int64_t address)
{
    int64_t first = l->disp + find_first(l->child), row;

    if (address <= first)
        return -1;
    if (l->count <= 1)
        return 0;
    row = (address - 1 - first) / l->stride;
    return row < l->count ? row : l->count - 1;
}

int64_t wf_type_count_below(const struct wf_type *t, int64_t address)
{
    const struct wf_type_layout *l = t->layout;
    int64_t n = 0, i;

    if (t->size == 0)
        return 0;
    if (wf_type_is_contiguous(t))
        return clamp_count(address - t->true_lb, t->size);
    for (;;)
        switch (l->kind) {
        case WF_LAYOUT_BLOCK:
            return n + clamp_count(address - l->disp, l->size);
        case WF_LAYOUT_LOOP:
            i = find_row_below(l, address);
            if (i < 0)
                return n;
            n += i * l->child->size;
            address -= l->disp + i * l->stride;
            l = l->child;
            break;
        default:
            i = find_part_below(l, address);
            if (i < 0)
                return n;
            n += wf_layout_start(l, i);
            address -= l->disps[i];
            if (l->kind == WF_LAYOUT_SEGS)
                return n + clamp_count(address, wf_layout_start(l, i + 1) -
                                                    wf_layout_start(l, i));
            l = l->children[i];
        }
}
