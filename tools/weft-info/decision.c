/* This file decides for a pair of processes: see decision.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "decision.h"

#include <stdlib.h>
#include <string.h>

#include "boot/boot.h"
#include "config/addresses.h"
#include "config/value.h"
#include "os/node.h"

/* Parse "3" or "3@host". The ranks of mpi.ini are those of the own job. */
static bool end_parse(const struct info *info, const char *text, size_t n,
                      bool other_job, struct info_end *end)
{
    const char *at = memchr(text, '@', n), *host;
    size_t digits = at != NULL ? (size_t)(at - text) : n;
    struct wf_range rank;
    memset(end, 0, sizeof *end);
    if (!wf_value_range(text, digits, &rank) || rank.lo != rank.hi ||
        rank.lo > INT32_MAX)
        return false;
    end->facts.rank = (uint32_t)rank.lo;
    end->facts.job = other_job;
    host = other_job ? NULL : wf_config_host(info->config, end->facts.rank);
    end->told = at != NULL;
    end->here = at == NULL && host == NULL;
    if (at != NULL)
        snprintf(end->host, sizeof end->host, "%.*s", (int)(n - digits - 1),
                 at + 1);
    else if (host != NULL)
        snprintf(end->host, sizeof end->host, "%s", host);
    else
        wf_node_name(end->host, sizeof end->host);
    end->named = other_job ||
                 (end->told && (host == NULL || strcmp(host, end->host) != 0));
    end->facts.host = end->host;
    end->facts.net = end->net;
    return end->host[0] != '\0';
}

bool info_decision_parse(const struct info *info, const char *pair,
                         bool other_job, struct info_decision *d)
{
    const char *arrow = strstr(pair, "->");
    if (arrow == NULL ||
        !end_parse(info, pair, (size_t)(arrow - pair), false, &d->from) ||
        !end_parse(info, arrow + 2, strlen(arrow + 2), other_job, &d->to))
        return false;
    info_end_addresses(info, &d->from);
    info_end_addresses(info, &d->to);
    d->to.facts.node = strcmp(d->from.host, d->to.host) != 0;
    d->plan = info_is_elsewhere(&d->from, &d->to);
    return true;
}

static void candidate_judge(const struct info *info, struct info_decision *d,
                            int i)
{
    struct wf_route_candidate *c = &d->candidate[i];
    struct info_pair pair = {.from = &d->from.facts,
                             .to = &d->to.facts,
                             .is_static = wf_boot_is_static(info->config) &&
                                          !d->to.named,
                             .hosts_known = (d->from.told && d->to.told) ||
                                            info_has_hosts(info->config),
                             .probed = true};
    info_judge(info, &info->transport[i], &pair, c);
    if (c->reaches && (d->plan || d->to.named) &&
        !wf_route_is_self(&d->from.facts, &d->to.facts) &&
        !info_deployment_reaches(info, i, &d->from, &d->to, d->why[i],
                                 sizeof d->why[i])) {
        c->reaches = false;
        c->why_not = d->why[i];
    }
}

/* Whether the rule compares addresses, of which one end has none. */
static bool lacks_address(const struct wf_select *s, const struct info_end *end)
{
    for (int i = 0; i < s->term_count; i++)
        if (s->terms[i].key == WF_TERM_NET && end->net[0] == '\0')
            return true;
    return false;
}

static void assume_end(const struct info *info, struct info_decision *d,
                       const struct info_end *end, bool sends)
{
    if (end->here)
        info_assume(&d->assumed,
                    "rank %u is on this machine, %s: neither [rank] nor "
                    "%u@HOST says",
                    end->facts.rank, end->host, end->facts.rank);
    for (int i = 0; i < info->config->route_count; i++) {
        const struct wf_route_rule *r = &info->config->routes[i];
        if (d->plan && lacks_address(sends ? &r->from : &r->to, end))
            info_assume(&d->assumed,
                        "rank %u has no address for the net: of %s; [rank] and "
                        "[host] give none",
                        end->facts.rank, r->label);
    }
}

/* Whether the rule in force sorts transports by what they cost. */
static bool sorts_by_cost(const struct info *info,
                          const struct info_decision *d)
{
    const struct wf_route_rule *r =
        wf_route_rule(info->config, &d->from.facts, &d->to.facts, d->size,
                      d->candidate, info->count);
    return d->count > 1 &&
           (r->use == WF_USE_AUTO || r->policy == WF_POLICY_COST);
}

/* Note what this decision assumes. */
static void assume_facts(const struct info *info, struct info_decision *d)
{
    bool self = wf_route_is_self(&d->from.facts, &d->to.facts);
    assume_end(info, d, &d->from, true);
    assume_end(info, d, &d->to, false);
    if (!self && strcmp(d->from.host, d->to.host) == 0)
        info_assume(&d->assumed,
                    "processes of %s are on one node, and of one "
                    "user, so they may share memory",
                    d->from.host);
    for (int k = 0; d->plan && !self && k < d->count; k++)
        info_deployment_assume(info, d->order[k], &d->from, &d->to,
                               &d->assumed);
    if (d->plan && !self && sorts_by_cost(info, d))
        info_assume(&d->assumed,
                    "what a transport costs is what its plugin takes for "
                    "usual, where [transport] gives no latency, overhead and "
                    "bandwidth");
}

void info_decide_route(const struct info *info, struct info_decision *d,
                       uint64_t size)
{
    d->size = size;
    for (int i = 0; i < info->count; i++)
        candidate_judge(info, d, i);
    d->count =
        wf_route_choose(info->config, &d->from.facts, &d->to.facts, size,
                        d->candidate, info->count, d->order, &d->section);
    d->ordered = wf_route_failover(info->config, &d->from.facts, &d->to.facts,
                                   d->candidate, info->count, d->order,
                                   d->count, &d->failover);
    d->failover.several &= !d->from.facts.keys;
    assume_facts(info, d);
}

const struct info_transport *info_decide_windows(const struct info *info,
                                                 const struct info_decision *d)
{
    struct info_decision *own = malloc(sizeof *own);
    const struct info_transport *t = NULL;

    if (own == NULL)
        return NULL;
    *own = *d;
    own->from.facts.keys = own->to.facts.keys = d->windows;
    info_decide_route(info, own, 0);
    if (own->count > 0)
        t = &info->transport[own->order[0]];
    free(own);
    return t;
}
