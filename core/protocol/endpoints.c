/* Opening and closing the transports of an instance.
 *
 * Endpoint 0 is always self. A transport that the configuration only allows
 * (enable = auto) and that cannot open here is left out with an info line;
 * one that was asked for (enable = yes), or any for which memory or descriptors
 * are lacking, stops the start.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/endpoints.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "adi/loader.h"
#include "boot/boot.h"
#include "boot/fatal_message.h"
#include "config/addresses.h"
#include "config/config.h"
#include "config/options.h"
#include "process/rank.h"
#include "process/ranks.h"
#include "progress/source.h"
#include "protocol/endpoint_source.h"
#include "report/error.h"
#include "route/card.h"
#include "route/links.h"
#include "route/location.h"
#include "route/route.h"

enum { ADDRESS_MAX = 1024 };

/* Fill in the fields for a process that no launcher started: the address to
 * listen at or the seed of one, and how long to wait for peers. */
static void fill_static_open(struct wf_instance *wf, struct weft_core *c,
                             unsigned char seed[WEFT_SEED], weft_open *o)
{
    const char *where;

    o->start_ns = wf->rank->options->start_timeout;
    o->listen = wf_config_address(wf->rank->config, wf->rank->id,
                                  c->config->name, &where);
    if (wf_card_has_seeds(wf->rank)) {
        wf_card_seed(c, wf->rank->id, seed);
        o->seed = seed;
    }
}

bool wf_endpoints_are_local(const struct wf_rank *rank)
{
    return rank->boot->one_host && rank->options->meet == WF_MEET_HOST;
}

static void fill_open(struct wf_instance *wf, struct weft_core *c,
                      unsigned char seed[WEFT_SEED], weft_open *o)
{
    const struct wf_rank *rank = wf->rank;

    *o = (weft_open){
        .size = sizeof *o,
        .loc_id = rank->id,
        .host = &wf_host,
        .core = c,
        .instance = c->config->name,
        .cfg = c->cfg,
        .node_id = (uint32_t)(rank->node ^ rank->node >> 32),
        .local_index = rank->local_index,
        .local_count = rank->local_count,
        .cpus = rank->cpus,
        .flags = wf_endpoints_are_local(rank) ? WEFT_OPEN_ONE_HOST : 0,
        .launcher = rank->boot->launcher,
    };
    if (wf_route_trusts(rank->config, c->config->name))
        o->flags |= WEFT_OPEN_TRUSTED;
    if (rank->boot->is_static)
        fill_static_open(wf, c, seed, o);
}

static int read_address(struct weft_core *c)
{
    uint8_t buf[ADDRESS_MAX];
    size_t n = sizeof buf;
    int r = c->ops->address(c->ep, buf, &n);

    if (r < 0)
        return r;
    c->address = malloc(n ? n : 1);
    if (!c->address)
        return WEFT_ENOMEM;
    memcpy(c->address, buf, n);
    c->address_len = n;
    return 0;
}

static int start_endpoint(struct wf_instance *wf, struct weft_core *c)
{
    unsigned char seed[WEFT_SEED];
    weft_open o;
    int r;

    fill_open(wf, c, seed, &o);
    r = c->ops->open(&o, &c->ep);
    explicit_bzero(seed, sizeof seed);
    if (r < 0)
        return r;
    c->attr = (weft_attr){.size = sizeof c->attr};
    r = c->ops->attr(c->ep, &c->attr);
    if (r >= 0)
        r = wf_plugin_check_caps(c->plugin, c->attr.caps, c->refusal,
                                 WF_REFUSAL_MAX);
    if (r >= 0)
        r = read_address(c);
    if (r >= 0)
        r = wf_endpoint_add_source(c);
    if (r >= 0)
        return 0;
    c->ops->close(c->ep);
    free(c->address);
    c->address = NULL;
    return r;
}

/* Claim the next endpoint for a transport: find its plugin, and store the
 * plugin's options in c->cfg. Errors are printed; returns their number.
 * Negative: memory or a descriptor was lacking, as wf_error has recorded. */
