/* The beginning and the end of a protocol engine.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_ENGINE_H
#define WF_PROTOCOL_ENGINE_H

#include "base.h"

struct wf_instance;
struct wf_list;

int wf_engine_init(struct wf_instance *);
void wf_engine_fini(struct wf_instance *);

/* Keep memory to which a late message may still go though its request is gone.
 * It begins with the link, and is freed when the engine ends unless the link
 * was removed before. */
void wf_engine_keep_orphan(struct wf_instance *, struct wf_list *);

#endif
