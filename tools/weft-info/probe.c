/* This file finds out what each transport can do on this machine.
 *
 * A plugin with a probe operation is asked; another one is opened and closed
 * again, which contacts no peer. The functions of the core that are given to it
 * answer but do nothing: there is no core behind them.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "os/dl.h"
#include "info.h"

#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include "adi/loader.h"
#include "config/options.h"

static int no_rx(weft_core *core, weft_loc *from, const weft_hdr *hdr,
                 const void *data, size_t have, weft_sink **sink)
{
    return WEFT_SKIP;
}

static void no_rx_done(weft_core *core, weft_sink *sink, int status)
{
}

static void no_tx_done(weft_core *core, weft_tx *tx, int status)
{
}

static void no_get_done(weft_core *core, weft_get *rma, int status)
{
}

static void no_rma_done(weft_core *core, weft_rma *rma, int status)
{
}

static void no_peer(weft_core *core, weft_loc *loc)
{
}

static int no_locate(weft_core *core, uint32_t loc_id)
{
    return WEFT_EUNREACH;
}

static int no_auth(weft_core *core, weft_auth **auth, const void *in,
                   size_t in_len, void *out, size_t *out_len, uint32_t *loc_id)
{
    return WEFT_EAUTH;
}

static uint64_t no_mac(weft_core *core, uint64_t nonce, const struct iovec *v,
                       int n)
{
    return 0;
}

static void no_peer_down(weft_core *core, weft_loc *loc, int status,
                         const char *why)
{
}

static uint64_t now_ns(weft_core *core)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int no_resolve(weft_core *core, const char *host, int family,
                      void *address, size_t *len)
{
    return WEFT_ENOTSUP;
}

/* Keep the plugin's first warning as the reason that is shown, and its first
 * remark as its description. */
static void keep_log(weft_core *core, int level, const char *fmt, ...)
{
    struct info_transport *t = (struct info_transport *)core;
    bool complaint = level <= WF_LOG_WARN;
    char *to = t == NULL ? NULL : complaint ? t->why : t->what;
    va_list ap;
    if (to == NULL || level > WF_LOG_INFO || to[0] != '\0')
        return;
    va_start(ap, fmt);
    vsnprintf(to, complaint ? sizeof t->why : sizeof t->what, fmt, ap);
    va_end(ap);
}

static const weft_host nobody = {
    .size = sizeof nobody,
    .minor = WEFT_ABI_MINOR,
    .rx = no_rx,
    .rx_done = no_rx_done,
    .tx_done = no_tx_done,
    .get_done = no_get_done,
    .rma_done = no_rma_done,
    .tx_ready = no_peer,
    .locate = no_locate,
    .auth_step = no_auth,
    .mac64 = no_mac,
    .peer_up = no_peer,
    .peer_down = no_peer_down,
    .now_ns = now_ns,
    .resolve = no_resolve,
    .log = keep_log,
};

static bool is_built_in(const weft_plugin *plugin)
{
    for (const weft_plugin *const *p = weft_builtin; *p != NULL; p++) {
        if (*p == plugin)
            return true;
    }
    return false;
}

static void collect_one(struct info *info, struct info_transport *t, bool load,
                        FILE *errors)
{
    t->plugin = wf_plugin_find_or_name(info->config, t->config, t->why,
                                       sizeof t->why, load ? NULL : &t->left);
    if (t->plugin == NULL)
        return;
    t->built_in = is_built_in(t->plugin);
    size_t n = t->plugin->cfg_size;
    void *cfg = calloc(1, n > 0 ? n : 1);
    if (cfg != NULL)
        info->problems +=
            wf_config_plugin(info->config, t->config, t->plugin, cfg, errors);
    free(cfg);
}

