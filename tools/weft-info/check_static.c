/* This file checks what a job without launcher needs of its configuration: a
 * key, and for each pair of ranks a transport that has an address. Such a job
 * would otherwise find out when the pair first talks.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "deployment.h"

#include <stdlib.h>

#include "config/addresses.h"
#include "route/card.h"

enum { RANKS_LOOKED_AT = 1024 }; /* the pairs of more take long */

struct static_check {
    const struct info *info;
    FILE *errors;
    uint32_t ranks;
    struct info_end *ends; /* [ranks] */
    uint32_t *unreached; /* [routes]: pairs of each that have no way */
    struct wf_route_candidate candidate[TRANSPORTS_MAX];
    bool hosts_known;
};

static bool is_thread(const struct info_transport *t)
{
    return strcmp(t->config->plugin, "thread") == 0;
}

/* Judge all transports for a pair. A plugin that was not loaded has the benefit
 * of the doubt, and so has thread: the ranks of a host may be one process. */
static void judge_pair(struct static_check *k, uint32_t from, uint32_t to)
{
    struct info_pair pair = {.from = &k->ends[from].facts,
                             .to = &k->ends[to].facts,
                             .is_static = true,
                             .hosts_known = k->hosts_known};
    for (int i = 0; i < k->info->count; i++) {
        const struct info_transport *t = &k->info->transport[i];
        struct wf_route_candidate *c = &k->candidate[i];
        info_judge(k->info, t, &pair, c);
        if (t->config->enable != 0 &&
            (t->plugin == NULL ||
             (is_thread(t) && pair.from->node == pair.to->node)))
            c->reaches = true;
    }
}

static void print_reasons(const struct static_check *k)
{
    const char *sign = ":";
    for (int i = 0; i < k->info->count; i++) {
        const struct wf_route_candidate *c = &k->candidate[i];
        if (strcmp(c->transport, "self") == 0)
            continue;
        fprintf(k->errors, "%s %s: %s", sign, c->transport,
                c->reaches ? "not listed in use=" : c->why_not);
        sign = ";";
    }
    fputc('\n', k->errors);
}

static const char *host_of(const struct static_check *k, uint32_t rank)
{
    return k->ends[rank].host[0] ? k->ends[rank].host : "no host";
}

/* Check a pair. The first of each route is printed. */
static void check_pair(struct static_check *k, uint32_t from, uint32_t to)
{
    const struct wf_config *c = k->info->config;
    int order[TRANSPORTS_MAX];
    const char *section;
    const struct wf_route_end *a = &k->ends[from].facts,
                              *b = &k->ends[to].facts;
    judge_pair(k, from, to);
    const struct wf_route_rule *rule =
        wf_route_rule(c, a, b, 0, k->candidate, k->info->count);
    if (rule->use == WF_USE_NONE ||
        wf_route_choose(c, a, b, 0, k->candidate, k->info->count, order,
                        &section) > 0)
        return;
    if (k->unreached[rule - c->routes]++ > 0)
        return;
    fprintf(k->errors,
            "%s: static start: no transport reaches rank %u (%s) from rank %u "
            "(%s)",
            section, to, host_of(k, to), from, host_of(k, from));
    print_reasons(k);
}

static void fill_end(struct static_check *k, uint32_t rank)
{
    const char *host = wf_config_host(k->info->config, rank);
    struct info_end *end = &k->ends[rank];
    end->facts = (struct wf_route_end){
        .rank = rank,
        .host = end->host,
        .net = end->net,
        /* a rank whose host is unknown is alone */
        .node = host != NULL ? wf_card_host_node(host) : UINT64_MAX - rank};
    snprintf(end->host, sizeof end->host, "%s", host != NULL ? host : "");
    info_end_addresses(k->info, end);
}

static int count_unreached(const struct static_check *k)
{
    const struct wf_config *c = k->info->config;
    int problems = 0;
    for (int r = 0; r < c->route_count; r++) {
        problems += k->unreached[r] > 0;
        if (k->unreached[r] > 1)
            fprintf(k->errors, "%s: nor have %u other pairs of ranks a way\n",
                    c->routes[r].label, k->unreached[r] - 1);
    }
    return problems;
}

static int check_pairs(struct static_check *k)
{
    for (uint32_t rank = 0; rank < k->ranks; rank++)
        fill_end(k, rank);
    for (uint32_t from = 0; from < k->ranks; from++)
        for (uint32_t to = 0; to < k->ranks; to++)
            if (from != to)
                check_pair(k, from, to);
    return count_unreached(k);
}

static int check_ways(const struct info *info, FILE *errors)
{
    uint32_t n = wf_config_ranks(info->config);
    struct static_check k = {
        .info = info,
        .errors = errors,
        .ranks = n < RANKS_LOOKED_AT ? n : RANKS_LOOKED_AT,
        .hosts_known = info_has_hosts(info->config)};
    k.ends = calloc(k.ranks, sizeof *k.ends);
    k.unreached = calloc((size_t)info->config->route_count,
                         sizeof *k.unreached);
    int problems = 1;
    if (k.ends != NULL && k.unreached != NULL)
        problems = check_pairs(&k);
    else
        fprintf(errors, "out of memory\n");
    if (n > k.ranks)
        fprintf(errors, "note: only pairs of the first %u ranks were checked\n",
                k.ranks);
    free(k.ends);
    free(k.unreached);
    return problems;
}

static bool has_key(const struct wf_core_options *o)
{
    return (o->job_key != NULL && o->job_key[0] != '\0') ||
           (o->job_key_file != NULL && o->job_key_file[0] != '\0');
}

int info_check_static(struct wf_config *config, bool load, FILE *errors)
{
    struct info info;
    int problems = 0;
    if (wf_config_ranks(config) < 2)
        return 0; /* alone, or the environment says who there is */
    if (!has_key(wf_config_core(config))) {
        fprintf(errors,
                "%s: static start: the processes know each other by "
                "core.job_key_file or core.job_key, and neither is set\n",
                wf_config_source(config));
        problems++;
    }
    info_collect(&info, config, load, NULL);
    problems += check_ways(&info, errors);
    info_forget(&info);
    return problems;
}
