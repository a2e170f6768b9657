/* The table of services that every plugin gets. Plugins call the core only
 * through it.
 *
 * They do so inside progress() or a data operation, so the API section is held.
 * A plugin has no threads of its own.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "boot/auth.h"
#include "boot/auth_key.h"
#include "config/config.h"
#include "os/hosts.h"
#include "process/rank.h"
#include "progress/progress.h"
#include "progress/wait.h"
#include "protocol/arrive.h"
#include "protocol/carrier.h"
#include "protocol/carrier_seal.h"
#include "protocol/checked.h"
#include "protocol/death.h"
#include "protocol/failure.h"
#include "protocol/fastpath.h"
#include "protocol/location.h"
#include "protocol/message.h"
#include "protocol/order.h"
#include "protocol/pull.h"
#include "protocol/remote.h"
#include "protocol/send_side.h"
#include "protocol/traced.h"
#include "report/error.h"
#include "route/links.h"

static void host_rx_done(weft_core *core, weft_sink *s, int status)
{
    struct wf_sink *sink = wf_container(s, struct wf_sink, sink);

    sink->done(sink, status);
}

static void host_tx_done(weft_core *core, weft_tx *tx, int status)
{
    struct wf_tx *t = wf_container(tx, struct wf_tx, tx);

    t->done(t, status);
}

static void host_get_done(weft_core *core, weft_get *rma, int status)
{
    wf_pull_done(rma, status);
}

static void host_rma_done(weft_core *core, weft_rma *rma, int status)
{
    struct wf_remote *remote = wf_container(rma, struct wf_remote, rma);

    remote->done(remote, status);
}

static void host_tx_ready(weft_core *core, weft_loc *loc)
{
    wf_message_resume(loc, core);
}

static int host_locate(weft_core *core, uint32_t loc_id)
{
    struct weft_loc *loc;

    if (!wf_links_place(core->wf->links, loc_id))
        return WEFT_EINVAL;
    loc = wf_location(core->wf, loc_id);
    if (!loc)
        return WEFT_ENOMEM;
    return wf_location_attach(loc, core);
}

static void host_peer_up(weft_core *core, weft_loc *loc)
{
    wf_log(core->wf, WF_LOG_DEBUG, "%s: connected to process %u",
           core->config->name, loc->id);
    if (WF_TRACING(core->wf))
        wf_trace_note(core->wf, WF_TRACE_LINK_UP,
                      &(struct wf_trace_about){.peer = wf_trace_peer(loc),
                                               .name = core->config->name});
    wf_carrier_note_connected(loc, core);
    if (wf_unlikely(core->wf->losses))
        wf_deaths_tell_peer(loc);
}

static void host_peer_down(weft_core *core, weft_loc *loc, int status,
                           const char *why)
{
    if (status == WEFT_EPROTO)
        wf_checks_count_nonsense(loc, core);
    if (wf_location_uses(loc, core) &&
        !wf_carrier_handle_down(loc, core, status, why))
        wf_location_down(loc, status, why);
}

static void host_tx_close(weft_core *core, weft_loc *loc)
{
    wf_side_take_back(loc);
}

static int host_call_stands(weft_core *core, weft_loc *loc)
{
    const struct wf_rank *rank = core->wf->rank;

    return wf_job_precedes(&rank->job, rank->id, loc->id);
}

static uint64_t host_mac64_of(weft_core *core, weft_loc *loc,
                              const weft_auth *auth, uint64_t nonce,
                              const struct iovec *v, int n)
{
    const struct wf_job *own = &core->wf->rank->job;
    const struct wf_auth_key *key = auth  ? wf_auth_key_of(core, auth)
                                    : loc ? wf_job_key(own, loc->id)
                                          : own->key;

    return wf_auth_mac(key ? key : own->key, nonce, v, n);
}

static uint64_t host_now_ns(weft_core *core)
{
    return wf_now(core->wf);
}

static int host_helping(weft_core *core)
{
    return core->wf->progress->helping;
}

/* Resolve numeric addresses and names of /etc/hosts: no job depends on a
 * resolver (W-39). */
static int host_resolve(weft_core *core, const char *host, int family,
                        void *sockaddr_out, size_t *len)
{
    return wf_hosts_lookup(host, family, sockaddr_out, len);
}

static void host_log(weft_core *core, int level, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (core->refusal && level <= WF_LOG_ERROR)
        core->refusal[0] = 0; /* an error replaces an earlier notice */
    if (core->refusal && !core->refusal[0])
        snprintf(core->refusal, WF_REFUSAL_MAX, "%.*s", WF_REFUSAL_MAX - 1,
                 text);
    if (!core->refusal || level > WF_LOG_ERROR) /* else the caller reports */
        wf_log(core->wf, level, "%s: %s", core->config->name, text);
}

const weft_host wf_host = {.size = sizeof wf_host,
                           .minor = WEFT_ABI_MINOR,
                           .rx = wf_arrive,
                           .rx_done = host_rx_done,
                           .tx_done = host_tx_done,
                           .get_done = host_get_done,
                           .rma_done = host_rma_done,
                           .tx_ready = host_tx_ready,
                           .locate = host_locate,
                           .auth_step = wf_auth_step,
                           .mac64 = wf_auth_mac64,
                           .peer_up = host_peer_up,
                           .peer_down = host_peer_down,
                           .now_ns = host_now_ns,
                           .resolve = host_resolve,
                           .log = host_log,
                           .rx_words = wf_arrive_words,
                           .tx_words = wf_fastpath_no_room,
                           .helping = host_helping,
                           .tx_close = host_tx_close,
                           .call_stands = host_call_stands,
                           .mac64_of = host_mac64_of};
