/* The lanes of messages that a route tells from others: comm_route.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/comm_route.h"

#include <stdlib.h>
#include <string.h>

#include "process/rank.h"
#include "protocol/location.h"
#include "report/error.h"
#include "route/route.h"

void wf_comm_route_decide(struct wf_comm *c)
{
    const struct wf_config *config = c->wf->rank->config;

    enum wf_route_kind own = (enum wf_route_kind)c->route_kind;

    c->route_decided = true;
    c->route_keys[0] =
        wf_route_find_keys(config, c->name, own ? own : WF_KIND_OF_PT2PT);
    c->route_keys[1] =
        wf_route_find_keys(config, c->name, own ? own : WF_KIND_OF_COLLECTIVE);
    c->routed = c->route_keys[0] || c->route_keys[1];
}

void wf_comm_route_give_kind(struct wf_comm *c, const struct wf_comm *over,
                             enum wf_route_kind kind)
{
    WF_ASSERT(!c->route_decided && kind != WF_KIND_OF_ANY);
    c->route_kind = (uint8_t)kind;
    memcpy(c->name, over->name, sizeof c->name);
}

static struct wf_lane_set *find_set(struct weft_loc *loc, uint32_t keys)
{
    struct wf_lane_set *set = loc->sets;

    while (set && set->keys != keys)
        set = set->next;
    return set;
}

static int make_set(struct weft_loc *loc, uint32_t keys,
                    struct wf_lane_set **out)
{
    struct wf_lane_set *set = calloc(1, sizeof *set);
    int r;

    if (!set)
        return wf_fail(WEFT_ENOMEM, "out of memory for a route");
    set->keys = keys;
    r = wf_location_add_set(loc, set);
    if (r != 0) {
        free(set);
        return r;
    }
    set->next = loc->sets;
    *out = loc->sets = set;
    return 0;
}

int wf_comm_route_find_lane(struct weft_loc *loc, uint32_t keys, uint64_t bytes,
                            unsigned *lane)
{
    struct wf_lane_set *set = find_set(loc, keys);
    int r = set ? 0 : make_set(loc, keys, &set);

    if (r != 0)
        return r;
    WF_ASSERT(set->n > 0 && set->n <= WF_LANES);
    *lane = set->lane[0];
    for (int i = 1; i < set->n; i++)
        if (bytes >= set->from_size[i])
            *lane = set->lane[i];
    return 0;
}

int wf_comm_route_choose_lane(struct wf_comm *c, unsigned space,
                              struct weft_loc *loc, unsigned *lane)
{
    uint32_t keys = wf_comm_route_keys(c, space);
    int r = 0;

    *lane = WF_LANE_ORDER;
    if (wf_likely(!keys))
        return 0;
    if (!loc->lanes)
        r = loc->failed ? loc->down_status : wf_location_connect(loc);
    return r == 0 ? wf_comm_route_find_lane(loc, keys, 0, lane) : r;
}

void wf_comm_route_free(struct weft_loc *loc)
{
    while (loc->sets) {
        struct wf_lane_set *set = loc->sets;
        loc->sets = set->next;
        free(set);
    }
}
