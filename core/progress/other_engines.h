/* Polling of engines beside the one that a thread waits in: see engines.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROGRESS_OTHER_ENGINES_H
#define WF_PROGRESS_OTHER_ENGINES_H

#include "base.h"

struct wf_instance;

void wf_other_engines_poll(struct wf_instance *);
int wf_other_engines_sleep(struct wf_instance *, int timeout);

#endif
