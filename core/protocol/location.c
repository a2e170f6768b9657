/* Locations: made on first use, connected by the route table.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/location.h"

#include <stdio.h>
#include <stdlib.h>

#include "process/rank.h"
#include "protocol/endpoints.h"
#include "boot/boot.h"
#include "config/addresses.h"
#include "config/config.h"
#include "config/nets.h"
#include "config/options.h"
#include "config/select.h"
#include "protocol/checked.h"
#include "protocol/comm_route.h"
#include "protocol/fastpath.h"
#include "protocol/location_choice.h"
#include "protocol/order.h"
#include "protocol/traced.h"
#include "report/error.h"
#include "route/card.h"
#include "route/links.h"
#include "route/route.h"

enum { ADDRESS_MAX = 1024 };

static void init_lane(struct wf_lane *l, struct weft_core *core,
                      weft_peer *peer, uint64_t from_size,
                      const struct wf_core_options *o)
{
    memset(l, 0, sizeof *l);
    l->core = core;
    l->peer = peer;
    l->from_size = from_size;
    l->fifo_tail = &l->fifo_head;
    l->max_payload = core->attr.max_payload;
    l->max_eager = core->attr.max_eager;
    if (o->eager != WF_AUTO)
        l->max_eager = o->eager > UINT32_MAX ? UINT32_MAX : (uint32_t)o->eager;
    if (l->max_eager > core->attr.max_payload)
        l->max_eager = (uint32_t)core->attr.max_payload;
    l->send = core->ops->send;
    if (!WEFT_HAS(core->ops, weft_ops, send_short))
        return;
    l->send_short = core->ops->send_short;
    if (WEFT_HAS(core->ops, weft_ops, send_words))
        l->send_words = core->ops->send_words;
    if (WEFT_HAS(core->ops, weft_ops, recv_words))
        l->recv_words = core->ops->recv_words;
    l->max_short = core->attr.max_short < l->max_eager ? core->attr.max_short
                                                       : l->max_eager;
}

struct weft_loc *wf_location(struct wf_instance *wf, uint32_t id)
{
    struct weft_loc **place = wf_links_place(wf->links, id), *loc = *place;

    if (loc)
        return loc;
    loc = calloc(1, sizeof *loc);
    if (!loc)
        return NULL;
    loc->wf = wf;
    loc->id = id;
    loc->index = id - wf_job_of(&wf->rank->job, id)->first;
    wf_credit_change(loc, (int64_t)wf->engine->credits);
    return *place = loc;
}

bool wf_location_uses(const struct weft_loc *loc, const struct weft_core *core)
{
    return loc->peers[core->index] != NULL;
}

int wf_location_attach(struct weft_loc *loc, struct weft_core *core)
{
    uint8_t address[ADDRESS_MAX];
    size_t n = sizeof address;
    int r;

    if (loc->peers[core->index])
        return 0;
    r = wf_card_fetch(loc);
    if (r == 0)
        r = wf_card_address(loc, core, address, &n);
    if (r == 0)
        r = core->ops->peer_add(core->ep, loc, loc->id, address, n,
                                &loc->peers[core->index]);
    if (r >= 0) {
        loc->wf->links->used |= 1u << core->index;
        loc->wf->links->attached++;
    }
    return r < 0 ? r : 0;
}

/* ---- route choice -------------------------------------------------------- */

/* Records that the first transport of a route has no send_short, which numbered
 * messages need. */
static int fail_to_order(const struct weft_loc *loc,
                         const struct wf_route_failover *f)
{
    return wf_fail(WEFT_ENOTSUP,
                   "rank %u (%s): its route says %s, and transport '%s' cannot "
                   "carry that: it has no send_short",
                   loc->id, loc->host,
                   f->encrypt ? "security = encrypt" : "failover = yes",
                   loc->lane[0].core->config->name);
}

/* Make the order lane use several transports, or encryption, if the route says
 * so. */
