/* Turning [route] sections into rules, which route.c evaluates.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/routes.h"

#include "config/model.h"
#include "config/options.h"
#include "config/sections.h"
#include "config/transports.h"
#include "config/value.h"
#include "crypto/cipher.h"

static void take_selector(struct wf_config *c, const struct wf_section *s,
                          const char *key, const char *text,
                          struct wf_select *select)
{
    const struct wf_setting *v = wf_setting_find(s, key);
    char why[512];
    if (!wf_select_parse(&c->arena, text, select, why, sizeof why))
        wf_problem_add(&c->problems, v != NULL ? &v->value_at : &s->at,
                       "%s: %s", key, why);
}

static void take_size(struct wf_config *c, const struct wf_section *s,
                      const char *text, struct wf_route_rule *rule)
{
    if (!wf_value_size_range(text, &rule->size_lo, &rule->size_hi))
        wf_problem_add(&c->problems, &wf_setting_find(s, "size")->value_at,
                       "size: '%s' is no range of sizes as in 256K-, -4K or "
                       "4K-1M",
                       text);
}

static bool list_has(const struct wf_route_rule *rule, const char *name)
{
    for (int i = 0; i < rule->list_count; i++) {
        if (wf_name_equal(rule->list[i], name))
            return true;
    }
    return false;
}

/* Add one name of a use= list. The words auto and none may not be in a list. */
static void add_transport(struct wf_config *c, struct wf_route_rule *rule,
                          const char *name, const struct wf_place *at,
                          const char *who)
{
    if (strcmp(name, "auto") == 0 || strcmp(name, "none") == 0) {
        wf_problem_add(&c->problems, at,
                       "%s'%s' stands alone, not in a list of transports", who,
                       name);
        return;
    }
    const struct wf_transport_config *t = wf_transport_named(c, name, at, who);
    if (t == NULL)
        return;
    if (list_has(rule, t->name))
        wf_problem_add(&c->problems, at, "%stransport '%s' stands twice", who,
                       name);
    else if (t->enable == 0)
        wf_problem_add(&c->problems, at,
                       "%stransport '%s' has enable = no (%s)", who, name,
                       t->where);
    else
        rule->list[rule->list_count++] = t->name;
}

/* Parse the value of use=: names between commas, as wf_value_list leaves
 * them. */
static void parse_use(struct wf_config *c, struct wf_route_rule *rule,
                      const char *text, const struct wf_place *at,
                      const char *who)
{
    rule->use = strcmp(text, "auto") == 0   ? WF_USE_AUTO
                : strcmp(text, "none") == 0 ? WF_USE_NONE
                                            : WF_USE_LIST;
    if (rule->use != WF_USE_LIST)
        return;
    size_t most = 1;
    for (const char *p = text; *p != '\0'; p++)
        most += *p == ',';
    rule->list = wf_arena_alloc(&c->arena, most * sizeof *rule->list);
    if (rule->list == NULL)
        return;
    if (*text == '\0')
        wf_problem_add(&c->problems, at,
                       "%suse: empty; name transports, or write auto or none",
                       who);
    while (*text != '\0') {
        size_t n = strcspn(text, ",");
        add_transport(c, rule, wf_arena_copy(&c->arena, text, n), at, who);
        text += n + (text[n] != '\0');
    }
}

/* Set the defaults of a rule that no section describes. */
static void set_failover_defaults(struct wf_route_rule *rule)
{
    rule->failover = WF_FAILOVER_AUTO;
    rule->crc = WF_CRC_AUTO;
    rule->failback = 2000000000u;
    rule->timeout = 60000000000u;
}

/* Set which communicators and operations the rule is about. */
static void take_key(struct wf_config *c, const struct wf_section *s,
                     const struct wf_route_options *o,
                     struct wf_route_rule *rule, const char *who)
{
    uint32_t used = 0;

    rule->comm = strcmp(o->comm, "*") == 0 ? NULL : o->comm;
    rule->kind = (enum wf_route_kind)o->kind;
    if (rule->comm == NULL && rule->kind == WF_KIND_OF_ANY)
        return;
    for (int i = 0; i < c->route_count; i++)
        used |= c->routes[i].key;
    rule->key = used + 1;
    if (used == UINT32_MAX)
        wf_problem_add(&c->problems, &s->at,
                       "%sat most 32 sections may have comm or kind", who);
    if (rule->failover == WF_FAILOVER_YES || rule->policy >= WF_POLICY_STRIPE)
        wf_problem_add(&c->problems, &s->at,
                       "%sfailover and stripes are of a pair of processes: a "
                       "section with comm or kind has none",
                       who);
}

