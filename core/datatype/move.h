/* This file moves bytes between user memory and the packed stream.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_DATATYPE_MOVE_H
#define WF_DATATYPE_MOVE_H

#include "base.h"

struct wf_type;

/* Copy bytes [off, off+n) of the packed stream out of, or into, user memory.
 * The range must lie inside the stream. n may be any length: ranges need not
 * end at element boundaries. */
void wf_type_pack(const struct wf_type *, const void *buf, uint64_t count,
                  uint64_t off, void *out, uint64_t n);
void wf_type_unpack(const struct wf_type *, void *buf, uint64_t count,
                    uint64_t off, const void *in, uint64_t n);

/* Copies between two layouts: min(scount*ssize, dcount*dsize) packed bytes. */
int wf_type_copy(const struct wf_type *stype, const void *src, uint64_t scount,
                 const struct wf_type *dtype, void *dst, uint64_t dcount);

#endif
