/* Finding a plugin by name, and refusing one that does not fit.
 *
 * The search goes through the built-in table, unless the section gives a path,
 * and then through files (search.h).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adi/loader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adi/search.h"
#include "config/config.h"
#include "config/options.h"
#include "os/dl.h"
#include "os/trust.h"
#include "process/endpoint.h"

static bool is_same_name(const char *a, const char *b)
{
    char x[64], y[64];

    wf_search_copy_name(x, sizeof x, a);
    wf_search_copy_name(y, sizeof y, b);
    return strcmp(x, y) == 0;
}

static const weft_plugin *find_builtin(const char *name)
{
    for (const weft_plugin *const *p = weft_builtin; *p; p++)
        if (is_same_name((*p)->name, name))
            return *p;
    return NULL;
}

static int are_options_valid(const weft_plugin *p)
{
    for (const weft_option *o = p->options; o && o->name; o++)
        if (!o->dflt || o->type < WEFT_OPT_BOOL || o->type > WEFT_OPT_LIST ||
            o->offset >= p->cfg_size)
            return 0;
    return 1;
}

static const char *find_missing_op(const weft_ops *ops)
{
    if (!ops || ops->size < offsetof(weft_ops, addr_derive)) /* minor 0 */
        return "the table of required operations";
    return !ops->open       ? "open"
           : !ops->close    ? "close"
           : !ops->attr     ? "attr"
           : !ops->address  ? "address"
           : !ops->reach    ? "reach"
           : !ops->peer_add ? "peer_add"
           : !ops->peer_del ? "peer_del"
           : !ops->send     ? "send"
           : !ops->progress ? "progress"
           : !ops->drain    ? "drain"
                            : NULL;
}

int wf_plugin_check(const weft_plugin *p, const char *name, const char *from,
                    char *err, size_t err_len)
{
    const char *op;

    if (p->magic != WEFT_MAGIC)
        snprintf(err, err_len, "%s: not a Weft transport (magic %08x)", from,
                 p->magic);
    else if (p->abi_major != WEFT_ABI_MAJOR)
        snprintf(err, err_len,
                 "%s: built for plugin ABI %u.%u, this library has %u.%u; "
                 "rebuild it with this weft_transport.h",
                 from, p->abi_major, p->abi_minor, WEFT_ABI_MAJOR,
                 WEFT_ABI_MINOR);
    else if (p->hdr_bytes != WEFT_HDR)
        snprintf(err, err_len,
                 "%s: carries headers of %u bytes, this library has %u; "
                 "rebuild it with this weft_transport.h",
                 from, p->hdr_bytes, WEFT_HDR);
    else if (p->size < sizeof(weft_plugin))
        snprintf(err, err_len, "%s: its plugin record is too short", from);
    else if (!p->name || !is_same_name(p->name, name))
        snprintf(err, err_len, "%s: is plugin '%s', not '%s'", from,
                 p->name ? p->name : "(unnamed)", name);
    else if ((op = find_missing_op(p->ops)))
        snprintf(err, err_len, "%s: operation '%s' is missing", from, op);
    else if (!are_options_valid(p))
        snprintf(err, err_len, "%s: its option table is damaged", from);
    else
        return 0;
    return WEFT_EINVAL;
}

int wf_plugin_check_caps(const weft_plugin *p, uint32_t caps, char *why,
                         size_t n)
{
    uint32_t unknown = caps & ~(uint32_t)WEFT_CAPS_KNOWN;

    if (!unknown)
        return 0;
    snprintf(why, n,
             "plugin '%s' (ABI %u.%u) declares capability bit %d, which this "
             "library (ABI %u.%u) does not know; use a plugin made for it",
             p->name, p->abi_major, p->abi_minor, __builtin_ctz(unknown),
             WEFT_ABI_MAJOR, WEFT_ABI_MINOR);
    return WEFT_EINVAL;
}

/* List the transports in the program, each after a blank. */
static void list_builtin(char *text, size_t n)
{
    size_t used = 0;

    for (const weft_plugin *const *b = weft_builtin; *b && used < n; b++)
        used += (size_t)snprintf(text + used, n - used, " %s", (*b)->name);
}

/* Describe the end of a search that found nothing. */
static void describe_failure(const struct wf_search *s,
                             const struct wf_transport_config *t, char *err,
                             size_t err_len)
{
    char builtin[512] = "";

    if (!&weft_dl_loader) {
        list_builtin(builtin, sizeof builtin);
        snprintf(err, err_len,
                 "%s: plugin '%s' of transport '%s' is not built in and this "
                 "program has no plugin loader; link with mpicc or add "
                 "-Wl,-u,weft_dl_loader, or link it with a table that names "
                 "the plugin (weft-info --table); built in:%s",
                 t->where, t->plugin, t->name, builtin);
    } else if (!wf_trust_caller()) {
        snprintf(err, err_len,
                 "%s: the plugin of this transport cannot be loaded; a "
                 "set-user-ID program does not show why",
                 t->where);
    } else {
        snprintf(err, err_len, "%s: plugin '%s' of transport '%s' %s%s%s",
                 t->where, t->plugin, t->name,
                 t->path || s->there ? "cannot be loaded" : "was not found",
                 s->tried,
                 strchr(t->plugin, '/') ? "; a file is named with path =" : "");
    }
}

static int check_record(const void *record, const char *name, const char *from,
                        char *err, size_t err_len)
{
    return wf_plugin_check(record, name, from, err, err_len);
}

const weft_plugin *wf_plugin_find_or_name(const struct wf_config *config,
                                  const struct wf_transport_config *t,
                                  char *err, size_t err_len, char **left)
{
    struct wf_search s = {.path = t->path, .left = left, .check = check_record};
    const weft_plugin *p = t->path ? NULL : find_builtin(t->plugin);

    errno = 0;
    if (p)
        return wf_plugin_check(p, t->plugin, "built in", err, err_len) ? NULL
                                                                       : p;
    wf_search_copy_name(s.name, sizeof s.name, t->plugin);
    snprintf(s.symbol, sizeof s.symbol, "weft_plugin_%d_%s", WEFT_ABI_MAJOR,
             s.name);
    if (&weft_dl_loader)
        wf_search_run(&s, config);
    if (!s.found && (!left || !*left))
        describe_failure(&s, t, err, err_len);
    errno = s.lack;
    return s.found;
}

const weft_plugin *wf_plugin_find(const struct wf_config *config,
                                  const struct wf_transport_config *t,
                                  char *err, size_t err_len)
{
    return wf_plugin_find_or_name(config, t, err, err_len, NULL);
}

static int check_transport(struct wf_config *config,
                           const struct wf_transport_config *t, FILE *errors)
{
    char err[2048];
    const weft_plugin *p = wf_plugin_find(config, t, err, sizeof err);
    void *cfg = p ? calloc(1, p->cfg_size ? p->cfg_size : 1) : NULL;
    int bad = 1;

    if (cfg)
        bad = wf_config_plugin(config, t, p, cfg, errors);
    else
        fprintf(errors, "%s\n", p ? "out of memory" : err);
    free(cfg);
    return bad;
}

int wf_plugins_check(struct wf_config *config, FILE *errors)
{
    const struct wf_transport_config *t;
    int n = wf_config_transports(config, &t), bad = 0;

    for (int i = 0; i < n; i++)
        if (t[i].enable != 0)
            bad += check_transport(config, &t[i], errors);
    return bad;
}
