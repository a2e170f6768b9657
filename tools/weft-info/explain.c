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
#include "config/value.h"
#include "decision.h"
#include "deployment.h"
#include "route/cost.h"

static bool is_other_job(const struct info_question *q)
{
    return q->job != NULL && strcmp(q->job, "other") == 0;
}

bool info_explain_plans(const struct info *info, const struct info_question *q)
{
    struct info_decision *d = calloc(1, sizeof *d);
    bool plan = d != NULL && q->pair != NULL &&
                info_decision_parse(info, q->pair, is_other_job(q), d) &&
                d->plan;
    free(d);
    return plan;
}

/* Describe a choice that is made while the job runs. */
static const char *describe_measured(const struct info_decision *d)
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
                                     const struct info_decision *d)
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

/* Say how operations on windows reach the other (core/comm/memory.c). */
static const char *describe_windows(const struct info *info,
                                    const struct info_decision *d, char *text,
                                    size_t n)
{
    const struct info_transport *t = info_decide_windows(info, d);

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

static bool is_chosen(const struct info_decision *d, int i)
{
    for (int k = 0; k < d->count; k++) {
        if (d->order[k] == i)
            return true;
    }
    return false;
}

/* Explain why candidate i is not among the chosen transports. */
static const char *explain_exclusion(const struct info *info,
                                     const struct info_decision *d, int i,
                                     char *buf, size_t n)
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

static void print_lane(const struct info_decision *d, const char *lane)
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

static void print_together(const struct info *info,
                           const struct info_decision *d)
{
    const char *how = describe_failover(info, d);

    if (how != NULL)
        printf("    %s\n", how);
}

static void print_rejected(const struct info *info,
                           const struct info_decision *d)
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
                       const struct info_decision *d, const char *lane)
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

static int explain_json(const struct info *info, struct info_decision *d,
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
    info_decide_route(info, d, 0);
    write_lane(&j, info, d, "messages");
    int unreachable = d->count == 0;
    char windows[300];
    if (!unreachable)
        json_text(&j, "windows",
                  describe_windows(info, d, windows, sizeof windows));
    if (size > 0) {
        info_decide_route(info, d, size);
        write_lane(&j, info, d, "payload");
    }
    json_open(&j, "assumed", '[');
    for (int i = 0; i < d->assumed.count; i++)
        json_text(&j, NULL, d->assumed.line[i]);
    json_close(&j, ']');
    json_close(&j, '}');
    return unreachable;
}

static int explain_text(const struct info *info, struct info_decision *d,
                        uint64_t size)
{
    printf("pair %u (%s) -> %u%s (%s), configuration %s%s\n",
           d->from.facts.rank, d->from.host, d->to.facts.rank,
           d->to.facts.job ? " of another job" : "", d->to.host,
           wf_config_source(info->config),
           d->plan ? ", planned for machines elsewhere" : "");
    const char *meaning, *bootstrap = bootstrap_of(info, &meaning);
    printf("  bootstrap: %s (%s)\n", bootstrap, meaning);
    info_decide_route(info, d, 0);
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
        info_decide_route(info, d, size);
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
    struct info_decision *d = calloc(1, sizeof *d);
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
    else if (!info_decision_parse(info, pair, is_other_job(q), d))
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
