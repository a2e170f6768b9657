/* Whether the engines of a rank record events: into the file of core.trace, or
 * for a tool that observes them (report/trace.h, report/trace_note.h).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_INSTANCE_EVENTS_H
#define WF_INSTANCE_EVENTS_H

struct wf_instance;

/* Make the ring of the rank when it starts, if there is to be one. 0 or a
 * WEFT_E*. */
int wf_events_open(struct wf_instance *);
/* Let all engines of a running rank record events from now on, and let them
 * stop. Called outside the section of every engine. Start returns 0 or
 * WEFT_ENOMEM; a rank with core.trace records always. */
int wf_events_start(struct wf_instance *);
void wf_events_stop(struct wf_instance *);

#endif