static int prepare_endpoint(struct wf_instance *wf,
                            const struct wf_transport_config *t, FILE *errors)
{
    struct wf_links *links = wf->links;
    struct weft_core *c = &links->eps[links->ep_count];
    char err[2048];
    int bad;

    if (links->ep_count == WF_EPS_MAX) {
        fprintf(errors, "%s: more than %d transports\n", t->where,
                WF_EPS_MAX - 1);
        return 1;
    }
    *c = (struct weft_core){.wf = wf, .index = links->ep_count, .config = t};
    c->plugin = wf_plugin_find(wf->rank->config, t, err, sizeof err);
    if (!c->plugin && errno)
        return wf_fail(errno == ENOMEM ? WEFT_ENOMEM : WEFT_ESYS, "%s", err);
    if (!c->plugin) {
        fprintf(errors, "%s\n", err);
        return 1;
    }
    c->ops = c->plugin->ops;
    if (t->thread && !wf_endpoint_has_descriptor(c)) {
        fprintf(errors,
                "%s: progress = thread: transport '%s' has no descriptor on "
                "which a thread could sleep; leave the key out, or set "
                "progress = thread in [core], whose thread polls the transport "
                "every millisecond\n",
                t->where, t->name);
        return 1;
    }
    c->cfg = calloc(1, c->plugin->cfg_size ? c->plugin->cfg_size : 1);
    if (!c->cfg)
        return wf_fail(WEFT_ENOMEM,
                       "no memory for the options of transport '%s'", t->name);
    bad = wf_config_plugin(wf->rank->config, t, c->plugin, c->cfg, errors);
    if (bad)
        free(c->cfg);
    else
        links->ep_count++;
    return bad;
}

static bool holds_several_ranks(const struct wf_instance *wf)
{
    return wf->rank->ranks && wf->rank->ranks->count > 1;
}

static bool is_thread(const struct wf_transport_config *t)
{
    return strcmp(t->plugin, "thread") == 0;
}

/* Whether a transport beside self is to be opened. A singleton opens only self,
 * and a process that holds all ranks of the job only thread, unless the
 * configuration asks for more. */
static bool is_wanted(const struct wf_instance *wf,
                      const struct wf_transport_config *t)
{
    bool others =
        wf->rank->job.size > (wf->rank->ranks ? wf->rank->ranks->count : 1);

    if (t->enable == 0 || strcmp(t->plugin, "self") == 0)
        return false;
    if (is_thread(t))
        return holds_several_ranks(wf);
    if (holds_several_ranks(wf) && !others &&
        !wf_route_names(wf->rank->config, t->name))
        return t->enable == 1 || !wf_route_may_use(wf->rank->config, "thread");
    return wf->rank->job.size > 1 || t->enable == 1;
}

/* Whether the configuration has a section for thread, which is not implied. */
static bool has_thread_section(const struct wf_transport_config *t, int n)
{
    for (int i = 0; i < n; i++)
        if (is_thread(&t[i]))
            return true;
    return false;
}

/* Add two results of prepare_endpoint(). */
static int add_results(int a, int b)
{
    return a < 0 ? a : b < 0 ? b : a + b;
}

/* Prepare every transport before any is opened, so that all mistakes are
 * reported at once. */
static int prepare_each(struct wf_instance *wf, FILE *errors)
{
    static const struct wf_transport_config self = {
        .name = "self", .plugin = "self", .enable = 1, .where = "built in"};
    static const struct wf_transport_config thread = {
        .name = "thread", .plugin = "thread", .enable = 2, .where = "built in"};
    const struct wf_transport_config *t;
    int n = wf_config_transports(wf->rank->config, &t);
    int bad = prepare_endpoint(wf, &self, errors);

    if (holds_several_ranks(wf) && !has_thread_section(t, n))
        bad = add_results(bad, prepare_endpoint(wf, &thread, errors));
    for (int i = 0; i < n; i++)
        if (is_wanted(wf, &t[i]))
            bad = add_results(bad, prepare_endpoint(wf, &t[i], errors));
    return bad;
}

