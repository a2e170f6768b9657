/* The event sources of a protocol engine besides its endpoints: the timers of
 * its ordered pairs, and the connection to the launcher.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_SOURCES_H
#define WF_PROTOCOL_SOURCES_H

struct wf_engine;
struct wf_instance;

/* Register the sources with the progress engine. */
void wf_engine_add_sources(struct wf_instance *);
/* Remove those that are registered. */
void wf_engine_remove_sources(struct wf_engine *);

#endif
