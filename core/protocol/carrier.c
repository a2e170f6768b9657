/* The choice of the transport that carries an ordered pair: see order.h.
 *
 *   FRESH --probed, or in use--> CALLED --reported, or given up--> BROKEN
 *     ^                                                              |
 *     +--------- new peer of the plugin, at the next round ----------+
 *
 * Callbacks only take notes (again_at, give_up, probe). The maintenance round,
 * wf_orders_maintain, runs when no plugin is on the stack, and acts on them. A
 * PING is answered on its own carrier, so an answer proves that it works.
 *
 * carrier_control.c sends acknowledgements and probes, carrier_silence.c
 * decides when a carrier counts as silent, carrier_launcher.c when a process
 * that refuses calls counts as gone.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/carrier.h"

#include <stdio.h>
#include <stdlib.h>

#include "config/config.h"
#include "progress/progress.h"
#include "protocol/carrier_control.h"
#include "protocol/carrier_deadline.h"
#include "protocol/carrier_launcher.h"
#include "protocol/carrier_silence.h"
#include "protocol/failure.h"
#include "protocol/location.h"
#include "protocol/measure.h"
#include "protocol/order.h"
#include "protocol/order_arrive.h"
#include "protocol/order_counts.h"
#include "protocol/stripe.h"
#include "protocol/traced.h"
#include "report/error.h"
#include "route/links.h"

#define CANDIDATE_NS  20000000u /* the current carrier may answer as late */
#define STAGGER_NS    5000000u  /* LOST: from the probe of one to the next */
#define AGAIN_NS      10000000u /* after a failed try; doubled each time */
enum {
    DOUBLINGS = 6,   /* of AGAIN_NS, at most */
    GOOD_PROBES = 3, /* in a row, before failback */
    PROBES = 4       /* in the route's failback time */
};

int wf_carrier_index_of(const struct wf_ordered *o,
                        const struct weft_core *core)
{
    for (int k = 0; k < o->carriers; k++)
        if (o->carrier[k].core == core)
            return k;
    return -1;
}

static const char *name_of(const struct wf_ordered *o, int k)
{
    return o->carrier[k].core->config->name;
}

/* 0 if `then` is later: a callback may read the clock after the round did. */
static uint64_t ns_since(uint64_t then, uint64_t now)
{
    return now > then ? now - then : 0;
}

/* Have a maintenance round run at the end of this poll. */
static void request_round(struct wf_ordered *o)
{
    wf_progress_request_resume(o->loc->wf);
}

void wf_carrier_note_blocked(struct wf_ordered *o, int k)
{
    o->carrier[k].blocked = true;
    wf_order_close_fast_path(o);
}

/* ---- losing and adopting ------------------------------------------------- */

static bool is_stuck(const struct wf_ordered *o)
{
    return o->stuck && o->first && o->una == o->stuck_una;
}

static void adopt_carrier(struct wf_ordered *o, int k)
{
    struct wf_instance *wf = o->loc->wf;
    int left = o->at;

    wf_log(wf, WF_LOG_INFO, "process %u on %s: messages now through '%s'",
           o->loc->id, o->loc->host ? o->loc->host : "unknown host",
           name_of(o, k));
    wf_trace_note_carrier(o->loc, WF_TRACE_FAILOVER, name_of(o, k));
    wf_order_close_fast_path(o);
    o->at = k;
    wf_measure_note_move(o, left, wf_now(wf));
    o->loc->lane[WF_LANE_ORDER].core = o->carrier[k].core;
    o->epoch++;
    o->counts[WF_ORDER_MOVES]++;
    o->candidate = o->failback_to = -1;
    o->lost_at = o->gone_at = o->silent_since = o->asked_since = 0;
    o->life_at = wf_now(wf); /* the peer has answered */
    o->failback_at = wf_now(wf) + o->failback / PROBES;
    wf_carrier_note_move(o, wf_now(wf));
    for (int i = 0; i < o->carriers; i++)
        o->carrier[i].probes_ok = 0;
    wf_order_send_waiting(o);
    wf_order_resume_senders(
        o); /* if all is acknowledged no other event would do so */
}

