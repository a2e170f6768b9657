/* This file implements weft-info without arguments, which prints the version,
 * plugins, transports, and every option with its value and where that was set.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adi/bootstrap.h"
#include "os/dl.h"
#include "info.h"

#include "draw.h"
#include "config/value.h"
#include "config/shared.h"
#include "route/cost.h"

/* Returns the value in force: what was set, or the default. */
static const char *value_of(const struct info *info, const char *section,
                            const weft_option *o, const char **where)
{
    const char *value;
    *where = wf_config_origin(info->config, section, o->name, &value);
    if (value == NULL)
        value = o->dflt;
    return value != NULL ? value : "";
}

/* Returns the value, or a placeholder for a secret: reports are pasted into
 * mails. */
static const char *hide_secret(const char *key, const char *value)
{
    return strcmp(key, "job_key") == 0 && value[0] != '\0' ? "(hidden)" : value;
}

/* ---- text ---------------------------------------------------------------- */

static void print_options(const struct info *info, const char *section,
                          const weft_option *table)
{
    for (const weft_option *o = table; o != NULL && o->name != NULL; o++) {
        const char *where, *value = value_of(info, section, o, &where);
        char line[128];
        snprintf(line, sizeof line, "%s = %s", o->name,
                 hide_secret(o->name, value));
        printf("  %-30s %-14s %s", line, where, o->help != NULL ? o->help : "");
        if (o->range != NULL)
            printf(" (%s)", o->range);
        printf("\n");
    }
}

/* Whether a program of this configuration may join jobs of PMIx servers. */
static const char *describe_pmix(const struct info *info, char *why, size_t n)
{
    if (wf_bootstrap_find(info->config, "pmix", why, n) != NULL)
        return "yes";
    why[strcspn(why, ";")] = '\0';
    return why;
}

static void print_head(const struct info *info)
{
    char functions[32], why[2500];
    info_function_count(functions, sizeof functions);
    printf("weft %s, MPI %d.%d, ABI %d.%d, plugin ABI %d.%d, compiler %s\n",
           WEFT_VERSION, MPI_VERSION, MPI_SUBVERSION, MPI_ABI_VERSION,
           MPI_ABI_SUBVERSION, WEFT_ABI_MAJOR, WEFT_ABI_MINOR, __VERSION__);
    printf("MPI functions: %s (weft-info --functions lists them)\n",
           functions);
    printf("threads: granularity %s\n", WEFT_GRANULARITY);
    printf("configuration: %s\n\nplugins built in\n",
           wf_config_source(info->config));
    for (const weft_plugin *const *p = weft_builtin; *p != NULL; p++)
        printf("  %-14s %-8s %s\n", (*p)->name, (*p)->version, (*p)->desc);
    printf("plugin loader: %s\n",
           &weft_dl_loader != NULL ? "yes" : "no (static program)");
    printf("bootstrap by PMIx: %s\n\n", describe_pmix(info, why, sizeof why));
}

static void print_transport(const struct info *info,
                            const struct info_transport *t)
{
    char caps[256], section[128];
    const struct wf_transport_config *c = t->config;
    printf("[transport %s]  plugin %s %s (%s), defined: %s\n", c->name,
           c->plugin, t->plugin != NULL ? t->plugin->version : "",
           t->plugin == NULL ? "not loaded"
           : t->built_in     ? "built in"
                             : "loaded",
           c->where);
    if (t->usable)
        printf("  usable here: %s; t(8)=%.2fus, %u MB/s\n",
               info_caps(t->attr.caps, caps, sizeof caps),
               wf_cost_ns(&t->attr.cost, 8) / 1000, t->attr.cost.bandwidth_mbs);
    else
        printf("  not usable here: %s\n", t->why);
    if (t->usable && t->what[0] != '\0')
        printf("  %s\n", t->what);
    snprintf(section, sizeof section, "transport %s", c->name);
    print_options(info, section, wf_transport_table);
    if (t->plugin != NULL)
        print_options(info, section, t->plugin->options);
    printf("\n");
}

static void print_routes(const struct info *info)
{
    printf("routes, first match decides\n");
    for (int i = 0; i < info->config->route_count; i++) {
        const struct wf_route_rule *r = &info->config->routes[i];
        printf("  %-34s use =", r->label);
        if (r->use != WF_USE_LIST)
            printf(" %s", r->use == WF_USE_AUTO ? "auto" : "none");
        for (int k = 0; k < r->list_count; k++)
            printf(" %s", r->list[k]);
        printf("\n");
    }
}

static void print_collectives(const struct info *info)
{
    printf("\n[collectives]\n");
    print_options(info, "collectives", wf_collectives_table);
    printf("  rules in force, first match decides\n");
    for (int i = 0; i < WF_COLL_KINDS; i++)
        info_choice((enum wf_coll_kind)i, &info->config->collectives);
    printf("  algorithms\n");
    for (int i = 0; i < WF_ALGORITHMS; i++)
        printf("    %-18s %s\n", wf_coll_algorithms[i].name,
               wf_coll_algorithms[i].about);
}

