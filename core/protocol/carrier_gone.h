/* The verdict that a process whose host refuses calls has ended. See carrier.c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_CARRIER_GONE_H
#define WF_PROTOCOL_CARRIER_GONE_H

#include "base.h"

struct wf_ordered;

/* Whether the process has ended, while no carrier works and one reported so. */
bool wf_carrier_gone(struct wf_ordered *, uint64_t now);

#endif
