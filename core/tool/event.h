/* Events of MPI_T (MPI-5.0 s15.3.8): each event that a trace records
 * (report/trace_events.def) is an event type, with the same meaning.
 *
 *   event_types.c      what there is: names, elements, the one source
 *   event_delivery.c   registrations, and the calls of their callbacks
 *   event.c            the functions of MPI_T
 *
 * DESIGN  A rank records events while a tool has registrations, which closes
 * its fast path (instance/events.h); otherwise they cost nothing. Callbacks are
 * called where the event happens, inside the section of the engine. So they may
 * call what reads the event, and the other functions of MPI_T that change
 * nothing in MPI: the safety level is MPI_T_CB_REQUIRE_MPI_RESTRICTED, or
 * MPI_T_CB_REQUIRE_THREAD_SAFE while other threads may be inside MPI. An event
 * for which a registration has no callback of that level is dropped.
 *
 * An element takes 8 bytes of an event's copy, whatever its datatype. Texts are
 * items of one enumeration, which grows: wf_event_text_number.
 *
 * LOCK  Sections events and texts; none is held while a callback runs.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TOOL_EVENT_H
#define WF_TOOL_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "mpi.h"
#include "report/trace.h"

enum {
    WF_EVENT_TYPES = WF_TRACE_EVENTS - 1,
    WF_EVENT_ELEMENTS_MAX = 6,
    WF_EVENT_ELEMENT_BYTES = 8
};

struct wf_event_type {
    const char *name, *help;
    const struct wf_event_shape *shape;
};

/* The elements of an event, and how a record fills them. */
struct wf_event_shape {
    int count;
    MPI_Datatype types[WF_EVENT_ELEMENTS_MAX];
    bool has_texts; /* elements of type MPI_INT are items of the enumeration */
    void (*fill)(const struct wf_trace *, const struct wf_trace_record *,
                 uint64_t elements[WF_EVENT_ELEMENTS_MAX]);
};

/* An event while its callbacks run. */
struct wf_event {
    int type;
    MPI_Count time; /* ns of the monotonic clock */
    uint64_t elements[WF_EVENT_ELEMENTS_MAX];
};

#endif
