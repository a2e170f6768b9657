/* Event sources and waits for flags in the place of the library's, for tests
 * whose ranks never sleep.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef NO_SOURCES_H
#define NO_SOURCES_H

#include "progress/source.h"
#include "protocol/failure.h"

int wf_source_add(struct wf_instance *wf, struct wf_event_source *s, int bit)
{
    return 0;
}

void wf_source_count_arrivals(struct wf_instance *wf,
                              const struct wf_event_source *s,
                              const uint64_t *count)
{
}

void wf_source_remove(struct wf_instance *wf, struct wf_event_source *s)
{
}

void wf_flag_wait_begin(struct wf_instance *wf, struct wf_flag_wait *wait)
{
}

void wf_flag_wait_end(struct wf_instance *wf, struct wf_flag_wait *wait)
{
}

#endif
