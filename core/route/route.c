/* Choosing endpoints for a pair and a size: the first rule that matches
 * decides. This runs when a pair connects, never per message.
 *
 * A process reaches itself through self even if no rule lists it: a list of
 * transports is about other processes, and a program that sends to itself must
 * not depend on it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "route/route.h"

#include <fnmatch.h>
#include <stdio.h>

#include "config/model.h"
#include "route/cost.h"

/* From BULK_FROM on the automatic choice compares costs at BULK_SIZE, below it
 * at SMALL_SIZE. */
enum { BULK_FROM = 64 * 1024, SMALL_SIZE = 8, BULK_SIZE = 1 << 20 };

struct choice {
    const struct wf_route_candidate *candidates;
    int *order, count;
    uint64_t size;
};

static bool rule_matches_pair(const struct wf_route_rule *rule,
                              const struct wf_route_end *from,
                              const struct wf_route_end *to,
                              const struct wf_route_candidate *candidates,
                              int n)
{
    return (!rule->key || from->keys & rule->key) &&
           wf_select_match(&rule->from, from, to, candidates, n) &&
           wf_select_match(&rule->to, to, from, candidates, n);
}

uint32_t wf_route_find_keys(const struct wf_config *c, const char *comm,
                            enum wf_route_kind kind)
{
    uint32_t keys = 0;

    for (int i = 0; i < c->route_count; i++) {
        const struct wf_route_rule *rule = &c->routes[i];
        if ((!rule->comm || fnmatch(rule->comm, comm, 0) == 0) &&
            (rule->kind == WF_KIND_OF_ANY || rule->kind == kind))
            keys |= rule->key;
    }
    return keys;
}

const struct wf_route_rule *
wf_route_rule(const struct wf_config *c, const struct wf_route_end *from,
              const struct wf_route_end *to, uint64_t size,
              const struct wf_route_candidate *candidates, int n)
{
    const struct wf_route_rule *rule = c->routes;
    for (int i = 0; i + 1 < c->route_count; i++, rule++) {
        if (size >= rule->size_lo && size <= rule->size_hi &&
            rule_matches_pair(rule, from, to, candidates, n))
            break;
    }
    return rule; /* the last one matches everything */
}

/* Whether the rule is about all messages of the pairs that it selects, so that
 * no later one is ever used for them. */
static bool takes_all_messages(const struct wf_route_rule *rule)
{
    return rule->size_lo == 0 && rule->size_hi == UINT64_MAX && !rule->key;
}

/* The same for all pairs. */
static bool matches_everything(const struct wf_route_rule *rule)
{
    return rule->from.term_count == 0 && rule->to.term_count == 0 &&
           takes_all_messages(rule);
}

static bool is_in_list(const struct wf_route_rule *rule, const char *transport)
{
    for (int k = 0; rule->use == WF_USE_LIST && k < rule->list_count; k++)
        if (wf_name_equal(rule->list[k], transport))
            return true;
    return false;
}

bool wf_route_names(const struct wf_config *c, const char *transport)
{
    for (int i = 0; i < c->route_count; i++)
        if (is_in_list(&c->routes[i], transport))
            return true;
    return false;
}

static bool may_choose(const struct wf_route_rule *rule, const char *transport)
{
    return rule->use == WF_USE_AUTO || is_in_list(rule, transport);
}

bool wf_route_may_use(const struct wf_config *c, const char *transport)
{
    for (int i = 0; i < c->route_count; i++) {
        if (may_choose(&c->routes[i], transport))
            return true;
        if (matches_everything(&c->routes[i]))
            return false;
    }
    return false;
}

bool wf_route_trusts(const struct wf_config *c, const char *transport)
{
    for (int i = 0; i < c->route_count; i++)
        if (may_choose(&c->routes[i], transport) &&
            c->routes[i].security != WF_SECURITY_NONE)
            return false;
    return true;
}