static int prepare_all(struct wf_instance *wf)
{
    char *text = NULL;
    size_t n = 0;
    FILE *errors = open_memstream(&text, &n);
    int bad = prepare_each(wf, errors ? errors : stderr);

    if (errors)
        fclose(errors);
    wf_boot_print_fatal(text ? text : "", n);
    free(text);
    return bad;
}

/* Free the prepared endpoints from number `first` on. */
static void free_prepared(struct wf_instance *wf, int first, int prepared)
{
    for (int i = first; i < prepared; i++)
        free(wf->links->eps[i].cfg);
}

/* Whether a prepared endpoint is to be opened: it is self, the configuration
 * asks for it, or a route may use it. */
static bool is_useful(const struct wf_instance *wf, int i)
{
    const struct wf_transport_config *t = wf->links->eps[i].config;

    return i == 0 || t->enable == 1 ||
           wf_route_may_use(wf->rank->config, t->name);
}

/* Whether opening failed for lack of memory or descriptors. The transport is
 * not at fault then: another one would fail, too, and peers that rely on this
 * one could not reach the process. */
static bool is_starved(int r)
{
    const char *text = wf_error_last()->text;

    return r == WEFT_ENOMEM || strstr(text, strerror(EMFILE)) ||
           strstr(text, strerror(ENFILE));
}

/* Record why a transport was left out. 0 or WEFT_ENOMEM. */
static int note_left_out(struct wf_instance *wf,
                         const struct wf_transport_config *t, int error,
                         const char *why)
{
    struct wf_links *links = wf->links;
    struct wf_left_out *l = links->left_out;

    if (!l)
        l = links->left_out = calloc(WF_EPS_MAX + 1, sizeof *l);
    if (!l)
        return WEFT_ENOMEM;
    while (l->transport)
        l++;
    if (l == links->left_out + WF_EPS_MAX)
        return 0;
    *l = (struct wf_left_out){t, error, why[0] ? strdup(why) : NULL};
    return 0;
}

/* Whether others will look for this process by the transport, without having
 * been told that it has it. */
static bool is_counted_on(const struct wf_instance *wf,
                          const struct weft_core *c)
{
    return WEFT_HAS(c->ops, weft_ops, addr_derive) &&
           wf_card_has_seeds(wf->rank) && wf->rank->local_count > 1;
}

bool wf_endpoints_are_derived(const struct wf_instance *wf)
{
    bool all = wf_card_has_seeds(wf->rank);

    for (int i = 1; all && i < wf->links->ep_count; i++)
        all = WEFT_HAS(wf->links->eps[i].ops, weft_ops, addr_derive);
    return all;
}

/* Leave out a transport that cannot be opened: log the reason, and record it
 * for a pair that has no other transport. The start fails if the configuration
 * asks for the transport, if others count on it, or if memory or descriptors
 * are lacking. */
static int leave_out_transport(struct wf_instance *wf,
                               const struct weft_core *c, const char *why,
                               int r)
{
    static const char remedy[] =
        " (the other ranks of this host count on it; enable = no leaves it out "
        "for all)";
    const struct wf_transport_config *t = c->config;
    bool counted_on = is_counted_on(wf, c);

    if (strstr(why, strerror(ENOMEM)))
        r = WEFT_ENOMEM;
    const char *lacking = r == WEFT_ENOMEM ? "no memory" : "";

    if (why[0] || lacking[0])
        wf_fail(r, "%s: transport '%s' cannot be used here: %s%s%s", t->where,
                t->name, why[0] ? why : lacking,
                why[0] && lacking[0] ? " (no memory)" : "",
                counted_on && t->enable != 1 ? remedy : "");
    else
        wf_fail(WEFT_ESYS, "%s: transport '%s' cannot be used here (error %d)",
                t->where, t->name, r);
    if (t->enable == 1 || counted_on || is_starved(r))
        return r == WEFT_ENOMEM ? r : WEFT_ESYS;
    wf_log(wf, WF_LOG_INFO, "%s", wf_error_last()->text);
    if (why[0])
        wf_log(wf, WF_LOG_ERROR, "%s: %s", t->name, why);
    return note_left_out(wf, t, r, why);
}

