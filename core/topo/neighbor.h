/* Neighbourhood collectives as schedules (MPI-5.0 s8.6).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_NEIGHBOR_H
#define WF_NEIGHBOR_H

#include "coll/coll.h"

/* Each puts a message along every edge into the schedule. */
wf_coll_builder wf_build_neighbor_allgather, wf_build_neighbor_allgatherv,
    wf_build_neighbor_alltoall, wf_build_neighbor_alltoallv,
    wf_build_neighbor_alltoallw;

#endif
