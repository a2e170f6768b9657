/* The time of the next maintenance round of the ordered pairs. See carrier.c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CARRIER_DEADLINE_H
#define WF_CARRIER_DEADLINE_H

#include "base.h"

struct wf_instance;

/* An acknowledgement is owed at most so long. */
enum { WF_CARRIER_ACK_NS = 1000000 };

/* When the next round is due; 0: never. */
uint64_t wf_orders_deadline(struct wf_instance *);

#endif
