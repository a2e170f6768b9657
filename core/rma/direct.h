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

/* The place of a target in a window, as the program has given it. */
struct wf_rma_displacement {
    int64_t disp;      /* in units */
    int64_t disp_unit; /* bytes, > 0 */
    uint64_t size;     /* bytes of the window at the target */
};

/* Computes the byte of the window at which count elements of the type lie with
 * the displacement. Returns MPI_ERR_RMA_RANGE, with a text that names the
 * range, if any byte of data lies outside. Without data *offset is 0. */
int wf_rma_check_range(const struct wf_rma_displacement *,
                       const struct wf_type *, uint64_t count, int64_t *offset);

#endif
