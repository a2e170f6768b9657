/* Counts of what went through the endpoints, and of how messages came: for
 * core.stats and MPI_T.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TRAFFIC_H
#define WF_TRAFFIC_H

#include "process/endpoint.h"

/* Add the traffic of an endpoint. Its sent counts are the sums over its lanes,
 * or over the carriers of pairs with failover. */
void wf_traffic_add(const struct weft_core *, struct wf_traffic *);

/* Keep the counts of what was sent to a process that is about to be forgotten.
 */
void wf_traffic_keep(struct weft_loc *);

/* Returns how many messages came whole and went straight into a receive. */
uint64_t wf_traffic_count_direct(const struct wf_instance *);

/* Returns a counter of a transport's plugin; 0: it has none of that name. */
uint64_t wf_traffic_plugin_count(const struct weft_core *, const char *name);

/* Print the traffic of the rank to stderr if core.stats is set. */
void wf_traffic_report(struct wf_instance *);

#endif
