/* The cost model: the time that a message of a size takes over an endpoint.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ROUTE_COST_H
#define WF_ROUTE_COST_H

#include "base.h"

/* The time that a message takes: latency + overhead + bytes / bandwidth, in
 * ns. */
double wf_cost_ns(const weft_cost *, uint64_t bytes);

#endif