/* Set the security of a rule. A program without ciphers must not send plain
 * text when encryption is wanted, so this is an error. */
static void take_security(struct wf_config *c, struct wf_route_rule *rule,
                          int said, const struct wf_place *at)
{
    rule->security = said ? (enum wf_security)said
                          : (enum wf_security)(c->core.security + 1);
    if (rule->security == WF_SECURITY_ENCRYPT && !&weft_cipher)
        wf_problem_add(&c->problems, at,
                       "security = encrypt: this program was linked without "
                       "ciphers; link with mpicc or add -Wl,-u,weft_cipher");
}

static void build_rule(struct wf_config *c, const struct wf_section *s,
                       struct wf_route_rule *rule)
{
    const weft_option *const tables[] = {wf_route_table};
    struct wf_route_options o = {0};
    wf_options_unknown(s, tables, 1, "", &c->problems);
    wf_options_fill(s, wf_route_table, &o, &c->problems);
    const struct wf_setting *use = wf_setting_find(s, "use");
    const char *who = wf_arena_format(&c->arena, "route '%s': ", s->name);
    rule->label = wf_arena_format(&c->arena, "route '%s' (%s)", s->name,
                                  wf_place_text(c, &s->at));
    rule->where = wf_place_text(c, use != NULL ? &use->at : &s->at);
    rule->policy = o.policy;
    rule->failover = o.failover;
    rule->crc = (enum wf_crc)o.crc;
    rule->measure = o.measure;
    rule->failback = o.failback;
    rule->timeout = o.timeout;
    take_security(c, rule, o.security, &s->at);
    take_key(c, s, &o, rule, who);
    take_selector(c, s, "from", o.from, &rule->from);
    take_selector(c, s, "to", o.to, &rule->to);
    take_size(c, s, o.size, rule);
    parse_use(c, rule, o.use, use != NULL ? &use->value_at : &s->at, who);
    if (rule->policy >= WF_POLICY_STRIPE && rule->failover == WF_FAILOVER_NO)
        wf_problem_add(
            &c->problems, &s->at,
            "%spolicy = %s needs failover; leave out failover = "
            "no, or take policy = order",
            who, rule->policy == WF_POLICY_STRIPE ? "stripe" : "measured");
}

void wf_routes_build(struct wf_config *c)
{
    static const struct wf_place core = {"[core]", 0, 0};
    size_t n = 1; /* the implicit last one */
    for (const struct wf_section *s = c->sections; s != NULL; s = s->next)
        n += s->kind == WF_SECTION_ROUTE;
    c->routes = wf_arena_alloc(&c->arena, n * sizeof *c->routes);
    if (c->routes == NULL)
        return;
    for (const struct wf_section *s = c->sections; s != NULL; s = s->next) {
        if (s->kind == WF_SECTION_ROUTE)
            build_rule(c, s, &c->routes[c->route_count++]);
    }
    struct wf_route_rule *last = &c->routes[c->route_count++];
    last->label = "route 'default' (built in)";
    last->where = "built in";
    last->size_hi = UINT64_MAX;
    set_failover_defaults(last);
    last->use = WF_USE_AUTO;
    take_security(c, last, 0, &core);
}

void wf_routes_force(struct wf_config *c, const char *list)
{
    static const struct wf_place at = {"WEFT_ROUTE", 0, 0};
    char *text = wf_arena_copy(&c->arena, list, strlen(list));
    struct wf_route_rule *rule = wf_arena_alloc(&c->arena, sizeof *rule);
    if (rule == NULL)
        return;
    wf_value_list(text);
    rule->label = "WEFT_ROUTE";
    rule->where = "WEFT_ROUTE";
    rule->size_hi = UINT64_MAX;
    set_failover_defaults(rule);
    parse_use(c, rule, text, &at, "");
    /* another list of transports must not make a job less safe */
    for (int i = 0; i < c->route_count; i++) {
        if (c->routes[i].security > rule->security)
            rule->security = c->routes[i].security;
        if (c->routes[i].crc == WF_CRC_YES)
            rule->crc = WF_CRC_YES;
    }
    c->routes = rule;
    c->route_count = 1;
}
