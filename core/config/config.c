/* The configuration of one instance: load, ask, free.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "config/collectives.h"
#include "config/hosts.h"
#include "config/model.h"
#include "config/options.h"
#include "config/override.h"
#include "config/routes.h"
#include "config/search.h"
#include "config/sections.h"
#include "config/transports.h"
#include "os/trust.h"
#include "report/error.h"

static struct wf_config *create_config(void)
{
    struct wf_config *c = calloc(1, sizeof *c);
    if (c != NULL) {
        c->sections_tail = &c->sections;
        c->source = "built in";
    }
    return c;
}

/* Build the tables from the sections. Each step reports its problems, and the
 * next ones run all the same. */
static void build_config(struct wf_config *c, const char *route)
{
    wf_core_build(c);
    wf_coll_rules_build(c);
    wf_transports_build(c);
    wf_routes_build(c);
    if (route != NULL && route[0] != '\0')
        wf_routes_force(c, route);
    wf_hosts_build(c);
}

static void print_warnings(const struct wf_config *c, FILE *out)
{
    const char *const *lines;
    int n = wf_config_warnings(c, &lines);
    for (int i = 0; i < n && out != NULL; i++)
        fprintf(out, "warning: %s\n", lines[i]);
}

static int fail_no_memory(void)
{
    return wf_fail(WEFT_ENOMEM, "no memory for the configuration");
}

/* Fail if memory or a descriptor was lacking, as is recorded. The
 * problems are not shown then, because they may come of that alone. */
static int fail_if_starved(struct wf_config *c)
{
    int r = c->starved;
    if (!r && (c->arena.failed || c->problems.failed))
        r = fail_no_memory();
    if (r)
        wf_config_free(c);
    return r;
}

/* Return the configuration, or print its problems. */
static int finish_config(struct wf_config *c, struct wf_config **out,
                         FILE *errors, wf_config_extra_check *also)
{
    int starved = fail_if_starved(c);
    if (starved)
        return starved;
    int count = wf_problems_flush(&c->problems, errors);
    if (count > 0) {
        if (also != NULL)
            count += also(c, errors);
        print_warnings(c, errors); /* a misspelt variable may be the cause */
        wf_config_free(c);
        c = NULL;
    }
    *out = c;
    return count;
}

int wf_config_load_checked(struct wf_config **out, FILE *errors,
                        wf_config_extra_check *also)
{
    struct wf_config *c = create_config();
    *out = NULL;
    if (c == NULL)
        return fail_no_memory();
    wf_search_read(c);
    wf_transports_imply(c);
    wf_override_apply(c);
    build_config(c, wf_trust_getenv("WEFT_ROUTE"));
    if (c->core.log >= WF_LOG_INFO)
        wf_override_warn_of_other_mpi(c);
    return finish_config(c, out, errors, also);
}

int wf_config_load(struct wf_config **out, FILE *errors)
{
    return wf_config_load_checked(out, errors, NULL);
}

int wf_config_from_file(const char *path, struct wf_config **out, FILE *errors,
                        wf_config_extra_check *also)
{
    struct wf_config *c = create_config();
    *out = NULL;
    if (c == NULL)
        return fail_no_memory();
    c->unused = true;
    wf_search_file(c, path);
    wf_transports_imply(c);
    build_config(c, NULL);
    return finish_config(c, out, errors, also);
}

int wf_config_from_text(const char *text, struct wf_config **out, FILE *errors)
{
    struct wf_config *c = create_config();
    *out = NULL;
    if (c == NULL)
        return fail_no_memory();
    if (text != NULL) {
        c->source = "text";
        wf_sections_read(c, c->source, text, strlen(text));
    }
    wf_transports_imply(c);
    build_config(c, NULL);
    return finish_config(c, out, errors, NULL);
}

struct wf_config *wf_config_share(struct wf_config *c)
{
    wf_add_acq_rel(&c->shares, 1);
    return c;
}

void wf_config_free(struct wf_config *c)
{
    if (c == NULL || wf_add_acq_rel(&c->shares, UINT32_MAX) > 0)
        return;
    wf_problems_flush(&c->problems, NULL);
    wf_arena_fini(&c->arena);
    free(c);
}

const struct wf_core_options *wf_config_core(const struct wf_config *c)
{
    return &c->core;
}

int wf_config_transports(const struct wf_config *c,
                         const struct wf_transport_config **out)
{
    *out = c->transports;
    return c->transport_count;
}

int wf_config_warnings(const struct wf_config *c, const char *const **lines)
{
    *lines = c->warnings;
    return c->warning_count;
}

const char *wf_config_source(const struct wf_config *c)
{
    return c->source;
}