static void lose_carrier(struct wf_ordered *o, const char *why)
{
    wf_log(o->loc->wf, WF_LOG_INFO, "process %u: '%s' failed: %s", o->loc->id,
           name_of(o, o->at), why);
    wf_trace_note_carrier(o->loc, WF_TRACE_CARRIER_LOST, name_of(o, o->at));
    o->at = o->candidate = o->failback_to = -1;
    wf_carrier_excuse_absence(o, wf_now(o->loc->wf));
    o->lost_at = o->last_round_at;
    for (int k = 0; k < o->carriers; k++)
        o->carrier[k].probed_at = 0; /* an answer must be new */
}

/* Set a carrier to BROKEN and mark what it took to go again. */
static void mark_broken(struct wf_ordered *o, int k, const char *why)
{
    struct wf_carrier *c = &o->carrier[k];
    unsigned n = c->failed_tries < DOUBLINGS ? c->failed_tries : DOUBLINGS;

    c->again_at = wf_now(o->loc->wf) + (c->failed_tries ? AGAIN_NS << n : 0);
    if (why != o->why)
        snprintf(o->why, sizeof o->why, "%s", why);
    c->state = WF_CARRIER_BROKEN;
    c->give_up = c->blocked = c->probe = c->pong = c->up = c->landed = false;
    c->flight = (struct wf_flight){0};
    wf_order_mark_resend(o, k);
    c->probed_at = c->confirmed = 0;
    c->probes_ok = 0;
    if (c->failed_tries < UINT8_MAX)
        c->failed_tries++;
    if (k == o->candidate)
        o->candidate = -1;
    if (k == o->failback_to)
        o->failback_to = -1;
    if (k == o->at)
        lose_carrier(o, why);
    request_round(o);
}

void wf_carrier_give_up(struct wf_ordered *o, int k, const char *why)
{
    struct wf_carrier *c = &o->carrier[k];

    if (c->give_up || c->state == WF_CARRIER_BROKEN)
        return;
    wf_log(o->loc->wf, WF_LOG_INFO, "process %u: '%s' is given up: %s",
           o->loc->id, name_of(o, k), why);
    wf_order_close_fast_path(o);
    c->give_up = true; /* its peer may be on the stack now */
    request_round(o);
}

bool wf_carrier_handle_down(struct weft_loc *loc, struct weft_core *core,
                            int status, const char *why)
{
    struct wf_ordered *o = loc->order;
    int k = o ? wf_carrier_index_of(o, core) : -1;

    if (k < 0)
        return false;
    if (loc->wf->links->parting || o->failed ||
        o->carrier[k].state == WF_CARRIER_BROKEN)
        return true;
    if (status == WEFT_EPEER && !o->gone_at)
        o->gone_at = wf_now(loc->wf);
    o->carrier[k].gone = status == WEFT_EPEER;
    snprintf(o->why, sizeof o->why, "%s", why ? why : "connection lost");
    mark_broken(o, k, o->why);
    return true;
}

void wf_carrier_resume(struct weft_loc *loc, struct weft_core *core)
{
    struct wf_ordered *o = loc->order;
    int k = wf_carrier_index_of(o, core);

    if (k < 0)
        return;
    o->carrier[k].blocked = false;
    wf_carrier_send_due(o, k);
    if (k == o->at) {
        wf_order_send_waiting(o);
        wf_order_resume_senders(o);
    }
}

/* ---- hearing ------------------------------------------------------------- */

/* Doubt the current carrier; its_choice: the peer sends by another one now. */
static void doubt_current(struct wf_ordered *o, int candidate, bool its_choice)
{
    o->candidate = candidate;
    o->peer_moved = its_choice;
    o->candidate_at = wf_now(o->loc->wf);
    request_round(o);
}

/* Doubt the current carrier if the peer has moved to carrier k; but a pair that
 * measures may have moved for its own reasons. */
static void follow_peer(struct wf_ordered *o, int k)
{
    if (k == o->at || o->at < 0 || o->candidate >= 0 || o->measuring.every)
        return;
    o->carrier[o->at].probed_at = 0; /* an answer must be new */
    doubt_current(o, k, true);
}

void wf_carrier_note_heard(struct wf_ordered *o, struct weft_core *core,
                           uint8_t epoch)
{
    struct wf_carrier *c;
    int k = o->at;

    if (wf_unlikely(k < 0 || o->carrier[k].core != core))
        k = wf_carrier_index_of(o, core);
    if (wf_unlikely((int8_t)(epoch - o->peer_epoch) > 0)) {
        o->peer_epoch = epoch;
        follow_peer(o, k);
    }
    c = &o->carrier[k];
    c->up = true;
    c->heard++;
    if (wf_unlikely(c->failed_tries || c->gone)) {
        c->failed_tries = 0;
        c->gone = false;
        o->gone_at = 0;
    }
}

