/* This file judges which transports reach from one rank to another, as the job
 * would by its bootstrap: under a launcher, which passes addresses on, or in a
 * static start, where the configuration has to say them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info.h"

#include "config/addresses.h"

bool info_has_hosts(const struct wf_config *config)
{
    uint32_t n = wf_config_ranks(config), r = 0;
    while (r < n && wf_config_host(config, r) != NULL)
        r++;
    return n > 0 && r == n;
}

static const char *other_kind_of_peer(const struct info_transport *t, bool self,
                                      bool local)
{
    if (self)
        return "does not reach the own process";
    if (!(t->attr.caps & (WEFT_CAP_LOCAL | WEFT_CAP_REMOTE)))
        return "reaches only the own process";
    return local ? "reaches only other nodes" : "other node";
}

/* Explain why a static start has no address of the peer; NULL: it has one. */
static const char *lacking_address(const struct info *info,
                                   const struct info_transport *t,
                                   const struct info_pair *pair)
{
    const weft_ops *ops = t->plugin != NULL ? t->plugin->ops : NULL;
    bool parses = ops != NULL && WEFT_HAS(ops, weft_ops, addr_parse);
    bool derives = ops != NULL && WEFT_HAS(ops, weft_ops, addr_derive);
    if (parses && wf_config_address(info->config, pair->to->rank,
                                    t->config->name, NULL) != NULL)
        return NULL;
    if (derives && pair->hosts_known && pair->from->node == pair->to->node)
        return NULL;
    if (derives)
        return pair->hosts_known ? "other host"
                                 : "not every rank has a host in [rank]";
    return parses ? "[rank] and [host] give the receiver no address for it"
                  : "it takes no address from the configuration: it needs a "
                    "launcher";
}

void info_judge(const struct info *info, const struct info_transport *t,
                const struct info_pair *pair, struct wf_route_candidate *c)
{
    bool self = wf_route_is_self(pair->from, pair->to);
    bool local = pair->from->node == pair->to->node;
    uint32_t need = self    ? WEFT_CAP_SELF
                    : local ? WEFT_CAP_LOCAL
                            : WEFT_CAP_REMOTE;
    c->transport = t->config->name;
    c->caps = t->attr.caps;
    c->cost = t->attr.cost;
    c->network = (t->attr.caps & WEFT_CAP_REMOTE) != 0;
    c->why_not = NULL;
    if (pair->probed && !t->usable)
        c->why_not = t->why;
    else if (t->config->enable == 0)
        c->why_not = "enable = no";
    else if (pair->probed && !(t->attr.caps & need))
        c->why_not = other_kind_of_peer(t, self, local);
    else if (pair->is_static && !self)
        c->why_not = lacking_address(info, t, pair);
    c->reaches = c->why_not == NULL;
}
