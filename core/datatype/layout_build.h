/* A builder concatenates placements into one layout, in typemap order.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_DATATYPE_LAYOUT_BUILD_H
#define WF_DATATYPE_LAYOUT_BUILD_H

#include "datatype/layout.h"

/* Makes room for n byte segments, which saves growing step by step. */
void wf_layout_reserve(struct wf_layout_builder *, int64_t n);

/* Adds a segment of len bytes to the run where its room or its one width does
 * not suffice. */
bool wf_layout_widen_run(struct wf_layout_builder *, int64_t len);

/* Moves the last segment into the run. */
static inline void wf_layout_close_segment(struct wf_layout_builder *b)
{
    int64_t len = b->end - b->open, n = b->nseg;

    if (len == 0)
        return;
    if ((wf_unlikely(n == b->room) ||
         wf_unlikely(len != b->width && !b->starts)) &&
        !wf_layout_widen_run(b, len))
        return;
    b->disps[n] = b->open;
    if (b->starts)
        b->starts[n + 1] = b->starts[n] + len;
    b->lengths |= len;
    b->nseg = n + 1;
}

/* Append len bytes at disp, or a layout shifted by disp. */
static inline void wf_layout_add_bytes(struct wf_layout_builder *b,
                                       int64_t disp, int64_t len)
{
    if (disp != b->end && len > 0) {
        wf_layout_close_segment(b);
        b->open = b->end = disp;
    }
    b->end += len;
}
void wf_layout_add(struct wf_layout_builder *, int64_t disp,
                   struct wf_type_layout *);

/* Returns the layout, or NULL when memory was out; the builder is empty
 * afterwards. */
struct wf_type_layout *wf_layout_finish(struct wf_layout_builder *);

#endif
