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

/* ---- event_types.c */

/* Returns the type with this index, or NULL. */
const struct wf_event_type *wf_event_type_at(int index);
/* Returns the number of bytes of an element of this type. */
int wf_event_element_bytes(MPI_Datatype);
/* Returns the number of a text among the items of the enumeration. */
int wf_event_text_number(const char *text);
/* Returns the text with this number, or NULL. */
const char *wf_event_text(int number);
int wf_event_count_texts(void);
/* The enumeration of the texts. */
MPI_T_enum wf_event_text_enum(void);

/* ---- event_delivery.c */

struct wf_event_registration;
struct wf_info; /* object/info.h */

/* Create a registration, and let the calling rank (NULL: none is there yet)
 * record events. MPI_SUCCESS or an MPI_T_ERR_*. */
int wf_event_register(struct wf_instance *, int type,
                      MPI_T_event_registration *out);
/* Returns the registration of a handle, or NULL. */
struct wf_event_registration *
    wf_event_registration_of(MPI_T_event_registration);
/* End a registration: on_end is called once none of its callbacks runs. */
void wf_event_unregister(struct wf_instance *, struct wf_event_registration *,
                         void *user_data, MPI_T_event_free_cb_function *on_end);
/* End all of them. */
void wf_event_unregister_all(struct wf_instance *);
/* Set the callback of a safety level; false: there is no such level. */
bool wf_event_set_callback(struct wf_event_registration *, MPI_T_cb_safety,
                           void *user_data, MPI_T_event_cb_function *);
bool wf_event_has_callback(struct wf_event_registration *, MPI_T_cb_safety);
/* Keep hints of the registration, or, with a level, of that callback: no hint
 * has a meaning yet, but the program can ask for them. Returns false: no
 * memory. */
bool wf_event_add_hints(struct wf_event_registration *, const MPI_T_cb_safety *,
                        const struct wf_info *);
/* Returns a copy of the hints, which is the caller's; NULL: no memory. */
struct wf_info *wf_event_copy_hints(struct wf_event_registration *,
                                    const MPI_T_cb_safety *);
void wf_event_set_dropped(struct wf_event_registration *,
                          MPI_T_event_dropped_cb_function *);
/* Returns the event whose callback the calling thread runs, if this is its
 * handle; or NULL. */
const struct wf_event *wf_event_of(MPI_T_event_instance);

#endif
