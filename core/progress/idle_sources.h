/* Idle sources: how often a waiter polls a source that takes long to poll and
 * has had no news for a while (idle_sources.c).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IDLE_SOURCES_H
#define WF_IDLE_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

struct wf_instance;

/* Poll those of these sources that are idle, take long to poll, and are due.
 * Stores in wf_progress.skipped the sources that the next rounds of such a
 * thread need not poll. waits: it sleeps soon. Returns the number of events. */
int wf_idle_sources_poll_due(struct wf_instance *, uint32_t mask, bool waits);

/* Poll all of these sources once, but ask the kernel once for all that can be
 * armed and have long been idle. Returns the number of events. */
int wf_idle_sources_poll_all(struct wf_instance *, uint32_t mask);

#endif
