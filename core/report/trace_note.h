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

/* A tool that sees each event of the process' ranks that record events, with
 * its record (tool/event_delivery.c). It is called inside the section of the
 * engine, and calls nothing that enters one. */
struct wf_observer {
    void (*observe)(struct wf_instance *, enum wf_trace_event,
                    const struct wf_trace_record *);
};
/* The event that the thread shows to the tool, or NULL. While there is one the
 * thread is inside a section. */
extern _Thread_local const struct wf_event *wf_event_shown;

/* Add an event; only where WF_TRACING is true. */
void wf_trace_note(struct wf_instance *, enum wf_trace_event,
                   const struct wf_trace_about *);
/* The same with a time of the caller's, of wf_trace_ticks. */
void wf_trace_note_at(struct wf_instance *, enum wf_trace_event,
                      const struct wf_trace_about *, uint64_t ticks);

/* A collective that begins: the algorithm, and why this one. The texts are
 * never freed. */
struct wf_trace_collective {
    const char *name, *algorithm, *reason;
    int rule; /* its place among the rules of that reason; 0: none */
    uint32_t context;
    uint64_t bytes;
};
void wf_trace_note_collective(struct wf_instance *,
                              const struct wf_trace_collective *);

#endif