static void print_report(const struct info *info)
{
    const char *const *warnings;
    int n = wf_config_warnings(info->config, &warnings);
    print_head(info);
    printf("[core]\n");
    print_options(info, "core", wf_core_table);
    printf("\n");
    for (int i = 0; i < info->count; i++)
        print_transport(info, &info->transport[i]);
    print_routes(info);
    print_collectives(info);
    for (int i = 0; i < n; i++)
        printf("warning: %s\n", warnings[i]);
}

/* ---- json ---------------------------------------------------------------- */

static void write_options(struct json *j, const struct info *info,
                          const char *section, const weft_option *table)
{
    for (const weft_option *o = table; o != NULL && o->name != NULL; o++) {
        const char *where, *value = value_of(info, section, o, &where);
        json_open(j, NULL, '{');
        json_text(j, "key", o->name);
        json_text(j, "type", wf_value_type_name(o->type));
        json_text(j, "value", hide_secret(o->name, value));
        json_text(j, "set", where);
        json_text(j, "default", o->dflt);
        json_text(j, "range", o->range);
        json_text(j, "help", o->help);
        json_close(j, '}');
    }
}

static void write_head(struct json *j, const struct info *info)
{
    char abi[32], functions[32], why[2500];
    info_function_count(functions, sizeof functions);
    json_text(j, "functions", functions);
    json_text(j, "version", WEFT_VERSION);
    snprintf(abi, sizeof abi, "%d.%d", MPI_VERSION, MPI_SUBVERSION);
    json_text(j, "mpi", abi);
    snprintf(abi, sizeof abi, "%d.%d", MPI_ABI_VERSION, MPI_ABI_SUBVERSION);
    json_text(j, "abi", abi);
    snprintf(abi, sizeof abi, "%d.%d", WEFT_ABI_MAJOR, WEFT_ABI_MINOR);
    json_text(j, "plugin_abi", abi);
    json_text(j, "compiler", __VERSION__);
    json_text(j, "granularity", WEFT_GRANULARITY);
    json_text(j, "configuration", wf_config_source(info->config));
    json_flag(j, "loader", &weft_dl_loader != NULL);
    json_text(j, "pmix", describe_pmix(info, why, sizeof why));
    json_open(j, "plugins", '[');
    for (const weft_plugin *const *p = weft_builtin; *p != NULL; p++) {
        json_open(j, NULL, '{');
        json_text(j, "name", (*p)->name);
        json_text(j, "version", (*p)->version);
        json_text(j, "description", (*p)->desc);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void write_transport(struct json *j, const struct info *info,
                            const struct info_transport *t)
{
    char section[128], caps[256];
    snprintf(section, sizeof section, "transport %s", t->config->name);
    json_open(j, NULL, '{');
    json_text(j, "name", t->config->name);
    json_text(j, "plugin", t->config->plugin);
    json_text(j, "defined", t->config->where);
    json_flag(j, "found", t->plugin != NULL);
    json_flag(j, "built_in", t->built_in);
    json_flag(j, "usable", t->usable);
    json_text(j, "why_not", t->usable ? NULL : t->why);
    json_text(j, "remark", t->usable && t->what[0] ? t->what : NULL);
    json_text(j, "capabilities", info_caps(t->attr.caps, caps, sizeof caps));
    json_number(j, "latency_ns", t->attr.cost.latency_ns);
    json_number(j, "overhead_ns", t->attr.cost.overhead_ns);
    json_number(j, "bandwidth_mbs", t->attr.cost.bandwidth_mbs);
    json_open(j, "options", '[');
    write_options(j, info, section, wf_transport_table);
    if (t->plugin != NULL)
        write_options(j, info, section, t->plugin->options);
    json_close(j, ']');
    json_close(j, '}');
}

static void write_routes(struct json *j, const struct info *info)
{
    json_open(j, "routes", '[');
    for (int i = 0; i < info->config->route_count; i++) {
        const struct wf_route_rule *r = &info->config->routes[i];
        json_open(j, NULL, '{');
        json_text(j, "section", r->label);
        json_open(j, "use", '[');
        if (r->use != WF_USE_LIST)
            json_text(j, NULL, r->use == WF_USE_AUTO ? "auto" : "none");
        for (int k = 0; k < r->list_count; k++)
            json_text(j, NULL, r->list[k]);
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void write_report(const struct info *info)
{
    struct json j = {.out = stdout};
    const char *const *warnings;
    int n = wf_config_warnings(info->config, &warnings);
    json_open(&j, NULL, '{');
    write_head(&j, info);
    json_open(&j, "core", '[');
    write_options(&j, info, "core", wf_core_table);
    json_close(&j, ']');
    json_open(&j, "transports", '[');
    for (int i = 0; i < info->count; i++)
        write_transport(&j, info, &info->transport[i]);
    json_close(&j, ']');
    write_routes(&j, info);
    json_open(&j, "collectives", '[');
    write_options(&j, info, "collectives", wf_collectives_table);
    json_close(&j, ']');
    json_open(&j, "warnings", '[');
    for (int i = 0; i < n; i++)
        json_text(&j, NULL, warnings[i]);
    json_close(&j, ']');
    json_close(&j, '}');
}

int info_report(const struct info *info, bool json)
{
    if (json)
        write_report(info);
    else
        print_report(info);
    return 0;
}
