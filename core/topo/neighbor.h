/* Neighbourhood collectives: the builders that all of their forms share.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_NEIGHBOR_H
#define WF_NEIGHBOR_H

#include "coll/coll.h"

/* One block to all destinations, or one to each. Counts, displacements and
 * types have an entry per neighbour. */
wf_coll_builder wf_neighbor_allgather, wf_neighbor_alltoall;

#endif
