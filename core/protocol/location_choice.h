/* The transports that a route allows for one process and that reach it, and why
 * the others do not.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_LOCATION_CHOICE_H
#define WF_LOCATION_CHOICE_H

#include "process/endpoint.h"
#include "progress/progress.h"
#include "route/route.h"

struct weft_loc;

struct wf_location_choice {
    struct wf_route_end from, to;
    char from_net[512], to_net[512];
    struct wf_route_candidate candidates[WF_EPS_MAX];
    char refusal[WF_EPS_MAX][WF_REFUSAL_MAX];
    int order[WF_EPS_MAX], n;
};

/* Ask all transports about the process; keys: of the messages
 * (comm_route.h). */
void wf_location_begin_choice(struct weft_loc *, uint32_t keys,
                              struct wf_location_choice *);

/* Choose transports for messages of so many bytes: wf_route_choose. */
int wf_location_choose(struct weft_loc *, struct wf_location_choice *,
                       uint64_t size, const char **section);

/* Record that the section allows no transport that reaches the process, and
 * why. Returns WEFT_EUNREACH. */
int wf_location_fail_no_route(const struct weft_loc *,
                              const struct wf_location_choice *,
                              const char *section);

#endif
