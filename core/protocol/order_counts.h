/* Counts of what happened to the ordered pairs of a process: see order.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_ORDER_COUNTS_H
#define WF_PROTOCOL_ORDER_COUNTS_H

#include "base.h"
#include "protocol/order.h"

struct weft_core;
struct wf_instance;
struct wf_ordered;
struct wf_traffic;

/* The sum of a count over all pairs. */
uint64_t wf_orders_count(const struct wf_instance *, enum wf_order_count);

/* Add what the pair has sent through an endpoint. */
void wf_order_add_traffic(const struct wf_ordered *, const struct weft_core *,
                          struct wf_traffic *);

/* Print a line of counts to stderr if core.stats is set. */
void wf_orders_report(const struct wf_instance *);

#endif
