/* Failure of a location: when a peer, or the last connection to it, is gone,
 * everything that waits for it ends with WEFT_EPEER, or with the status of
 * what this process lacks. No operation waits for ever for a dead process: one
 * that died before it ever connected is noticed because long waits connect to
 * it.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/failure.h"

#include <stdlib.h>

#include "boot/abort.h"
#include "boot/boot.h"
#include "config/config.h"
#include "process/rank.h"
#include "progress/launcher.h"
#include "progress/wait.h"
#include "protocol/active.h"
#include "protocol/carrier.h"
#include "protocol/death.h"
#include "protocol/location.h"
#include "protocol/message.h"
#include "protocol/order.h"
#include "protocol/order_fast.h"
#include "protocol/rendezvous.h"
#include "protocol/send_side.h"
#include "protocol/traced.h"
#include "report/error.h"
#include "route/links.h"

static void fail_request(struct wf_p2p *p, struct weft_loc *loc)
{
    if (!p->loc && wf_location_lacks_resources(loc))
        p->loc = loc; /* its failure explains the error */
    wf_req_complete(&p->req, wf_req_mark_link_lost(&p->req, loc->down_status));
}

/* Whether a receive ends with this location. A wildcard receive may still be
 * matched by a living process, but may as well wait for the dead one: it ends
 * when the peer belongs to its communicator. */
static bool is_waiting_for(const struct wf_p2p *p, const struct weft_loc *loc)
{
    if (p->loc)
        return p->loc == loc;
    return wf_group_rank_of(p->req.comm->peers, loc->id) != MPI_UNDEFINED;
}

static void fail_posted(struct wf_posted *r, void *arg)
{
    struct wf_p2p *p = wf_container(r, struct wf_p2p, posted);
    struct weft_loc *loc = arg;

    if (!is_waiting_for(p, loc))
        return;
    wf_match_unpost(&loc->wf->engine->match, r);
    fail_request(p, loc);
}

/* Fail the requests of a table that wait for the location; their number. */
static int fail_table(struct wf_slots *table, struct weft_loc *loc)
{
    int n = 0;

    for (uint32_t i = 0; i < table->size; i++) {
        struct wf_p2p *p = table->slots[i].object;
        if (!p || p->loc != loc || p->waits & WF_WAITS_TX)
            continue;
        p->waits = 0;
        wf_slot_release(loc->wf->engine, p);
        fail_request(p, loc);
        n++;
    }
    return n;
}

/* Tell the launcher that this process has given up others, which may live on
 * and wait: our messages do not arrive, or there is no memory for them. */
static void report_given_up(struct wf_instance *wf)
{
    struct weft_loc *loc;

    for (uint32_t at = 0;
         wf->engine->unreported && (loc = wf_links_next(wf->links, &at));) {
        if (!loc->unreported)
            continue;
        if (!wf->links->parting && !wf_launcher_give_up(wf, loc->id))
            return; /* later */
        loc->unreported = false;
        wf->engine->unreported--;
    }
}

void wf_location_down(struct weft_loc *loc, int status, const char *why)
{
    struct wf_instance *wf = loc->wf;
    struct wf_engine *e = wf->engine;
    uint32_t posted;
    int failed;

    if (loc->failed)
        return;
    wf_side_take_back(loc);
    loc->failed = true;
    if (WF_TRACING(wf))
        wf_trace_note(wf, WF_TRACE_DISCONNECT,
                      &(struct wf_trace_about){.peer = wf_trace_peer(loc)});
    if (!loc->parting)
        wf_death_note(wf, loc->id);
    if (!loc->parting && status != WEFT_EUNREACH) {
        loc->unreported = true;
        e->unreported++;
        report_given_up(wf);
    }
    wf_location_update_fastpath(loc);
    e->failures++;
    loc->down_status = status;
    if (why && !loc->down_reason)
        loc->down_reason = strdup(why);
    posted = wf_match_posted_count(&e->match);
    wf_message_drop_fifo(loc, status);
    wf_order_drop_retained(loc, status);
    wf_match_each_posted(&e->match, fail_posted, loc);
    posted -= wf_match_posted_count(&e->match);
    for (struct wf_flag_wait *w = e->flag_waits; w; w = w->next)
        posted += w->loc == loc;
    failed = fail_table(&e->pending, loc) + fail_table(&e->matched, loc);
    wf_active_lose(loc);
    if (loc->parting && !posted && !failed)
        return;
    wf_log(wf, posted || failed ? WF_LOG_WARN : WF_LOG_INFO,
           "process %u on %s %s: %s", loc->id,
           loc->host ? loc->host : "unknown host", wf_location_down_verb(loc),
           wf_location_down_text(loc));
    if (wf->api.on)
        wf_progress_notify(wf); /* probes wait for no request */
    wf_deaths_spread(wf);
    if (!loc->parting && wf->rank->options->on_failure == WF_FAIL_ABORT &&
        (posted || failed))
        wf_abort(wf, 1,
                 "weft " WEFT_VERSION ": rank %u on %s: process %u on "
                 "%s %s: %s (core.on_failure = abort)",
                 wf->rank->id, wf->rank->host, loc->id,
                 loc->host ? loc->host : "unknown host",
                 wf_location_down_verb(loc), wf_location_down_text(loc));
}

/* ---- noticing ------------------------------------------------------------ */

/* The `send` of a lane whose plugin is not used any more. */
static int refuse_send(weft_peer *peer, weft_tx *tx)
{
    return WEFT_EAGAIN;
}

