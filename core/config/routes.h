/* Turning [route] sections into rules, which route.c evaluates.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CONFIG_ROUTES_H
#define WF_CONFIG_ROUTES_H

#include "base.h"

struct wf_config;

/* Read the [route] sections into c->routes. */
void wf_routes_build(struct wf_config *);

/* Replace all rules by one that uses the transports of WEFT_ROUTE. */
void wf_routes_force(struct wf_config *, const char *list);

#endif
