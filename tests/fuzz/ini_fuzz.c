/* Fuzz target: any bytes as mpi.ini, as WEFT_SET and as WEFT_ROUTE.
 *
 * Whatever comes, loading ends, leaks nothing, and gives either a problem or a
 * configuration that answers every question.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "config/addresses.h"
#include "config/ini.h"
#include "config/model.h"
#include "config/options.h"
#include "config/override.h"
#include "config/routes.h"
#include "config/shared.h"
#include "route/route.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct cfg {
    int on, pick;
    int64_t n;
    uint64_t bytes, ns;
    const char *text, *list;
};

static const weft_option table[] = {
    {"on", WEFT_OPT_BOOL, offsetof(struct cfg, on), "yes", NULL, ""},
    {"pick", WEFT_OPT_ENUM, offsetof(struct cfg, pick), "a", "a|b", ""},
    {"port", WEFT_OPT_INT, offsetof(struct cfg, n), "0", "0..65535", ""},
    {"ring", WEFT_OPT_SIZE, offsetof(struct cfg, bytes), "4K", "1..1M", ""},
    {"detect", WEFT_OPT_TIME, offsetof(struct cfg, ns), "auto", NULL, ""},
    {"note", WEFT_OPT_STR, offsetof(struct cfg, text), "", NULL, ""},
    {"interface", WEFT_OPT_LIST, offsetof(struct cfg, list), "", NULL, ""},
    {0}};
static const weft_plugin plugin = {.name = "fuzz",
                                   .version = "1",
                                   .options = table,
                                   .cfg_size = sizeof(struct cfg)};

static void ask_routes(const struct wf_config *c)
{
    static const struct wf_route_end ends[] = {
        {0, "ctl", "10.0.0.1", 1, 0, 0},
        {3, "dsp2.lab", "10.1.0.12,fd00::12", 2, 1, 8},
    };
    const struct wf_transport_config *t;
    struct wf_route_candidate candidates[16] = {0};
    int order[16], n = wf_config_transports(c, &t);
    uint64_t sizes[4];
    const char *section;
    for (int i = 0; i < n && i < 16; i++) {
        candidates[i].transport = t[i].name;
        candidates[i].reaches = true;
        wf_config_cost(c, &t[i], &candidates[i].cost);
    }
    n = n > 16 ? 16 : n;
    int splits = wf_route_size_splits(c, &ends[0], &ends[1], sizes, 4);
    for (int i = -1; i < splits; i++)
        wf_route_choose(c, &ends[0], &ends[1], i < 0 ? 0 : sizes[i], candidates,
                        n, order, &section);
}

static void ask_everything(const struct wf_config *c)
{
    const struct wf_transport_config *t;
    int n = wf_config_transports(c, &t);
    for (int i = 0; i < n; i++) {
        struct cfg cfg = {0};
        wf_config_plugin(c, &t[i], &plugin, &cfg, NULL);
        for (uint32_t r = 0; r < wf_config_ranks(c) && r < 64; r++)
            wf_config_address(c, r, t[i].name, NULL);
    }
    wf_config_hash(c);
    ask_routes(c);
}

static void on_section(void *user, const struct wf_place *at, const char *kind,
                       const char *name)
{
}

static void on_setting(void *user, const struct wf_place *at, const char *key,
                       const char *value, int col)
{
}

static void on_include(void *user, const struct wf_place *at, const char *path)
{
}

/* Also bytes behind a NUL, which a text cannot have. */
static void read_bytes(const uint8_t *data, size_t size)
{
    static const struct wf_ini_events events = {on_section, on_setting,
                                                on_include};
    struct wf_problems problems = {.list = NULL};
    wf_ini_read("fuzz", (const char *)data, size, &events, NULL, &problems);
    wf_problems_flush(&problems, NULL);
}

static void load_file(const char *text)
{
    struct wf_config *c;
    int problems = wf_config_from_text(text, &c, NULL);
    if ((problems == 0) != (c != NULL))
        abort();
    if (c != NULL)
        ask_everything(c);
    wf_config_free(c);
}

/* The same bytes where the environment would put them. */
static void override_value(const char *text)
{
    struct wf_config *c;
    if (wf_config_from_text(NULL, &c, NULL) != 0)
        abort();
    wf_override_settings(c, "WEFT_SET", text);
    wf_routes_force(c, text);
    wf_problems_flush(&c->problems, NULL);
    wf_config_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    read_bytes(data, size);
    load_file(text);
    override_value(text);
    free(text);
    return 0;
}
