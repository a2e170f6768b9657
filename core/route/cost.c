/* The cost model: the time that a message of a size takes over an endpoint.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "route/cost.h"

#include "route/route.h"

double wf_cost_ns(const weft_cost *cost, uint64_t bytes)
{
    double ns = (double)cost->latency_ns + (double)cost->overhead_ns;
    /* bandwidth 0 means unlimited; 1 MB/s is one byte per 1000 ns */
    if (cost->bandwidth_mbs > 0)
        ns += (double)bytes * 1000.0 / (double)cost->bandwidth_mbs;
    return ns;
}