static int add_order(struct weft_loc *loc, struct wf_location_choice *c,
                     int found)
{
    struct wf_route_failover f;
    int eps[WF_EPS_MAX], n = 0, r;

    if (!wf_route_failover(loc->wf->rank->config, &c->from, &c->to,
                           c->candidates, c->n, c->order, found, &f))
        return 0;
    for (int i = 0; i < (f.several ? found : 1); i++) {
        int ep = c->candidates[c->order[i]].ep;
        if (wf_location_attach(loc, &loc->wf->links->eps[ep]) == 0)
            eps[n++] = ep;
    }
    if (!n || eps[0] != loc->lane[0].core->index)
        return f.encrypt ? fail_to_order(loc, &f) : 0;
    r = wf_order_open(loc, eps, n, &f);
    return r == WEFT_ENOTSUP ? fail_to_order(loc, &f) : r;
}

/* Add a lane for payloads from `size` on. */
static int add_lane(struct weft_loc *loc, struct wf_location_choice *c,
                    uint64_t size)
{
    struct wf_instance *wf = loc->wf;
    const char *section = "route 'default' (built in)";
    int found = wf_location_choose(loc, c, size, &section), r = WEFT_EUNREACH;

    for (int i = 0; i < found; i++) {
        struct weft_core *core = &wf->links->eps[c->candidates[c->order[i]].ep];
        if (loc->lanes && loc->lane[loc->lanes - 1].core == core)
            return 0; /* the lane before carries these sizes too */
        if (size && wf_endpoint_is_network(core) &&
            wf_route_pair_encrypts(wf->rank->config, &c->from, &c->to,
                                   c->candidates, c->n))
            return 0; /* only the order lane is ever sealed */
        r = wf_location_attach(loc, core);
        if (r != 0)
            continue;
        wf_log(wf, WF_LOG_DEBUG, "process %u: %s through '%s' (%s)", loc->id,
               size ? "bulk payload" : "messages", core->config->name, section);
        init_lane(&loc->lane[loc->lanes++], core, loc->peers[core->index], size,
                  wf->rank->options);
        return size ? 0 : add_order(loc, c, found);
    }
    if (!found)
        return wf_location_fail_no_route(loc, c, section);
    if (r == WEFT_ENOMEM)
        return wf_fail(r, "%s: no memory for the connection to rank %u (%s)",
                       section, loc->id, loc->host);
    return wf_fail(r, "%s: rank %u (%s) could not be added (error %d)", section,
                   loc->id, loc->host, r);
}

/* Add a lane for each size at which a section begins. If such a section allows
 * the pair no transport, the order lane carries these sizes, too. */
static void add_bulk_lanes(struct weft_loc *loc, struct wf_location_choice *c)
{
    uint64_t sizes[WF_LANES - 1];
    int n = wf_route_size_splits(loc->wf->rank->config, &c->from, &c->to, sizes,
                                 WF_LANES - 1);

    for (int i = 0; i < n; i++)
        add_lane(loc, c, sizes[i]);
}

/* Add checksums, if the pair's route wants them, to every network transport
 * that has no end-to-end check of its own. */
static int add_checks(struct weft_loc *loc, struct wf_location_choice *c)
{
    uint32_t endpoints = 0;
    int r;

    for (int i = 0; i < c->n; i++)
        if (c->candidates[i].network &&
            !(c->candidates[i].caps & WEFT_CAP_INTACT))
            endpoints |= 1u << i;
    if (!endpoints || !wf_route_pair_checks(loc->wf->rank->config, &c->from,
                                            &c->to, c->candidates, c->n))
        return 0;
    r = wf_checks_require(loc, endpoints);
    for (unsigned i = 0; r == 0 && i < loc->lanes; i++)
        wf_checks_wrap(loc, &loc->lane[i]);
    return r;
}

static int connect_self(struct weft_loc *loc)
{
    struct weft_core *core = loc->wf->links->eps; /* wf_endpoints_open: self */
    int r = wf_location_attach(loc, core);

    if (r != 0)
        return r;
    init_lane(&loc->lane[0], core, loc->peers[0], 0, loc->wf->rank->options);
    loc->lanes = 1;
    loc->plain = true;
    return 0;
}

/* Make the lanes record what they send. */
static int add_trace(struct weft_loc *loc)
{
    struct wf_trace_about a = {.peer = wf_trace_peer(loc),
                               .name = loc->lane[0].core->config->name};

    wf_trace_note(loc->wf, WF_TRACE_CONNECT, &a);
    return wf_traced_wrap(loc);
}

