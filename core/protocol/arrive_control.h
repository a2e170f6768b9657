/* Control messages that arrive: answers to sends, and what has no payload.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_ARRIVE_CONTROL_H
#define WF_PROTOCOL_ARRIVE_CONTROL_H

#include "base.h"

struct weft_loc;
struct wf_wire;

/* Handle any message but EAGER, NOTIFY and TRANSFER: WEFT_DONE. One of an
 * unknown type, or about a send that is not pending, is logged and skipped. */
int wf_arrive_control(struct weft_loc *from, const struct wf_wire *);

#endif
