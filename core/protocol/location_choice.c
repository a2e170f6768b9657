/* The transports that a route allows for one process and that reach it, and why
 * the others do not.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/location_choice.h"

#include <stdio.h>

#include "boot/boot.h"
#include "config/addresses.h"
#include "config/config.h"
#include "config/nets.h"
#include "config/options.h"
#include "process/rank.h"
#include "protocol/endpoints.h"
#include "report/error.h"
#include "route/card.h"
#include "route/links.h"
#include "route/location.h"

enum { ADDRESS_MAX = 1024 };

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
                               struct wf_location_choice *choice)
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
    else if (is_self_only(loc, core) ||
             !ask_reach(core, address, n, &c->cost, refusal))
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

int wf_location_fail_no_route(const struct weft_loc *loc,
                              const struct wf_location_choice *choice,
                              const char *section)
{
    const struct wf_route_candidate *c = choice->candidates;
    int n = choice->n;
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
                   "%s: no transport reaches rank %u%s (%s) from rank %u (%s): "
                   "%s",
                   section, loc->index,
                   choice->to.job == choice->from.job ? "" : " of another job",
                   loc->host, loc->wf->rank->id, loc->wf->rank->host, text);
}

int wf_location_choose(struct weft_loc *loc, struct wf_location_choice *c,
                       uint64_t size, const char **section)
{
    return wf_route_choose(loc->wf->rank->config, &c->from, &c->to, size,
                           c->candidates, c->n, c->order, section);
}

void wf_location_begin_choice(struct weft_loc *loc, uint32_t keys,
                              struct wf_location_choice *c)
{
    struct wf_links *links = loc->wf->links;
    const struct wf_rank *rank = loc->wf->rank;

    *c = (struct wf_location_choice){.n = links->ep_count};
    c->from = (struct wf_route_end){rank->id,   rank->host, c->from_net,
                                    rank->node, keys,       rank->job.first};
    c->to = (struct wf_route_end){
        loc->index, loc->host, c->to_net,
        loc->node,  keys,      wf_job_of(&rank->job, loc->id)->first};
    for (int i = 0; i < links->ep_count; i++)
        evaluate_candidate(loc, &links->eps[i], c);
}
