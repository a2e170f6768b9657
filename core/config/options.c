/* Filling structures from settings, by tables of options.
 *
 * The tables of options.def and those of plugins are used in the same way:
 * defaults are stored first, then settings, each checked and reported with its
 * place. A key that no table has is an error.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/options.h"

#include "config/addresses.h"
#include "config/model.h"
#include "config/sections.h"
#include "config/value.h"
#include "report/trace.h"

/* Each table has one row per line of options.def. */
/* clang-format off */
const weft_option wf_core_table[] = {
#define WF_CORE(key, type, dflt, range, same, help)                            \
    {#key, WEFT_OPT_##type, offsetof(struct wf_core_options, key),             \
     dflt, range, help},
#include "config/options.def"
    {0}};

const weft_option wf_transport_table[] = {
#define WF_TRANSPORT(key, type, dflt, range, help)                             \
    {#key, WEFT_OPT_##type, offsetof(struct wf_transport_options, key),        \
     dflt, range, help},
#include "config/options.def"
    {0}};

const weft_option wf_route_table[] = {
#define WF_ROUTE(key, type, dflt, range, help)                                 \
    {#key, WEFT_OPT_##type, offsetof(struct wf_route_options, key),            \
     dflt, range, help},
#include "config/options.def"
    {0}};

/* clang-format on */

static const weft_option *find_option(const weft_option *table, const char *key)
{
    for (; table != NULL && table->name != NULL; table++) {
        if (wf_name_equal(table->name, key))
            return table;
    }
    return NULL;
}

static void store_default(const weft_option *o, void *cfg,
                          struct wf_problems *problems)
{
    static const struct wf_place at = {"built in", 0, 0};
    char why[256];
    if (o->dflt != NULL && !wf_value_store(o, o->dflt, cfg, why, sizeof why))
        wf_problem_add(problems, &at, "default of '%s': %s", o->name, why);
}

void wf_options_fill(const struct wf_section *s, const weft_option *table,
                     void *cfg, struct wf_problems *problems)
{
    char why[512];
    for (const weft_option *o = table; o != NULL && o->name != NULL; o++)
        store_default(o, cfg, problems);
    for (struct wf_setting *v = s != NULL ? s->settings : NULL; v != NULL;
         v = v->next) {
        const weft_option *o = find_option(table, v->key);
        if (o == NULL)
            continue;
        if (o->type == WEFT_OPT_LIST)
            wf_value_list(v->value);
        if (!wf_value_store(o, v->value, cfg, why, sizeof why))
            wf_problem_add(problems, &v->value_at, "%s: %s", o->name, why);
    }
}

void wf_options_unknown(const struct wf_section *s,
                        const weft_option *const *tables, int n,
                        const char *owner, struct wf_problems *problems)
{
    for (const struct wf_setting *v = s->settings; v != NULL; v = v->next) {
        const weft_option *found = NULL;
        struct wf_words words = {.count = 0};
        char hint[1024];
        for (int i = n - 1; i >= 0 && found == NULL; i--) {
            found = find_option(tables[i], v->key);
            for (const weft_option *o = tables[i]; o != NULL && o->name != NULL;
                 o++)
                wf_words_add(&words, o->name);
        }
        if (found == NULL)
            wf_problem_add(problems, &v->at, "unknown key '%s' in [%s%s%s]%s%s",
                           v->key, wf_section_words[s->kind],
                           s->name[0] != '\0' ? " " : "", s->name, owner,
                           wf_words_hint(&words, v->key, hint, sizeof hint));
    }
}

/* Refuse a path that cannot be one, and a trace that this build cannot make. */
static void check_trace(struct wf_config *c, const struct wf_section *s)
{
    const struct wf_setting *set = s ? wf_setting_find(s, "trace") : NULL;
    const char *wrong = set ? wf_trace_check_path(c->core.trace) : NULL;

    if (wrong)
        wf_problem_add(&c->problems, &set->at, "trace: %s", wrong);
}

void wf_core_build(struct wf_config *c)
{
    const weft_option *const tables[] = {wf_core_table};
    struct wf_section *s = wf_section_find(c, WF_SECTION_CORE, "");
    if (s != NULL)
        wf_options_unknown(s, tables, 1, "", &c->problems);
    wf_options_fill(s, wf_core_table, &c->core, &c->problems);
    const struct wf_setting *key, *file;
    key = s != NULL ? wf_setting_find(s, "job_key") : NULL;
    file = s != NULL ? wf_setting_find(s, "job_key_file") : NULL;
    if (key != NULL && file != NULL)
        wf_problem_add(&c->problems, &file->at,
                       "job_key_file and job_key cannot both be set");
    check_trace(c, s);
}

/* Find the transport by its name: the record may be one that the core has made
 * itself, as for self. */
static int find_transport_index(const struct wf_config *c,
                                const struct wf_transport_config *t)
{
    int i = 0;
    while (i < c->transport_count &&
           strcmp(c->transports[i].name, t->name) != 0)
        i++;
    return i < c->transport_count ? i : -1;
}

int wf_config_plugin(const struct wf_config *c,
                     const struct wf_transport_config *t,
                     const weft_plugin *plugin, void *cfg, FILE *errors)
{
    struct wf_problems problems = {.list = NULL};
    const weft_option *const tables[] = {wf_transport_table, plugin->options};
    int i = find_transport_index(c, t);
    const struct wf_section *s = i >= 0 ? c->transport_sections[i] : NULL;
    char owner[128];
    snprintf(owner, sizeof owner, " (plugin %s %s)", plugin->name,
             plugin->version != NULL ? plugin->version : "");
    if (s != NULL)
        wf_options_unknown(s, tables, 2, owner, &problems);
    wf_options_fill(s, plugin->options, cfg, &problems);
    if (plugin->ops != NULL && !WEFT_HAS(plugin->ops, weft_ops, addr_parse))
        wf_addresses_refuse(c, t->name,
                            WEFT_HAS(plugin->ops, weft_ops, addr_derive),
                            &problems);
    return wf_problems_flush(&problems, errors);
}

static uint32_t clamp_to_u32(uint64_t value)
{
    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

void wf_config_cost(const struct wf_config *c,
                    const struct wf_transport_config *t, weft_cost *cost)
{
    int i = find_transport_index(c, t);
    if (i < 0)
        return;
    const struct wf_transport_options *o = &c->transport_options[i];
    if (o->latency != WF_AUTO)
        cost->latency_ns = clamp_to_u32(o->latency);
    if (o->overhead != WF_AUTO)
        cost->overhead_ns = clamp_to_u32(o->overhead);
    if (o->bandwidth != WF_AUTO)
        cost->bandwidth_mbs = clamp_to_u32(o->bandwidth);
}