void info_collect(struct info *info, struct wf_config *config, bool load,
                  FILE *errors)
{
    const struct wf_transport_config *all;
    int n = wf_config_transports(config, &all);
    memset(info, 0, sizeof *info);
    info->config = config;
    for (int i = 0; i < n && i < TRANSPORTS_MAX; i++) {
        struct info_transport *t = &info->transport[info->count++];
        t->config = &all[i];
        collect_one(info, t, load, errors);
    }
}

void info_forget(struct info *info)
{
    for (int i = 0; i < info->count; i++)
        free(info->transport[i].left);
    info->count = 0;
}

static int read_attributes(const weft_ops *ops, const weft_open *open,
                           weft_attr *attr)
{
    weft_ep *ep;
    if (WEFT_HAS(ops, weft_ops, probe))
        return ops->probe(open, attr);
    int rc = ops->open(open, &ep);
    if (rc < 0)
        return rc;
    rc = ops->attr(ep, attr);
    ops->close(ep);
    return rc;
}

/* Ask a plugin about this machine, or about another one. */
static int ask_plugin(const struct info_transport *t, weft_open *open,
                      weft_attr *attr, bool plan)
{
    const weft_ops *ops = t->plugin->ops;
    int rc;
    if (plan && !t->built_in && !WEFT_HAS(ops, weft_ops, probe))
        return WEFT_ENOTSUP;
    open->flags = plan ? WEFT_OPEN_PLAN : 0;
    rc = read_attributes(ops, open, attr);
    if (rc < 0 && !plan) { /* no way to other hosts; then as on one host */
        open->flags = WEFT_OPEN_ONE_HOST;
        rc = read_attributes(ops, open, attr);
    }
    return rc;
}

/* Take a transport of which nothing is known here to reach everything. */
static void assume_attributes(struct info_transport *t, const char *why)
{
    t->assumed = t->usable = true;
    t->attr.caps = WEFT_CAP_LOCAL | WEFT_CAP_REMOTE;
    snprintf(t->why, sizeof t->why, "%s", why);
}

static void probe_one(struct info *info, struct info_transport *t, bool plan)
{
    void *cfg = calloc(1, t->plugin->cfg_size > 0 ? t->plugin->cfg_size : 1);
    weft_open open = {.size = sizeof open,
                      .host = &nobody,
                      .core = (weft_core *)t,
                      .instance = t->config->name,
                      .cfg = cfg,
                      .local_count = 2};
    if (cfg == NULL)
        return;
    wf_config_plugin(info->config, t->config, t->plugin, cfg, NULL);
    int rc = ask_plugin(t, &open, &t->attr, plan);
    if (rc >= 0)
        rc = wf_plugin_check_caps(t->plugin, t->attr.caps, t->why,
                                  sizeof t->why);
    else if (plan)
        assume_attributes(t, "its plugin cannot tell without its network");
    free(cfg);
    t->usable = rc >= 0 || t->assumed;
    if (rc >= 0)
        t->why[0] = '\0';
    else if (t->why[0] == '\0')
        snprintf(t->why, sizeof t->why, "cannot be opened here (error %d)", rc);
}

void info_probe(struct info *info, bool plan)
{
    for (int i = 0; i < info->count; i++) {
        struct info_transport *t = &info->transport[i];
        t->attr.size = sizeof t->attr;
        t->attr.cost.size = sizeof t->attr.cost;
        if (t->config->enable == 0 && (plan || t->plugin != NULL))
            snprintf(t->why, sizeof t->why, "enable = no");
        else if (t->plugin != NULL)
            probe_one(info, t, plan);
        else if (plan)
            assume_attributes(t, "its plugin is not here");
        wf_config_cost(info->config, t->config, &t->attr.cost);
    }
}

const char *info_caps(uint32_t caps, char *buf, size_t n)
{
    static const char *const names[] = {
        "local", "remote", "self",      "get",
        "no_mr", "map",    "get_alone", "intact",
    };
    struct wf_words words = {.count = 0};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (caps & 1u << i)
            wf_words_add(&words, names[i]);
    }
    return wf_words_list(&words, " ", buf, n);
}
