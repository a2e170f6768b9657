/* This file implements weft-info --explain, which prints the transports that a
 * pair of processes would use, and why not the others. Hosts come from the
 * argument (0@nodea->3@nodeb), from [rank] and [host], or are all this one.
 *
 * A pair of which a host is elsewhere is planned: this machine's interfaces and
 * devices mean nothing then, and what mpi.ini does not say is assumed
 * (deployment.h).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info.h"

#include <stdlib.h>

#include "boot/boot.h"
#include "deployment.h"
#include "os/node.h"
#include "config/value.h"
#include "config/addresses.h"
#include "route/cost.h"

enum { WHY_LEN = 600 };

struct decision {
    struct info_end from, to;
    bool plan;
    uint64_t size;
    struct wf_route_candidate candidate[TRANSPORTS_MAX];
    char why[TRANSPORTS_MAX][WHY_LEN];
    int order[TRANSPORTS_MAX], count;
    const char *section;
    uint32_t windows; /* keys of the rules about operations on windows */
    struct wf_route_failover failover; /* of messages in order */
    bool ordered;                      /* the pair has failover or encryption */
    struct info_assumed assumed;       /* by all decisions so far */
};

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

static bool pair_parse(const struct info *info, const char *pair,
                       bool other_job, struct decision *d)
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

static bool is_other_job(const struct info_question *q)
{
    return q->job != NULL && strcmp(q->job, "other") == 0;
}

bool info_explain_plans(const struct info *info, const struct info_question *q)
{
    struct decision *d = calloc(1, sizeof *d);
    bool plan = d != NULL && q->pair != NULL &&
                pair_parse(info, q->pair, is_other_job(q), d) && d->plan;
    free(d);
    return plan;
}

static void candidate_judge(const struct info *info, struct decision *d, int i)
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

