/* Making locations (route/location.h), and connecting them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_LOCATION_H
#define WF_LOCATION_H

#include "route/location.h"

/* The location of a process, made on first use; NULL: out of memory. */
struct weft_loc *wf_location(struct wf_instance *, uint32_t id);
/* Choose the routes to a peer and add it to their endpoints. 0 or WEFT_E*, with
 * the cause recorded by wf_error; for WEFT_EUNREACH it names every rejected
 * transport. */
int wf_location_connect(struct weft_loc *);
/* Add the peer to an endpoint, unless it is there already. Plugins ask for this
 * through weft_host.locate when a peer calls first. 0 or WEFT_E*. */
int wf_location_attach(struct weft_loc *, struct weft_core *);
/* Free a location that nothing refers to any more: its peers are deleted, and
 * no message of it is kept. */
void wf_location_forget(struct weft_loc *);
/* Whether the peer was added to this endpoint. */
bool wf_location_uses(const struct weft_loc *, const struct weft_core *);
void wf_locations_free(struct wf_instance *);

/* Find the lanes of messages with the keys of the set (comm_route.h), and add
 * those that are lacking. 0 or a failure, as recorded. */
struct wf_lane_set;
int wf_location_add_set(struct weft_loc *, struct wf_lane_set *);

#endif
