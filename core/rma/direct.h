/* Copies between typed buffers of which one is mapped window memory, and the
 * check that a target lies inside its window.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_DIRECT_H
#define WF_RMA_DIRECT_H

#include "rma/elements.h"

/* Copies from one layout to the other: MPI_Put and MPI_Get on mapped memory.
 * Without holes on both sides it is one copy; else both layouts are walked
 * together, and nothing is packed. The data have the same number of bytes, or
 * so many as the shorter side has are copied. */
void wf_rma_copy(const struct wf_rma_side *to, const struct wf_rma_side *from);

/* Returns whether a window of `size` bytes has all data of count elements at a
 * position, bytes from its base. */
bool wf_rma_is_in_range(uint64_t size, uint64_t position,
                        const struct wf_type *, uint64_t count);

#endif
