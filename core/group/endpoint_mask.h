/* A communicator knows the endpoints that its messages can come through: a
 * waiting thread polls them in every poll round of a receive from
 * MPI_ANY_SOURCE, a probe, or a collective
 * (docs/internals/progress-and-wakeups.md).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_GROUP_ENDPOINT_MASK_H
#define WF_GROUP_ENDPOINT_MASK_H

#include "base.h"

struct wf_comm;

/* Returns a mask of the endpoints that messages of its members can come
 * through. */
uint32_t wf_comm_endpoint_mask(struct wf_comm *);

#endif
