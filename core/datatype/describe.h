/* A datatype is described in words, so that another process can make one with
 * the same layout of it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_DATATYPE_DESCRIBE_H
#define WF_DATATYPE_DESCRIBE_H

#include "base.h"

struct wf_type;

/* Returns the description of a type, *n words that the caller frees; NULL: out
 * of memory. */
int64_t *wf_type_describe(const struct wf_type *, size_t *n);

/* Makes a committed type of a description that may come from anywhere. Returns
 * NULL if it is not valid, or without memory (then *no_memory). The type has
 * size, extent, true bounds and layout, and no more. */
struct wf_type *wf_type_rebuild(const int64_t *words, size_t n,
                                bool *no_memory);

/* Returns the predefined type that all basic elements of a type have; NULL:
 * they differ, or there are none. */
struct wf_type *wf_type_basic(struct wf_type *);

/* Computes the bytes from *low up to *high that `count` elements at address 0
 * take. False: they do not fit 63 bits. Without data both are 0. */
bool wf_type_reach(const struct wf_type *, uint64_t count, int64_t *low,
                   int64_t *high);

#endif
