/* The kind of topology that a communicator has (MPI-5.0 s8.5.5).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TOPO_QUERY_H
#define WF_TOPO_QUERY_H

#include "base.h"

struct wf_comm;
struct wf_topo;

/* Returns the topology of comm if it is of this kind; else NULL, recorded as
 * MPI_ERR_TOPOLOGY. */
struct wf_topo *wf_topo_of(const struct wf_comm *comm, int kind);

#endif