static void assume_end(const struct info *info, struct decision *d,
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
static bool sorts_by_cost(const struct info *info, const struct decision *d)
{
    const struct wf_route_rule *r =
        wf_route_rule(info->config, &d->from.facts, &d->to.facts, d->size,
                      d->candidate, info->count);
    return d->count > 1 &&
           (r->use == WF_USE_AUTO || r->policy == WF_POLICY_COST);
}

/* Note what this decision assumes. */
static void assume_facts(const struct info *info, struct decision *d)
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

static void decide_route(const struct info *info, struct decision *d,
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

/* Describe a choice that is made while the job runs. */
static const char *describe_measured(const struct decision *d)
{
    static char text[300];
    size_t n = (size_t)snprintf(text, sizeof text,
                                "measured: starts with '%s', and may move to",
                                d->candidate[d->order[0]].transport);
    for (int k = 1; k < d->count && n < sizeof text; k++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s '%s'",
                              k > 1 ? " or" : "",
                              d->candidate[d->order[k]].transport);
    return text;
}

static bool lacks_send_short(const struct info_transport *t)
{
    return t->plugin && !WEFT_HAS(t->plugin->ops, weft_ops, send_short);
}

/* Describe what several transports do for each other. */
static const char *describe_failover(const struct info *info,
                                     const struct decision *d)
{
    if (d->count < 2)
        return NULL;
    if (!d->failover.several)
        return "no failover: only the first is used";
    if (lacks_send_short(&info->transport[d->order[0]]))
        return "refused: there is no failover from the first, whose plugin has "
               "no send_short";
    if (d->failover.stripe)
        return "stripes: pieces of large messages go by all of these, and when "
               "one fails by the others";
    if (d->failover.measure)
        return describe_measured(d);
    return "failover: when one fails the next takes over";
}

/* Find the transport of the messages about windows, for a pair whose messages
 * in order are decided. NULL: there is none. */
static const struct info_transport *find_windows(const struct info *info,
                                                 const struct decision *d)
{
    struct decision *own = malloc(sizeof *own);
    const struct info_transport *t = NULL;

    if (own == NULL)
        return NULL;
    *own = *d;
    own->from.facts.keys = own->to.facts.keys = d->windows;
    decide_route(info, own, 0);
    if (own->count > 0)
        t = &info->transport[own->order[0]];
    free(own);
    return t;
}

/* Say how operations on windows reach the other (core/comm/memory.c). */
static const char *describe_windows(const struct info *info,
                                    const struct decision *d, char *text,
                                    size_t n)
{
    const struct info_transport *t = find_windows(info, d);

    if (wf_route_is_self(&d->from.facts, &d->to.facts))
        snprintf(text, n, "mapped: a process has its own memory");
    else if (d->ordered)
        snprintf(text, n, "messages: the route has failover or encryption");
    else if (t == NULL)
        snprintf(text, n, "none: the route about windows has no transport that "
                          "reaches the other");
    else if (t->attr.caps & WEFT_CAP_MAP)
        snprintf(text, n,
                 "mapped: '%s' shares memory of MPI_Win_allocate, "
                 "MPI_Win_allocate_shared and MPI_Alloc_mem; messages%s for "
                 "other windows",
                 t->config->name,
                 t->attr.caps & WEFT_CAP_RMA ? " or its operations" : "");
    else if (t->attr.caps & WEFT_CAP_RMA)
        snprintf(text, n, "operations of '%s', or messages", t->config->name);
    else
        snprintf(text, n, "messages: '%s' shares no memory", t->config->name);
    return text;
}

static bool is_chosen(const struct decision *d, int i)
{
    for (int k = 0; k < d->count; k++) {
        if (d->order[k] == i)
            return true;
    }
    return false;
}

/* Explain why candidate i is not among the chosen transports. */
static const char *explain_exclusion(const struct info *info,
                                     const struct decision *d, int i, char *buf,
                                     size_t n)
{
    const struct wf_route_rule *rule =
        wf_route_rule(info->config, &d->from.facts, &d->to.facts, d->size,
                      d->candidate, info->count);
    if (rule->use == WF_USE_NONE)
        snprintf(buf, n, "%s has use = none (%s)", rule->label, rule->where);
    else if (!d->candidate[i].reaches)
        snprintf(buf, n, "%s", d->candidate[i].why_not);
    else
        snprintf(buf, n, "not listed in use= (%s)", rule->where);
    return buf;
}

static void print_lane(const struct decision *d, const char *lane)
{
    printf("  %s: %s\n", lane, d->section);
    for (int k = 0; k < d->count; k++) {
        const struct wf_route_candidate *c = &d->candidate[d->order[k]];
        printf("    %-10s %-14s t(%llu)=%.2fus\n", k == 0 ? "uses" : "fallback",
               c->transport, (unsigned long long)d->size,
               wf_cost_ns(&c->cost, d->size) / 1000);
    }
    if (d->count == 0)
        printf("    nothing: these messages cannot be sent\n");
}

static void print_together(const struct info *info, const struct decision *d)
{
    const char *how = describe_failover(info, d);

    if (how != NULL)
        printf("    %s\n", how);
}

static void print_rejected(const struct info *info, const struct decision *d)
{
    char why[1200];
    for (int i = 0; i < info->count; i++) {
        if (!is_chosen(d, i))
            printf("    %-10s %-14s %s\n", "rejected",
                   d->candidate[i].transport,
                   explain_exclusion(info, d, i, why, sizeof why));
    }
}

static void write_lane(struct json *j, const struct info *info,
                       const struct decision *d, const char *lane)
{
    char why[1200];
    json_open(j, lane, '{');
    json_number(j, "size", (double)d->size);
    json_text(j, "section", d->section);
    json_open(j, "chosen", '[');
    for (int k = 0; k < d->count; k++) {
        const struct wf_route_candidate *c = &d->candidate[d->order[k]];
        json_open(j, NULL, '{');
        json_text(j, "transport", c->transport);
        json_number(j, "ns", wf_cost_ns(&c->cost, d->size));
        json_close(j, '}');
    }
    json_close(j, ']');
    if (d->size == 0 && describe_failover(info, d) != NULL)
        json_text(j, "together", describe_failover(info, d));
    json_open(j, "rejected", '[');
    for (int i = 0; i < info->count; i++) {
        if (is_chosen(d, i))
            continue;
        json_open(j, NULL, '{');
        json_text(j, "transport", d->candidate[i].transport);
        json_text(j, "reason", explain_exclusion(info, d, i, why, sizeof why));
        json_close(j, '}');
    }
    json_close(j, ']');
    json_close(j, '}');
}

/* The bootstrap of the job, as core.bootstrap names it, and what that means. */
static const char *bootstrap_of(const struct info *info, const char **meaning)
{
    if (wf_boot_is_static(info->config)) {
        *meaning = "no launcher: hosts and addresses are those of [rank] and "
                   "[host]";
        return "static";
    }
    if (wf_config_core(info->config)->bootstrap == WF_BOOT_SINGLE) {
        *meaning = "there are no other processes";
        return "single";
    }
    *meaning = "a launcher passes addresses on";
    return wf_config_core(info->config)->bootstrap == WF_BOOT_PMIX ? "pmix"
                                                                   : "pmi";
}

static void write_end(struct json *j, const char *key,
                      const struct info_end *end)
{
    json_open(j, key, '{');
    json_number(j, "rank", end->facts.rank);
    json_text(j, "host", end->host);
    json_text(j, "job", end->facts.job ? "other" : "own");
    json_close(j, '}');
}

static int explain_json(const struct info *info, struct decision *d,
                        uint64_t size)
{
    struct json j = {.out = stdout};
    const char *meaning;
    json_open(&j, NULL, '{');
    json_text(&j, "configuration", wf_config_source(info->config));
    json_text(&j, "bootstrap", bootstrap_of(info, &meaning));
    json_flag(&j, "planned", d->plan);
    write_end(&j, "from", &d->from);
    write_end(&j, "to", &d->to);
    decide_route(info, d, 0);
    write_lane(&j, info, d, "messages");
    int unreachable = d->count == 0;
    char windows[300];
    if (!unreachable)
        json_text(&j, "windows",
                  describe_windows(info, d, windows, sizeof windows));
    if (size > 0) {
        decide_route(info, d, size);
        write_lane(&j, info, d, "payload");
    }
    json_open(&j, "assumed", '[');
    for (int i = 0; i < d->assumed.count; i++)
        json_text(&j, NULL, d->assumed.line[i]);
    json_close(&j, ']');
    json_close(&j, '}');
    return unreachable;
}

static int explain_text(const struct info *info, struct decision *d,
                        uint64_t size)
{
    printf("pair %u (%s) -> %u%s (%s), configuration %s%s\n",
           d->from.facts.rank, d->from.host, d->to.facts.rank,
           d->to.facts.job ? " of another job" : "", d->to.host,
           wf_config_source(info->config),
           d->plan ? ", planned for machines elsewhere" : "");
    const char *meaning, *bootstrap = bootstrap_of(info, &meaning);
    printf("  bootstrap: %s (%s)\n", bootstrap, meaning);
    decide_route(info, d, 0);
    print_lane(d, "messages, in order");
    print_together(info, d);
    print_rejected(info, d);
    int unreachable = d->count == 0;
    char windows[300];
    if (!unreachable)
        printf("  windows: %s\n",
               describe_windows(info, d, windows, sizeof windows));
    if (size > 0) {
        char lane[64];
        snprintf(lane, sizeof lane, "large payload of %llu bytes",
                 (unsigned long long)size);
        decide_route(info, d, size);
        print_lane(d, lane);
        print_rejected(info, d);
    }
    if (d->assumed.count > 0)
        printf("  assumed\n");
    for (int i = 0; i < d->assumed.count; i++)
        printf("    %s\n", d->assumed.line[i]);
    return unreachable;
}

/* Parse the kind of operations; NULL: point-to-point. */
static bool kind_parse(const char *text, enum wf_route_kind *kind)
{
    static const struct {
        const char *word;
        enum wf_route_kind kind;
    } kinds[] = {{"pt2pt", WF_KIND_OF_PT2PT},
                 {"collective", WF_KIND_OF_COLLECTIVE},
                 {"rma", WF_KIND_OF_RMA},
                 {"io", WF_KIND_OF_IO}};

    *kind = WF_KIND_OF_PT2PT;
    for (size_t i = 0; text != NULL && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(text, kinds[i].word) == 0) {
            *kind = kinds[i].kind;
            return true;
        }
    return text == NULL;
}

int info_explain(const struct info *info, const struct info_question *q,
                 bool json)
{
    struct decision *d = calloc(1, sizeof *d);
    const char *pair = q->pair, *size = q->size;
    enum wf_route_kind kind;
    uint64_t bytes = 0;
    int rc = 2;
    if (d == NULL)
        fprintf(stderr, "weft-info: out of memory\n");
    else if (size != NULL && !wf_value_size(size, &bytes))
        fprintf(stderr, "weft-info: --size %s: digits, then K, M, G or T\n",
                size);
    else if (!kind_parse(q->kind, &kind))
        fprintf(stderr, "weft-info: --kind %s: pt2pt, collective, rma or io\n",
                q->kind);
    else if (q->job != NULL && !is_other_job(q) && strcmp(q->job, "own") != 0)
        fprintf(stderr, "weft-info: --job %s: own or other\n", q->job);
    else if (!pair_parse(info, pair, is_other_job(q), d))
        fprintf(stderr,
                "weft-info: --explain %s: write two ranks as in "
                "'0->3', or with hosts '0@nodea->3@nodeb'\n",
                pair);
    else {
        const char *comm = q->comm != NULL ? q->comm : "";
        d->from.facts.keys = d->to.facts.keys =
            wf_route_find_keys(info->config, comm, kind);
        d->windows = wf_route_find_keys(info->config, comm, WF_KIND_OF_RMA);
        rc = json ? explain_json(info, d, bytes) : explain_text(info, d, bytes);
    }
    free(d);
    return rc;
}
