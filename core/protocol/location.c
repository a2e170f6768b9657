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
#include "protocol/fastpath.h"
#include "protocol/order.h"
#include "protocol/traced.h"
#include "report/error.h"
#include "route/card.h"
#include "route/links.h"
#include "route/route.h"

enum { ADDRESS_MAX = 1024, NET_MAX = 512 };

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
    struct weft_loc *loc = wf->links->locs[id];

    if (loc)
        return loc;
    loc = calloc(1, sizeof *loc);
    if (!loc)
        return NULL;
    loc->wf = wf;
    loc->id = id;
    wf_credit_change(loc, (int64_t)wf->engine->credits);
    return wf->links->locs[id] = loc;
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

/* Whether the transport reaches the own process only, and the peer is another
 * one. */
static bool is_self_only(const struct weft_loc *loc,
                         const struct weft_core *core)
{
    return core->attr.caps & WEFT_CAP_SELF && loc->id != loc->wf->rank->id &&
           !(core->attr.caps & (WEFT_CAP_LOCAL | WEFT_CAP_REMOTE));
}

static const char *unreachable_reason(const struct weft_loc *loc,
                                      const struct weft_core *core)
{
    if (is_self_only(loc, core))
        return "another process";
    if (loc->node != loc->wf->rank->node &&
        !(core->attr.caps & WEFT_CAP_REMOTE))
        return "other node";
    return "no common address";
}

struct choice {
    struct wf_route_end from, to;
    char from_net[NET_MAX], to_net[NET_MAX];
    struct wf_route_candidate candidates[WF_EPS_MAX];
    char refusal[WF_EPS_MAX][WF_REFUSAL_MAX];
    int order[WF_EPS_MAX], n;
};

/* Ask the plugin whether it reaches an address. The text that it logs meanwhile
 * becomes the reason why it does not. */
static bool ask_reach(struct weft_core *core, const void *address, size_t n,
                      weft_cost *cost, char *refusal)
{
    int r;

    refusal[0] = 0;
    core->refusal = refusal;
    r = core->ops->reach(core->ep, address, n, cost);
    core->refusal = NULL;
    return r == WEFT_OK;
}

/* The reason why mpi.ini gives a peer no address for a transport. */
static const char *unaddressed_reason(const struct weft_loc *loc,
                                      const struct weft_core *core)
{
    const struct wf_rank *rank = loc->wf->rank;

    if (is_self_only(loc, core))
        return unreachable_reason(loc, core);
    if (!rank->boot->is_static)
        return "the peer has no address for it";
    if (WEFT_HAS(core->ops, weft_ops, addr_derive))
        return wf_card_has_seeds(rank) ? "other host"
                                       : "not every rank has a host in mpi.ini";
    return WEFT_HAS(core->ops, weft_ops, addr_parse)
               ? "the peer has no address for it"
               : "it takes no address from mpi.ini";
}

/* The reason why there is no address: none was given, or the text of mpi.ini is
 * not one. */
static const char *missing_address_reason(const struct weft_loc *loc,
                                          const struct weft_core *core,
                                          char room[static WF_REFUSAL_MAX])
{
    const char *where, *text = NULL;

    if (!loc->card && WEFT_HAS(core->ops, weft_ops, addr_parse))
        text = wf_config_address(loc->wf->rank->config, loc->id,
                                 core->config->name, &where);
    if (!text)
        return unaddressed_reason(loc, core);
    snprintf(room, WF_REFUSAL_MAX,
             "%s: '%s' is no numeric address, and no name of /etc/hosts", where,
             text);
    return room;
}

/* Fill in the candidate for an endpoint: whether it reaches the peer, or why
 * not. Append its addresses to the lists of both ends. */
static void evaluate_candidate(struct weft_loc *loc, struct weft_core *core,
                               struct choice *choice)
{
    struct wf_route_candidate *c = &choice->candidates[core->index];
    char *refusal = choice->refusal[core->index];
    uint8_t address[ADDRESS_MAX];
    size_t n = sizeof address;

    *c = (struct wf_route_candidate){.transport = core->config->name,
                                     .ep = core->index,
                                     .network = wf_endpoint_is_network(core),
                                     .caps = core->attr.caps,
                                     .cost = core->attr.cost};
    if (wf_card_address(loc, core, address, &n) != 0)
        c->why_not = missing_address_reason(loc, core, refusal);
    else if (!ask_reach(core, address, n, &c->cost, refusal))
        c->why_not = refusal[0] ? refusal : unreachable_reason(loc, core);
    else
        c->reaches = true;
    wf_config_cost(loc->wf->rank->config, core->config, &c->cost);
    wf_nets_add(core, core->address, core->address_len, choice->from_net,
                sizeof choice->from_net);
    if (n < sizeof address)
        wf_nets_add(core, address, n, choice->to_net, sizeof choice->to_net);
}

