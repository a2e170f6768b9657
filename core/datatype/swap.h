/* This file packs and unpacks streams in the byte order opposite to this
 * machine's.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_DATATYPE_SWAP_H
#define WF_DATATYPE_SWAP_H

#include "base.h"

struct wf_type;

/* Returns the width of the units of its stream (swap.c) when all units have the
 * same width, else 0. */
unsigned wf_type_unit(const struct wf_type *);

/* Pack and unpack as wf_type_pack does, with a stream in the byte order
 * opposite to this machine's. */
void wf_type_pack_swapped(const struct wf_type *, const void *buf,
                          uint64_t count, uint64_t off, void *out, uint64_t n);
void wf_type_unpack_swapped(const struct wf_type *, void *buf, uint64_t count,
                            uint64_t off, const void *in, uint64_t n);

#endif