static int connect_other(struct weft_loc *loc)
{
    struct wf_location_choice c;
    int r;

    wf_location_begin_choice(loc, 0, &c);
    r = add_lane(loc, &c, 0);
    if (r != 0)
        loc->lanes = 0; /* an incomplete connection must not be used */
    else if (!loc->order)
        add_bulk_lanes(loc, &c);
    if (!loc->order && add_checks(loc, &c) != 0) {
        loc->lanes = 0;
        r = WEFT_ENOMEM;
    }
    loc->plain = loc->lanes && !loc->order && !loc->checks;
    return r;
}

int wf_location_connect(struct weft_loc *loc)
{
    int r = wf_card_fetch(loc);

    WF_ASSERT(!loc->lanes && !loc->failed);
    if (r != 0)
        return r;
    r = loc->id == loc->wf->rank->id ? connect_self(loc) : connect_other(loc);
    if (r == 0 && WF_TRACING(loc->wf) && (r = add_trace(loc)) != 0)
        loc->lanes = 0;
    wf_fastpath_prepare_lane(loc);
    return r;
}

/* ---- messages with keys -------------------------------------------------- */

/* Find the lane through an endpoint, or add one, which no message takes by its
 * size. -1: it cannot be added. */
static int lane_through(struct weft_loc *loc, struct weft_core *core)
{
    struct wf_lane *l = &loc->lane[loc->lanes];

    for (int i = 0; i < loc->lanes; i++)
        if (loc->lane[i].core == core)
            return i;
    if (loc->lanes == WF_LANES || wf_location_attach(loc, core) != 0)
        return -1;
    init_lane(l, core, loc->peers[core->index], UINT64_MAX,
              loc->wf->rank->options);
    if (loc->checks)
        wf_checks_wrap(loc, l);
    if (loc->traced)
        wf_traced_wrap_lane(loc, loc->lanes);
    return loc->lanes++;
}

/* Add the lane of payloads of `size` bytes and more to the set. */
static int add_to_set(struct weft_loc *loc, struct wf_location_choice *c,
                      uint64_t size, struct wf_lane_set *set)
{
    const char *section = "";
    int found = wf_location_choose(loc, c, size, &section), lane = -1;

    for (int i = 0; i < found && lane < 0; i++)
        lane = lane_through(
            loc, &loc->wf->links->eps[c->candidates[c->order[i]].ep]);
    if (lane < 0 && !size)
        return wf_location_fail_no_route(loc, c, section);
    if (lane < 0 || (set->n && set->lane[set->n - 1] == lane))
        return 0; /* the lane before carries these sizes, too */
    wf_log(loc->wf, WF_LOG_DEBUG,
           "process %u: messages with keys %x of %llu "
           "bytes and more through '%s' (%s)",
           loc->id, set->keys, (unsigned long long)size,
           loc->lane[lane].core->config->name, section);
    set->from_size[set->n] = size;
    set->lane[set->n++] = (uint8_t)lane;
    return 0;
}

int wf_location_add_set(struct weft_loc *loc, struct wf_lane_set *set)
{
    uint64_t sizes[WF_LANES - 1];
    struct wf_location_choice c;
    int n, r;

    set->n = 1; /* the order lane, where there is no choice */
    if (loc->order || loc->id == loc->wf->rank->id)
        return 0;
    set->n = 0;
    wf_location_begin_choice(loc, set->keys, &c);
    n = wf_route_size_splits(loc->wf->rank->config, &c.from, &c.to, sizes,
                             WF_LANES - 1);
    r = add_to_set(loc, &c, 0, set);
    for (int i = 0; r == 0 && i < n; i++)
        r = add_to_set(loc, &c, sizes[i], set);
    return r;
}

static void free_location(struct weft_loc *loc)
{
    wf_card_release(loc);
    free(loc->down_reason);
    wf_order_free(loc->order);
    wf_checks_free(loc);
    wf_traced_free(loc);
    wf_comm_route_free(loc);
    free(loc);
}

void wf_location_forget(struct weft_loc *loc)
{
    *wf_links_place(loc->wf->links, loc->id) = NULL;
    free_location(loc);
}

void wf_locations_free(struct wf_instance *wf)
{
    struct weft_loc *loc;

    for (uint32_t at = 0; (loc = wf_links_next(wf->links, &at));)
        free_location(loc);
}
