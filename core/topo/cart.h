/* Making Cartesian topologies.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CART_H
#define WF_CART_H

#include "topo/topo.h"

/* MPI_SUCCESS and the number of cells, when the grid fits onto comm. */
int wf_cart_check(const struct wf_comm *comm, const struct wf_grid *,
                  int *cells);
/* The topology of the process with this rank; NULL: out of memory, recorded. */
struct wf_topo *wf_cart_topo(const struct wf_grid *, int rank);

#endif
