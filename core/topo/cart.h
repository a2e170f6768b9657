/* Creation of Cartesian topologies.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CART_H
#define WF_CART_H

#include "topo/topo.h"

/* Check that the grid fits onto comm, and store the number of its cells. */
int wf_cart_check(const struct wf_comm *comm, const struct wf_grid *,
                  int *cells);
/* Create the topology of the process with this rank in the grid; NULL: out of
 * memory, recorded. */
struct wf_topo *wf_cart_create_topo(const struct wf_grid *, int rank);

#endif
