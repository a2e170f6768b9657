/* This file finds the place of a byte of the packed stream, and the reverse.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_DATATYPE_LOCATE_H
#define WF_DATATYPE_LOCATE_H

#include "base.h"

struct wf_type;

/* Returns the address of byte `off` of the packed stream of one element at
 * address 0; off < size. */
int64_t wf_type_locate(const struct wf_type *, int64_t off);

/* Returns whether the addresses of one element's bytes grow with the packed
 * stream, with no byte twice. */
bool wf_type_is_ascending(const struct wf_type *);
/* Returns whether each piece of one element begins at or behind the one before
 * it; pieces may overlap. */
bool wf_type_is_nondecreasing(const struct wf_type *);

/* Returns how many bytes of the packed stream of one ascending element at
 * address 0 are below an address. */
int64_t wf_type_count_below(const struct wf_type *, int64_t address);

#endif
