/* This file lists the memory segments of a packed stream from any byte on.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_DATATYPE_SEGMENTS_H
#define WF_DATATYPE_SEGMENTS_H

#include "base.h"

struct iovec;
struct wf_type;

/* Lists up to max memory segments of the packed stream from byte off on, in
 * order, adjacent ones merged. Returns the number of segments written (0: off
 * is at the end). */
int wf_type_list_segments(const struct wf_type *, const void *buf,
                          uint64_t count, uint64_t off, struct iovec *v,
                          int max);

/* Returns the number of segments of one element, saturated. */
int64_t wf_type_count_segments(const struct wf_type *);

#endif
