/* Events of a rank as records of its trace: trace_note.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "report/trace_note.h"


void wf_trace_note_at(struct wf_instance *wf, enum wf_trace_event event,
                      const struct wf_trace_about *a, uint64_t ticks)
{
    struct wf_trace *t = wf->trace;
    struct wf_trace_record r = {.ticks = ticks,
                                .bytes = a->bytes,
                                .peer = a->peer ? (int32_t)*a->peer
                                                : WF_TRACE_NO_PEER,
                                .tag = (int32_t)(uint32_t)a->env1,
                                .comm = (uint32_t)(a->env0 >> 32),
                                .engine = (uint8_t)wf->number};

    WF_ASSERT(event > WF_TRACE_NONE && event < WF_TRACE_EVENTS);
    if (a->name)
        r.names[0] = wf_trace_name(t, a->name);
    if (a->reason)
        r.names[1] = wf_trace_name(t, a->reason);
    wf_trace_add(t, &r, (uint8_t)event);
}

void wf_trace_note(struct wf_instance *wf, enum wf_trace_event event,
                   const struct wf_trace_about *a)
{
    wf_trace_note_at(wf, event, a, wf_trace_ticks());
}
