/* A world without other processes and without routes that speak of them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef NO_LOCATIONS_H
#define NO_LOCATIONS_H

#include "group/comm.h"
#include "protocol/comm_route.h"
#include "protocol/location.h"

void wf_comm_route_decide(struct wf_comm *c)
{
    c->route_decided = true;
}

int wf_comm_route_choose_lane(struct wf_comm *c, unsigned space,
                              struct weft_loc *loc, unsigned *lane)
{
    return WEFT_EUNREACH;
}

struct weft_loc *wf_location(struct wf_instance *wf, uint32_t id)
{
    return NULL;
}

int wf_location_connect(struct weft_loc *loc)
{
    return WEFT_EUNREACH;
}

#endif