/* Whether a route may use the transport but it could not be opened at start. */
static bool is_missing(const struct wf_config *config,
                       const struct wf_transport_config *t,
                       const struct wf_route_candidate *c, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(c[i].transport, t->name) == 0)
            return false;
    return t->enable != 0 && wf_route_may_use(config, t->name);
}

static const char *left_out_reason(const struct wf_instance *wf,
                                   const struct wf_transport_config *t)
{
    const struct wf_left_out *l = wf->links->left_out;

    while (l && l->transport && l->transport != t)
        l++;
    if (l && l->transport && (l->why || l->error == WEFT_ENOMEM))
        return l->why ? l->why : "no memory";
    return "WEFT_LOG=info says why";
}

static int fail_no_route(const struct weft_loc *loc,
                         const struct wf_route_candidate *c, int n,
                         const char *section)
{
    const struct wf_config *config = loc->wf->rank->config;
    const struct wf_transport_config *all;
    int transports = wf_config_transports(config, &all);
    char text[400];
    size_t used = 0;

    text[0] = 0;
    for (int i = 0; i < n && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s: %s",
                                 i ? "; " : "", c[i].transport,
                                 c[i].reaches ? "not allowed by this route"
                                              : c[i].why_not);
    for (int t = 0; t < transports && used < sizeof text; t++)
        if (is_missing(config, &all[t], c, n))
            used += (size_t)snprintf(text + used, sizeof text - used,
                                     "; %s: is not open: %s", all[t].name,
                                     left_out_reason(loc->wf, &all[t]));
    return wf_fail(WEFT_EUNREACH,
                   "%s: no transport reaches rank %u (%s) from rank %u (%s): "
                   "%s",
                   section, loc->id, loc->host, loc->wf->rank->id,
                   loc->wf->rank->host, text);
}

static int choose_endpoints(struct weft_loc *loc, struct choice *c,
                            uint64_t size, const char **section)
{
    return wf_route_choose(loc->wf->rank->config, &c->from, &c->to, size,
                           c->candidates, c->n, c->order, section);
}

static int fail_cannot_encrypt(const struct weft_loc *loc)
{
    return wf_fail(WEFT_ENOTSUP,
                   "rank %u (%s): its route says security = encrypt, and "
                   "transport '%s' cannot carry that",
                   loc->id, loc->host, loc->lane[0].core->config->name);
}

/* Make the order lane use several transports, or encryption, if the route says
 * so. */
static int add_order(struct weft_loc *loc, struct choice *c, int found)
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
        return f.encrypt ? fail_cannot_encrypt(loc) : 0;
    r = wf_order_open(loc, eps, n, &f);
    return r == WEFT_ENOTSUP && f.encrypt ? fail_cannot_encrypt(loc) : r;
}

/* Add a lane for payloads from `size` on. */
static int add_lane(struct weft_loc *loc, struct choice *c, uint64_t size)
{
    struct wf_instance *wf = loc->wf;
    const char *section = "route 'default' (built in)";
    int found = choose_endpoints(loc, c, size, &section), r = WEFT_EUNREACH;

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
        return fail_no_route(loc, c->candidates, c->n, section);
    if (r == WEFT_ENOMEM)
        return wf_fail(r, "%s: no memory for the connection to rank %u (%s)",
                       section, loc->id, loc->host);
    return wf_fail(r, "%s: rank %u (%s) could not be added (error %d)", section,
                   loc->id, loc->host, r);
}

/* Add a lane for each size at which a section begins. If such a section allows
 * the pair no transport, the order lane carries these sizes, too. */
static void add_bulk_lanes(struct weft_loc *loc, struct choice *c)
{
    uint64_t sizes[WF_LANES - 1];
    int n = wf_route_size_splits(loc->wf->rank->config, &c->from, &c->to, sizes,
                                 WF_LANES - 1);

    for (int i = 0; i < n; i++)
        add_lane(loc, c, sizes[i]);
}

/* Add checksums, if the pair's route wants them, to every network transport
 * that has no end-to-end check of its own. */
static int add_checks(struct weft_loc *loc, struct choice *c)
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
    struct wf_instance *wf = loc->wf;
    struct wf_links *links = wf->links;
    struct choice c = {.n = links->ep_count};
    int r;

    c.from = (struct wf_route_end){wf->rank->id, wf->rank->host, c.from_net,
                                   wf->rank->node};
    c.to = (struct wf_route_end){loc->id, loc->host, c.to_net, loc->node};
    for (int i = 0; i < links->ep_count; i++)
        evaluate_candidate(loc, &links->eps[i], &c);
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

static void free_location(struct weft_loc *loc)
{
    free(loc->host);
    free(loc->card);
    free(loc->down_reason);
    wf_order_free(loc->order);
    wf_checks_free(loc);
    wf_traced_free(loc);
    free(loc);
}

void wf_locations_free(struct wf_instance *wf)
{
    for (uint32_t i = 0; i < wf->rank->nprocs; i++)
        if (wf->links->locs[i])
            free_location(wf->links->locs[i]);
}
