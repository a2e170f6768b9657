/* The configuration of one instance: load, ask, free.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "os/trust.h"
#include "route/model.h"

static struct wf_config *config_create(void)
{
    struct wf_config *c = calloc(1, sizeof *c);
    if (c != NULL) {
        c->sections_tail = &c->sections;
        c->source = "built in";
    }
    return c;
}

/* From sections to answers. Each step reports what it finds; none stops. */
static void config_build(struct wf_config *c, const char *route)
{
    wf_core_build(c);
    wf_collectives_build(c);
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

static int no_memory(void)
{
    wf_error(MPI_ERR_NO_MEM, "no memory for the configuration");
    return WEFT_ENOMEM;
}

/* Something was lacking to read it: wf_error() has said what. Problems may come
 * of that alone, and are not shown. */
static int config_starved(struct wf_config *c)
{
    int r = c->starved;
    if (!r && (c->arena.failed || c->problems.failed))
        r = no_memory();
    if (r)
        wf_config_free(c);
    return r;
}

/* Hand the configuration over, or its problems. */
static int config_finish(struct wf_config *c, struct wf_config **out,
                         FILE *errors, wf_config_also *also)
{
    int starved = config_starved(c);
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

int wf_config_load_also(struct wf_config **out, FILE *errors,
                        wf_config_also *also)
{
    struct wf_config *c = config_create();
    *out = NULL;
    if (c == NULL)
        return no_memory();
    wf_search_read(c);
    wf_transports_imply(c);
    wf_override_apply(c);
    config_build(c, wf_trust_getenv("WEFT_ROUTE"));
    if (c->core.log >= WF_LOG_INFO)
        wf_override_hint(c);
    return config_finish(c, out, errors, also);
}

int wf_config_load(struct wf_config **out, FILE *errors)
{
    return wf_config_load_also(out, errors, NULL);
}

int wf_config_from_file(const char *path, struct wf_config **out, FILE *errors,
                        wf_config_also *also)
{
    struct wf_config *c = config_create();
    *out = NULL;
    if (c == NULL)
        return no_memory();
    c->unused = true;
    wf_search_file(c, path);
    wf_transports_imply(c);
    config_build(c, NULL);
    return config_finish(c, out, errors, also);
}

int wf_config_from_text(const char *text, struct wf_config **out, FILE *errors)
{
    struct wf_config *c = config_create();
    *out = NULL;
    if (c == NULL)
        return no_memory();
    if (text != NULL) {
        c->source = "text";
        wf_sections_read(c, c->source, text, strlen(text));
    }
    wf_transports_imply(c);
    config_build(c, NULL);
    return config_finish(c, out, errors, NULL);
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
