/* Event sources in the place of the library's, for tests whose ranks never
 * sleep.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef NO_SOURCES_H
#define NO_SOURCES_H

#include "progress/source.h"

int wf_source_add(struct wf_instance *wf, struct wf_event_source *s, int bit)
{
    return 0;
}

void wf_source_remove(struct wf_instance *wf, struct wf_event_source *s)
{
}

#endif