static bool is_chosen(const struct choice *choice, int i)
{
    for (int k = 0; k < choice->count; k++) {
        if (choice->order[k] == i)
            return true;
    }
    return false;
}

static void append_choice(struct choice *choice, int i)
{
    if (choice->candidates[i].reaches && !is_chosen(choice, i))
        choice->order[choice->count++] = i;
}

static double cost_of_candidate(const struct choice *choice, int i)
{
    return wf_cost_ns(&choice->candidates[i].cost,
                      choice->size < BULK_FROM ? SMALL_SIZE : BULK_SIZE);
}

/* Sort by cost. The sort is stable: equal costs keep the order of the file. */
static void sort_choice(struct choice *choice)
{
    for (int k = 1; k < choice->count; k++) {
        int moving = choice->order[k], at = k;
        while (at > 0 && cost_of_candidate(choice, moving) <
                             cost_of_candidate(choice, choice->order[at - 1])) {
            choice->order[at] = choice->order[at - 1];
            at--;
        }
        choice->order[at] = moving;
    }
}

static void choose_by_rule(struct choice *choice,
                           const struct wf_route_rule *rule, int n)
{
    if (rule->use == WF_USE_AUTO) {
        for (int i = 0; i < n; i++)
            append_choice(choice, i);
    }
    for (int k = 0; rule->use == WF_USE_LIST && k < rule->list_count; k++) {
        for (int i = 0; i < n; i++) {
            if (wf_name_equal(choice->candidates[i].transport, rule->list[k]))
                append_choice(choice, i);
        }
    }
    if (rule->use == WF_USE_AUTO || rule->policy == WF_POLICY_COST)
        sort_choice(choice);
}

int wf_route_choose(const struct wf_config *c, const struct wf_route_end *from,
                    const struct wf_route_end *to, uint64_t size,
                    const struct wf_route_candidate *candidates, int n,
                    int *order, const char **section)
{
    struct choice choice = {candidates, order, 0, size};
    const struct wf_route_rule *rule =
        wf_route_rule(c, from, to, size, candidates, n);
    choose_by_rule(&choice, rule, n);
    for (int i = 0; wf_route_is_self(from, to) && i < n; i++) {
        if (candidates[i].caps & WEFT_CAP_SELF)
            append_choice(&choice, i);
    }
    if (section != NULL)
        *section = rule->label;
    return choice.count;
}

/* Whether the rule wants failover. With `auto` it does for networks only: a
 * transport that is local to a node does not break while the peer lives. */
static bool wants_failover(const struct wf_route_rule *rule, bool networks)
{
    return rule->failover == WF_FAILOVER_YES ||
           (rule->failover == WF_FAILOVER_AUTO && networks &&
            (rule->use == WF_USE_LIST || rule->policy >= WF_POLICY_STRIPE));
}

/* A property that is searched for in the rules that match a pair. */
struct wish {
    const struct wf_config *config;
    const struct wf_route_candidate *candidates;
    int n;
    bool (*has)(const struct wf_route_rule *, bool same_node);
};

/* Whether one of the rules that messages of some size, communicator or kind
 * are subject to has the property. */
static bool direction_has(const struct wish *w, const struct wf_route_end *from,
                          const struct wf_route_end *to)
{
    const struct wf_config *c = w->config;
    const struct wf_route_rule *rule = c->routes;
    struct wf_route_end any = *from;

    any.keys = UINT32_MAX;
    for (int i = 0; i < c->route_count; i++, rule++) {
        if (i + 1 < c->route_count &&
            !rule_matches_pair(rule, &any, to, w->candidates, w->n))
            continue;
        if (w->has(rule, from->node == to->node))
            return true;
        if (takes_all_messages(rule))
            return false; /* no later rule is used */
    }
    return false;
}

static bool rule_encrypts(const struct wf_route_rule *rule, bool same_node)
{
    return rule->security == WF_SECURITY_ENCRYPT;
}