/* Open number i of the prepared endpoints as the next endpoint. */
static int open_prepared(struct wf_instance *wf, int i)
{
    struct wf_links *links = wf->links;
    struct weft_core *c = &links->eps[links->ep_count];
    char why[WF_REFUSAL_MAX] = "";
    int r;

    if (!is_useful(wf, i)) {
        free(links->eps[i].cfg);
        return 0;
    }
    if (c != &links->eps[i])
        *c = links->eps[i];
    c->index = links->ep_count;
    c->refusal = why;
    r = start_endpoint(wf, c);
    c->refusal = NULL;
    if (r == 0) {
        links->ep_count++;
        return 0;
    }
    free(c->cfg);
    return leave_out_transport(wf, c, why, r);
}

int wf_endpoints_open(struct wf_instance *wf)
{
    if (wf->rank->ranks)
        pthread_mutex_lock(&wf->rank->ranks->open_lock);
    int bad = prepare_all(wf), prepared = wf->links->ep_count, r = 0;
    if (wf->rank->ranks)
        pthread_mutex_unlock(&wf->rank->ranks->open_lock);

    wf->links->ep_count = 0;
    if (bad) {
        free_prepared(wf, 0, prepared);
        return bad < 0 ? bad : WEFT_EINVAL;
    }
    for (int i = 0; i < prepared; i++)
        if ((r = open_prepared(wf, i)) != 0) {
            free_prepared(wf, i + 1, prepared);
            break;
        }
    return r;
}

/* Whether a transport is open, or was left out. */
static bool was_tried(const struct wf_links *links,
                      const struct wf_transport_config *t)
{
    for (int i = 0; i < links->ep_count; i++)
        if (links->eps[i].config == t)
            return true;
    for (int i = 0; links->left_out && i < WF_EPS_MAX; i++)
        if (links->left_out[i].transport == t)
            return true;
    return false;
}

int wf_endpoints_open_one(struct wf_instance *wf,
                          const struct wf_transport_config *t)
{
    struct wf_links *links = wf->links;
    char *text = NULL;
    size_t n = 0;
    FILE *errors;
    int r;

    if (t->enable == 0 || is_thread(t) || strcmp(t->plugin, "self") == 0 ||
        was_tried(links, t) || links->ep_count == WF_EPS_MAX)
        return 0;
    errors = open_memstream(&text, &n);
    r = prepare_endpoint(wf, t, errors ? errors : stderr);
    if (errors)
        fclose(errors);
    if (r > 0)
        r = wf_fail(WEFT_EINVAL, "%s", text ? text : "no memory");
    else if (r == 0)
        r = open_prepared(wf, --links->ep_count);
    free(text);
    return r;
}

static void delete_peers(struct wf_instance *wf, struct weft_core *c)
{
    struct weft_loc *loc;

    for (uint32_t at = 0; (loc = wf_links_next(wf->links, &at));)
        if (loc->peers[c->index]) {
            c->ops->peer_del(loc->peers[c->index], 1);
            loc->peers[c->index] = NULL;
        }
}

void wf_endpoints_close(struct wf_instance *wf)
{
    struct wf_links *links = wf->links;

    while (links->ep_count > 0) {
        struct weft_core *c = &links->eps[links->ep_count - 1];
        delete_peers(wf, c);
        wf_source_remove(wf, &c->source);
        c->ops->close(c->ep);
        free(c->address);
        free(c->cfg);
        links->ep_count--;
    }
    for (int i = 0; links->left_out && i < WF_EPS_MAX; i++)
        free(links->left_out[i].why);
    free(links->left_out);
    links->left_out = NULL;
}
