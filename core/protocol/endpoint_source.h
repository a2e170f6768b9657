/* An endpoint as an event source of the progress engine.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_ENDPOINT_SOURCE_H
#define WF_PROTOCOL_ENDPOINT_SOURCE_H

#include <stdbool.h>

struct weft_core;

/* Whether the plugin announces its news by a descriptor. Its functions are
 * known; it need not be open. */
bool wf_endpoint_has_descriptor(const struct weft_core *);

/* Register an open endpoint, whose attributes are known, with the progress
 * engine. 0 or WEFT_ESYS, then with the reason in c->refusal. */
int wf_endpoint_add_source(struct weft_core *);

#endif
