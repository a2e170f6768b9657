/* Events of a rank, in the terms of the engine: see trace.h for the ring.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TRACE_NOTE_H
#define WF_TRACE_NOTE_H

#include "process/instance.h"
#include "report/trace.h"

/* The subject of an event; everything else of its record is 0. */
struct wf_trace_about {
    const uint32_t *peer; /* rank in the job of the other process, or NULL */
    uint64_t env0, env1;  /* group/envelope.h; or 0 */
    uint64_t bytes;
    const char *name, *reason; /* texts that are never freed, or NULL */
};

/* Add an event; only where WF_TRACING is true. */
void wf_trace_note(struct wf_instance *, enum wf_trace_event,
                   const struct wf_trace_about *);
/* The same with a time of the caller's, of wf_trace_ticks. */
void wf_trace_note_at(struct wf_instance *, enum wf_trace_event,
                      const struct wf_trace_about *, uint64_t ticks);

#endif