/* Make containers that are sent from now on wait in the FIFO of the lane. */
static void close_lane(struct wf_lane *l)
{
    l->send = refuse_send;
    l->send_short = NULL;
    l->send_words = NULL;
    l->recv_words = NULL;
}

/* The plugins return everything that they hold before the peer counts as
 * gone. */
void wf_location_end(struct weft_loc *loc, int status, const char *why)
{
    struct weft_core *eps = loc->wf->links->eps;

    for (unsigned i = 0; i < loc->lanes; i++)
        close_lane(&loc->lane[i]);
    wf_location_update_fastpath(loc);
    for (int k = 0; k < loc->wf->links->ep_count; k++) {
        weft_peer *peer = loc->peers[k];
        loc->peers[k] = NULL;
        if (peer)
            eps[k].ops->peer_del(peer, 1);
    }
    wf_location_down(loc, status, why);
}

enum { CALL_MAX = 64 /* members connected to for one wildcard receive */ };

const struct weft_loc *wf_any_failed(const struct wf_comm *comm)
{
    struct wf_instance *wf = comm->wf;
    struct weft_loc *loc;

    if (wf_likely(!wf->engine->failures))
        return NULL;
    for (uint32_t at = 0; (loc = wf_links_next(wf->links, &at));)
        if (loc->failed &&
            wf_group_rank_of(comm->peers, loc->id) != MPI_UNDEFINED)
            return loc;
    return NULL;
}

int wf_check_any_source(struct wf_comm *comm)
{
    const struct weft_loc *loc = wf_any_failed(comm);

    if (wf_likely(!loc))
        return 0;
    return wf_fail(wf_location_status(loc),
                   "of the sources of MPI_ANY_SOURCE, process %u on %s %s: %s",
                   loc->id, loc->host ? loc->host : "unknown host",
                   wf_location_down_verb(loc), wf_location_down_text(loc));
}

/* Connect to a location, which counts as gone if its process has ended before.
 * true: it is connected. */
static bool connect_location(struct weft_loc *loc)
{
    wf_error_forget();
    if (wf_location_connect(loc) == 0)
        return true;
    if (wf_status_is_loss(wf_error_last()->status))
        wf_location_down(loc, WEFT_EPEER, wf_error_last()->text);
    return false;
}

void wf_location_watch(struct weft_loc *loc)
{
    struct wf_lane *l = &loc->lane[WF_LANE_ORDER];

    if (!loc->failed && !loc->lanes && !connect_location(loc))
        return;
    if (loc->failed)
        return;
    if (loc->order)
        wf_carrier_connect(loc->order);
    else if (WEFT_HAS(l->core->ops, weft_ops, connect))
        l->core->ops->connect(loc->peers[l->core->index]);
}

static void watch_posted(struct wf_posted *r, void *arg)
{
    struct wf_p2p *p = wf_container(r, struct wf_p2p, posted);
    struct wf_group *peers = p->req.comm->peers;
    struct wf_instance *wf = arg;

    if (p->loc)
        wf_location_watch(p->loc);
    for (int i = 0; !p->loc && i < peers->size && i < CALL_MAX; i++) {
        struct weft_loc *loc = wf_location(wf, wf_group_proc(peers, i));
        if (loc)
            wf_location_watch(loc);
    }
}

static const char given_up[] =
    "it has given this process up: what one of them sends does not reach the "
    "other";

/* End the locations of processes that have given this one up. Such a process
 * sends nothing to us any more, and may live on: where our messages reach it
 * and nothing comes back, we learn so only from the launcher. */
void wf_failure_hear_launcher(struct wf_instance *wf)
{
    uint32_t id;

    wf_launcher_hear(wf);
    report_given_up(wf);
    while (wf_launcher_take_loser(wf, &wf->engine->losers, &id)) {
        struct weft_loc *loc = wf_links_find(wf->links, id);
        if (loc && !loc->failed && loc->order)
            wf_carrier_declare_dead(loc->order, given_up);
        else if (loc && !loc->failed)
            wf_location_end(loc, WEFT_ELINK, given_up);
        wf_death_note(wf,
                      wf->rank->id); /* others are told so, and rely on it */
        wf_deaths_spread(wf);
    }
}

void wf_flag_wait_begin(struct wf_instance *wf, struct wf_flag_wait *wait)
{
    wait->next = wf->engine->flag_waits;
    wf->engine->flag_waits = wait;
}

void wf_flag_wait_end(struct wf_instance *wf, struct wf_flag_wait *wait)
{
    struct wf_flag_wait **at = &wf->engine->flag_waits;

    while (*at != wait)
        at = &(*at)->next;
    *at = wait->next;
}

int wf_wait_unless_lost(struct wf_req *r, bool (*lost)(const struct wf_req *),
                        const void *context, MPI_Status *status)
{
    if (!wf_req_done(r) && r->type != WF_REQ_NOOP) {
        r->context = (void *)(uintptr_t)context;
        r->lost = lost;
    }
    return wf_wait(&r, status);
}

void wf_failure_watch(struct wf_instance *wf)
{
    wf_failure_hear_launcher(wf);
    wf_match_each_posted(&wf->engine->match, watch_posted, wf);
    for (struct wf_flag_wait *w = wf->engine->flag_waits; w; w = w->next)
        wf_location_watch(w->loc);
    if (wf->engine->probed)
        wf_location_watch(wf->engine->probed);
    wf->engine->probed = NULL;
}
