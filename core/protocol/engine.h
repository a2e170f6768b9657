/* The beginning and the end of a protocol engine.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_ENGINE_H
#define WF_PROTOCOL_ENGINE_H

#include "base.h"

struct wf_instance;

int wf_engine_init(struct wf_instance *);
void wf_engine_fini(struct wf_instance *);

#endif
