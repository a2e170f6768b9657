/* Registrations for events of MPI_T, and the calls of their callbacks.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TOOL_EVENT_DELIVERY_H
#define WF_TOOL_EVENT_DELIVERY_H

#include "tool/event.h"

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