bool wf_route_pair_encrypts(const struct wf_config *c,
                            const struct wf_route_end *from,
                            const struct wf_route_end *to,
                            const struct wf_route_candidate *candidates, int n)
{
    struct wish w = {c, candidates, n, rule_encrypts};

    return direction_has(&w, from, to) || direction_has(&w, to, from);
}

static bool rule_checks(const struct wf_route_rule *rule, bool same_node)
{
    return rule->crc == WF_CRC_YES || (rule->crc == WF_CRC_AUTO && !same_node);
}

bool wf_route_pair_checks(const struct wf_config *c,
                          const struct wf_route_end *from,
                          const struct wf_route_end *to,
                          const struct wf_route_candidate *candidates, int n)
{
    struct wish w = {c, candidates, n, rule_checks};

    return direction_has(&w, from, to) || direction_has(&w, to, from);
}

/* Both directions must have failover, for each acknowledges the other. */
bool wf_route_failover(const struct wf_config *c,
                       const struct wf_route_end *from,
                       const struct wf_route_end *to,
                       const struct wf_route_candidate *candidates, int n,
                       const int *order, int found,
                       struct wf_route_failover *out)
{
    const struct wf_route_rule *rule =
        wf_route_rule(c, from, to, 0, candidates, n);
    const struct wf_route_rule *back =
        wf_route_rule(c, to, from, 0, candidates, n);
    bool network = found > 0 && candidates[order[0]].caps & WEFT_CAP_REMOTE;

    *out = (struct wf_route_failover){
        .crc = rule->crc != WF_CRC_NO || back->crc != WF_CRC_NO,
        .encrypt = wf_route_pair_encrypts(c, from, to, candidates, n),
        .failback = rule->failback,
        .timeout = rule->timeout};
    if (wf_route_is_self(from, to))
        return false;
    out->several = wants_failover(rule, network && found > 1) &&
                   wants_failover(back, network && found > 1);
    out->stripe = out->several && network && found > 1 &&
                  rule->policy == WF_POLICY_STRIPE;
    if (out->several && network && found > 1 &&
        rule->policy == WF_POLICY_MEASURED)
        out->measure = rule->measure;
    return out->several ||
           (out->encrypt && found > 0 && candidates[order[0]].network);
}

bool wf_route_encrypts(const struct wf_config *c)
{
    for (int i = 0; i < c->route_count; i++)
        if (c->routes[i].security == WF_SECURITY_ENCRYPT)
            return true;
    return false;
}

static int insert_size(uint64_t *sizes, int count, int max, uint64_t size)
{
    int at = count;
    if (size == 0 || size == UINT64_MAX)
        return count;
    for (int i = 0; i < count; i++) {
        if (sizes[i] == size)
            return count;
    }
    if (count == max)
        return count;
    for (; at > 0 && sizes[at - 1] > size; at--)
        sizes[at] = sizes[at - 1];
    sizes[at] = size;
    return count + 1;
}

int wf_route_size_splits(const struct wf_config *c,
                         const struct wf_route_end *from,
                         const struct wf_route_end *to, uint64_t *sizes,
                         int max)
{
    int count = 0;
    for (int i = 0; i < c->route_count; i++) {
        const struct wf_route_rule *rule = &c->routes[i];
        bool last = i + 1 == c->route_count;
        if (!last && !rule_matches_pair(rule, from, to, NULL, 0))
            continue;
        count = insert_size(sizes, count, max, rule->size_lo);
        if (rule->size_hi != UINT64_MAX)
            count = insert_size(sizes, count, max, rule->size_hi + 1);
        if (rule->use == WF_USE_AUTO || rule->policy == WF_POLICY_COST)
            count = insert_size(sizes, count, max, BULK_FROM);
        if (rule->size_lo == 0 && rule->size_hi == UINT64_MAX)
            break; /* later sections decide nothing for this pair */
    }
    return count;
}