/* Process the answer to a probe of carrier k. */
static void note_answer(struct wf_ordered *o, int k)
{
    struct wf_carrier *c = &o->carrier[k];
    uint64_t now = wf_now(o->loc->wf);

    c->probed_at = 0;
    wf_measure_note_answer(o, k, now);
    c->answered_at = c->flight.progressed_at = now;
    c->flight.doubt_at = 0;
    if (c->probes_ok < UINT8_MAX)
        c->probes_ok++;
    if (o->at < 0) {
        adopt_carrier(o, k);
    } else if (k == o->at) {
        o->silent_since = 0;
        o->candidate = -1;
    } else if (k < o->at) {
        if (o->failback && c->probes_ok >= GOOD_PROBES && o->failback_to < 0) {
            wf_order_close_fast_path(o);
            o->failback_to = k;
        }
        request_round(o);
    }
    if (k != o->at && o->silent_since && o->candidate < 0 &&
        wf_carrier_is_ack_overdue(o, now))
        doubt_current(o, k, false);
}

void wf_carrier_take_control(struct wf_ordered *o, struct weft_core *core,
                             const struct wf_wire *w)
{
    int k = wf_carrier_index_of(o, core);

    switch (w->type & ~(unsigned)WF_SEQUENCED) {
    case WF_PING:
        if (o->carrier[k].state == WF_CARRIER_FRESH)
            o->carrier[k].state = WF_CARRIER_TRIED;
        o->carrier[k].pong = true;
        wf_carrier_send_due(o, k);
        break;
    case WF_PONG:
        if (o->carrier[k].probed_at)
            note_answer(o, k);
        break;
    default: /* the header of an ACK is all of it: wf_order_process_header */
        break;
    }
}

void wf_carrier_connect(struct wf_ordered *o)
{
    struct wf_carrier *c = o->at >= 0 ? &o->carrier[o->at] : NULL;

    if (!o->called_at)
        o->called_at = wf_now(o->loc->wf);
    if (c && c->state == WF_CARRIER_TRIED &&
        WEFT_HAS(c->core->ops, weft_ops, connect))
        c->core->ops->connect(o->loc->peers[c->core->index]);
}

/* ---- the maintenance round ----------------------------------------------- */

/* Replace a used-up peer. Deleting it returns what the plugin holds. */
static void renew_peer(struct wf_ordered *o, int k)
{
    struct wf_carrier *c = &o->carrier[k];
    struct weft_core *core = c->core;
    weft_peer **peer = &o->loc->peers[core->index];

    if (*peer)
        core->ops->peer_del(*peer, 1);
    *peer = NULL;
    if (wf_location_attach(o->loc, core) == 0) {
        c->state = WF_CARRIER_FRESH;
        o->counts[WF_ORDER_RECONNECTS]++;
        return;
    }
    c->again_at = wf_now(o->loc->wf) + (AGAIN_NS << DOUBLINGS);
    if (c->failed_tries < UINT8_MAX)
        c->failed_tries++;
}

/* Delete the plugins' peers. The other process may live and be cut off in one
 * direction only: so it sees its connections end instead of waiting. */
static void delete_peers(struct wf_ordered *o)
{
    for (int k = 0; k < o->carriers; k++) {
        struct weft_core *core = o->carrier[k].core;
        weft_peer **peer = &o->loc->peers[core->index];
        if (*peer)
            core->ops->peer_del(*peer, 1);
        *peer = NULL;
    }
}

/* Let the location fail; the reason is o->why with `what` behind it. */
static void declare_dead(struct wf_ordered *o, const char *what)
{
    char why[sizeof o->why + 100];

    snprintf(why, sizeof why, "%s%s", o->why, what);
    delete_peers(o);
    wf_location_down(o->loc, WEFT_EPEER, why);
}

void wf_carrier_declare_dead(struct wf_ordered *o, const char *why)
{
    snprintf(o->why, sizeof o->why, "%s", why);
    declare_dead(o, "");
}

