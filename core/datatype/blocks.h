/* This file makes the constructor record and computes the blocks that it stands
 * for.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_DATATYPE_BLOCKS_H
#define WF_DATATYPE_BLOCKS_H

#include "base.h"

struct wf_type;
struct wf_type_block;

/* The blocks of a derived type. wf_type_block returns false when the
 * displacement does not fit 64 bits. */
int64_t wf_type_block_count(const struct wf_type *);
bool wf_type_block(const struct wf_type *, int64_t i, struct wf_type_block *);

/* Makes a type with room for the constructor record of this combiner; set the
 * older types with wf_type_set_older. NULL: out of memory. */
struct wf_type *wf_type_create(int combiner, int64_t nint, int64_t naddr,
                               int64_t ntype);
void wf_type_set_older(struct wf_type *, int64_t i, struct wf_type *older);

/* Constructors for use inside the library. */
int wf_type_make_hvector(int64_t count, int64_t blocklength, int64_t stride,
                         struct wf_type *older, struct wf_type **out);
int wf_type_make_struct(int64_t count, const int64_t *disps,
                        struct wf_type *const *older, struct wf_type **out);

#endif
