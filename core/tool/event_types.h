/* Event types of MPI_T: what there is, and the texts of their elements.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TOOL_EVENT_TYPES_H
#define WF_TOOL_EVENT_TYPES_H

#include "tool/event.h"

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

#endif