/* LOST: probe all carriers, best first, and decide whether the peer is dead. */
static void search_carriers(struct wf_ordered *o, uint64_t now)
{
    for (int k = 0; k < o->carriers; k++)
        if (ns_since(o->lost_at, now) >= (uint64_t)k * STAGGER_NS)
            wf_carrier_request_probe(o, k);
    wf_carrier_look_beside(o, now);
    if (wf_carrier_gone(o, now))
        declare_dead(o, "");
    else if (wf_carrier_is_search_over(o, now))
        declare_dead(o, "; no other way for the time that the route allows");
}

/* RUN: leave the current carrier if it is silent, or the peer if all are. */
static void check_silence(struct wf_ordered *o, uint64_t now)
{
    if (wf_carrier_is_peer_lifeless(o, now)) {
        snprintf(o->why, sizeof o->why,
                 "neither it nor its host has answered by any transport of "
                 "its route for %llu ms (timeout of the route)",
                 (unsigned long long)(o->timeout / 1000000));
        declare_dead(o, "");
        return;
    }
    if (o->candidate < 0 && !wf_carrier_is_silent(o, now))
        return;
    for (int k = 0; k < o->carriers; k++)
        wf_carrier_request_probe(o, k);
    if (o->candidate < 0 || ns_since(o->candidate_at, now) <
                                wf_carrier_back_off_limit(o, CANDIDATE_NS, now))
        return;
    if (!o->peer_moved && wf_carrier_has_traffic(o, o->at)) {
        o->candidate = -1;
        wf_carrier_restart_silence(o, now);
    } else {
        int candidate = o->candidate, old = o->at;
        mark_broken(o, old, "it is silent");
        renew_peer(o, old);
        adopt_carrier(o, candidate);
    }
}

/* Probe better carriers than the current one, or measure all, and move to one
 * once all is acknowledged. */
static void consider_move(struct wf_ordered *o, uint64_t now)
{
    bool measures = o->measuring.every;

    if (o->failback_to >= 0 && o->at >= 0 && o->first == o->unsent) {
        o->counts[measures ? WF_ORDER_MEASURED : WF_ORDER_FAILBACKS]++;
        adopt_carrier(o, o->failback_to);
        return;
    }
    if (measures && o->failback_to < 0)
        wf_measure_maintain(o, now);
    if (o->at <= 0 || !o->failback || now < o->failback_at)
        return;
    o->failback_at = now + o->failback / PROBES;
    for (int k = 0; k < o->at; k++) {
        if (o->carrier[k].probed_at)
            o->carrier[k].probes_ok = 0; /* it did not answer in time */
        wf_carrier_request_probe(o, k);
    }
}

static void maintain_order(struct wf_ordered *o, uint64_t now)
{
    wf_carrier_excuse_absence(o, now);
    for (int k = 0; k < o->carriers; k++) {
        struct wf_carrier *c = &o->carrier[k];
        if (c->give_up) {
            mark_broken(o, k, "it was given up");
            c->again_at = now; /* the plugin must return what it holds */
        }
        if (c->state == WF_CARRIER_BROKEN && c->again_at <= now)
            renew_peer(o, k);
    }
    wf_order_redeliver(o);
    if (is_stuck(o))
        declare_dead(o, "; it answers, but nothing that is sent to it is "
                        "acknowledged: large packets may be dropped on the way "
                        "(MTU)");
    else if (o->at < 0)
        search_carriers(o, now);
    else
        check_silence(o, now);
    if (o->failed)
        return;
    consider_move(o, now);
    if (o->stripe)
        wf_stripe_maintain(o, now);
    for (int k = 0; k < o->carriers; k++)
        wf_carrier_send_due(o, k);
    if (o->owed && !o->owed_since)
        o->owed_since = now;
    else if (o->owed && ns_since(o->owed_since, now) >= WF_CARRIER_ACK_NS &&
             o->at >= 0)
        wf_carrier_send_ack(o, NULL);
    wf_order_send_waiting(o);
    wf_order_resume_senders(o);
}

void wf_orders_maintain(struct wf_instance *wf)
{
    const struct wf_links *links = wf->links;
    uint64_t now;

    if (!links->orders || links->parting)
        return;
    now = wf_now(wf);
    for (struct wf_ordered *o = links->orders; o; o = o->next_order)
        if (!o->failed)
            maintain_order(o, now);
}

void wf_orders_finish(struct wf_instance *wf)
{
    for (struct wf_ordered *o = wf->links->orders; o; o = o->next_order)
        if (!o->failed && o->owed && o->at >= 0)
            wf_carrier_send_ack(o, NULL);
    wf->links->parting = true;
    wf_orders_report(wf);
}
