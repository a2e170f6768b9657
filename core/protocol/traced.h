/* Events of messages in the trace of the rank (report/trace.h), and the lanes
 * of a rank that has one.
 *
 *   wf_lane.send, send_short ... --> traced.c: records --> those of the plugin,
 *                                                          order.h, checked.h
 *
 * A lane that is traced has functions and a `peer` of traced.c, as one with
 * checksums has those of checked.c: so sending costs nothing while there is no
 * trace. Messages that arrive take the slow path, which records them.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TRACED_H
#define WF_TRACED_H

#include "report/trace_note.h"
#include "route/location.h"

struct wf_p2p;

/* Add an event about a receive: its match, or that it is posted. */
void wf_trace_note_receive(const struct wf_p2p *, enum wf_trace_event,
                           const struct weft_loc *, uint64_t env1,
                           uint64_t bytes);
/* Add an event about a carrier of an ordered pair, if there is a trace. */
static inline void wf_trace_note_carrier(const struct weft_loc *loc,
                                         enum wf_trace_event event,
                                         const char *transport)
{
    if (WF_TRACING(loc->wf))
        wf_trace_note(loc->wf, event,
                      &(struct wf_trace_about){.peer = wf_trace_peer(loc),
                                               .name = transport});
}
/* Make the lanes of a Location record what they send. 0 or WEFT_ENOMEM. */
int wf_traced_wrap(struct weft_loc *);
/* Do that for a lane that is added later. */
void wf_traced_wrap_lane(struct weft_loc *, unsigned lane);
void wf_traced_free(struct weft_loc *);
/* Do this for all Locations that are connected: the engine has a trace now. On
 * WEFT_ENOMEM some lanes record; wf_traced_stop ends that. */
int wf_traced_start(struct wf_instance *);
/* Give all lanes back the functions that they had. */
void wf_traced_stop(struct wf_instance *);

#endif
