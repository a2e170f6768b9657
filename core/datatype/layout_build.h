/* A builder concatenates placements into one layout, in typemap order.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_DATATYPE_LAYOUT_BUILD_H
#define WF_DATATYPE_LAYOUT_BUILD_H

#include "base.h"

struct wf_layout_builder;
struct wf_type_layout;

/* Makes room for n byte segments, which saves growing step by step. */
void wf_layout_reserve(struct wf_layout_builder *, int64_t n);

/* Append len bytes at disp, or a layout shifted by disp. */
void wf_layout_add_bytes(struct wf_layout_builder *, int64_t disp, int64_t len);
void wf_layout_add(struct wf_layout_builder *, int64_t disp,
                   struct wf_type_layout *);

/* Returns the layout, or NULL when memory was out; the builder is empty
 * afterwards. */
struct wf_type_layout *wf_layout_finish(struct wf_layout_builder *);

#endif
