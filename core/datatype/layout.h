/* A layout says where the bytes of one element lie, as a normalised program.
 *
 *   BLOCK  size bytes at disp
 *   LOOP   count times child, at disp, disp + stride, ...
 *   SEGS   count byte segments at disps[i], lengths from starts[]
 *   LIST   count children at disps[i], sizes from starts[]
 *
 * DESIGN  Every way of writing the same placement ends in the same layout:
 * adjacent blocks merge, loops of loops with matching strides merge, lists in
 * arithmetic progression become loops, few-segment children are flattened into
 * rows. (Idea of canonical strided blocks: Pearson et al., TEMPI, HPDC 2021.)
 * Nodes never change once built and are shared between types by reference.
 * starts[] are prefix sums of packed bytes with count + 1 entries, or multiples
 * of the width, so any byte of the packed stream is found by division or binary
 * search, without state.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_LAYOUT_H
#define WF_LAYOUT_H

#include "base.h"

enum wf_layout_kind {
    WF_LAYOUT_BLOCK,
    WF_LAYOUT_LOOP,
    WF_LAYOUT_SEGS,
    WF_LAYOUT_LIST
};

struct wf_type_layout {
    uint32_t refs; /* 0: static, never freed */
    uint8_t kind;
    int64_t size;  /* packed bytes */
    int64_t segs;  /* number of memory segments, saturated */
    int64_t width; /* SEGS: length of every segment, 0 if they differ */
    int64_t disp;  /* BLOCK, LOOP */
    int64_t count;
    int64_t stride;
    struct wf_type_layout *child;     /* LOOP */
    int64_t *disps;                   /* SEGS, LIST */
    int64_t *starts; /* the same; NULL where there is a width */
    struct wf_type_layout **children; /* LIST */
};

/* Returns where part i of a SEGS or LIST node starts in its stream; i may be
 * count. */
static inline int64_t wf_layout_start(const struct wf_type_layout *l, int64_t i)
{
    return l->width ? i * l->width : l->starts[i];
}

/* Returns the index of the segment or child of a SEGS or LIST node that has
 * byte off of its stream. */
static inline int64_t wf_layout_find_part(const struct wf_type_layout *l,
                                     int64_t off)
{
    int64_t low = 0, high = l->count;

    WF_ASSERT(off >= 0 && l->count > 0);
    WF_ASSERT(l->kind == WF_LAYOUT_SEGS || l->kind == WF_LAYOUT_LIST);
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

void wf_layout_get(struct wf_type_layout *);
void wf_layout_put(struct wf_type_layout *);

/* Constructors return a new reference, or NULL when memory is out. The caller
 * keeps its references to the arguments. wf_layout_shift returns a layout moved
 * by disp. */
struct wf_type_layout *wf_layout_make_block(int64_t disp, int64_t size);
struct wf_type_layout *wf_layout_make_loop(int64_t count, int64_t stride,
                                      struct wf_type_layout *child);
struct wf_type_layout *wf_layout_shift(struct wf_type_layout *, int64_t disp);

/* Make a zeroed node, and a loop as given, which is not simplified. */
struct wf_type_layout *wf_layout_make_node(enum wf_layout_kind);
struct wf_type_layout *wf_layout_make_loop_node(int64_t disp, int64_t count,
                                           int64_t stride,
                                           struct wf_type_layout *child);

/* A builder concatenates parts in typemap order. */
struct wf_layout_builder {
    int64_t open, end; /* the last segment, which may still grow; open == end:
                          there is none */
    /* The run of the segments before it: nseg of them, each of width bytes, or
     * with starts[] once they differ, as in a SEGS node. */
    int64_t *disps, *starts;
    int64_t nseg, room, width;
    int64_t lengths; /* of them, or-ed */
    int64_t *item_disp;
    struct wf_type_layout **item;
    int64_t nitem, item_room;
    bool failed; /* memory was out */
};

#endif
