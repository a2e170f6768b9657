/* Events of a rank as records of its trace: trace_note.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "report/trace_note.h"

#include "process/process.h"

_Thread_local const struct wf_event *wf_event_shown;

static void add_record(struct wf_instance *wf, enum wf_trace_event event,
                       const struct wf_trace_record *r)
{
    const struct wf_observer *o;

    WF_ASSERT(event > WF_TRACE_NONE && event < WF_TRACE_EVENTS);
    wf_trace_add(wf->trace, r, (uint8_t)event);
    /* pairs with the release of the tool */
    o = wf_load_acquire(&wf_process_state.observer);
    if (o)
        o->observe(wf, event, r);
}

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

    if (a->name)
        r.names[0] = wf_trace_name(t, a->name);
    if (a->reason)
        r.names[1] = wf_trace_name(t, a->reason);
    add_record(wf, event, &r);
}

void wf_trace_note(struct wf_instance *wf, enum wf_trace_event event,
                   const struct wf_trace_about *a)
{
    wf_trace_note_at(wf, event, a, wf_trace_ticks());
}

void wf_trace_note_collective(struct wf_instance *wf,
                              const struct wf_trace_collective *c)
{
    struct wf_trace *t = wf->trace;
    struct wf_trace_record r = {
        .ticks = wf_trace_ticks(),
        .bytes = c->bytes,
        .peer = WF_TRACE_NO_PEER,
        .tag = c->rule << 8 | wf_trace_name(t, c->reason),
        .comm = c->context & 0xffffff,
        .names = {wf_trace_name(t, c->name), wf_trace_name(t, c->algorithm)},
        .engine = (uint8_t)wf->number};

    add_record(wf, WF_TRACE_COLLECTIVE, &r);
}
