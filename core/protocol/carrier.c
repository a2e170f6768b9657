/* Which transport carries an ordered pair: see order.h.
 *
 *   FRESH --called, or in use--> CALLED --reported, or given up--> BROKEN
 *     ^                                                              |
 *     +------------- a new peer of the plugin, at the next turn -----+
 *
 * Callbacks only take notes (again_at, give_up, probe); the turn, which runs
 * when no plugin is on the stack, does what they ask for. Every PING is
 * answered on the carrier that it came by, so an answer proves this carrier.
 *
 * What carriers say to each other: carrier_say.c. When one counts as silent:
 * carrier_silence.c; when a process that refuses counts as gone: carrier_gone.c.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>

#include "protocol/order.h"

#define ACK_NS 1000000u
#define HEIR_NS 20000000u    /* the current one may still answer */
#define STAGGER_NS 5000000u  /* between calls of the carriers when all are lost */
#define AGAIN_NS 10000000u   /* after a failed call; doubled each time */
#define LOST_TURN_NS 2000000u
#define SEARCH_NS 500000000u /* at least, for another way */
enum { DOUBLINGS = 6, GOOD_PROBES = 3, PROBES = 4 };

int wf_carrier_of(const struct wf_ordered *o, const struct weft_core *core)
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

/* A callback may have looked at the clock after the turn did. */
static uint64_t since(uint64_t then, uint64_t now)
{
    return now > then ? now - then : 0;
}

static void hurry(struct wf_ordered *o)
{
    o->loc->wf->rx_stalled = true;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void wf_carrier_blocked(struct wf_ordered *o, int k)
{
    o->carrier[k].blocked = true;
    wf_order_unusual(o);
}

/* ---- losing and adopting -------------------------------------------------------- */

static bool is_stuck(const struct wf_ordered *o)
{
    return o->stuck && o->first && o->una == o->stuck_una;
}

static void adopt(struct wf_ordered *o, int k)
{
    struct wf_instance *wf = o->loc->wf;

    wf_log(wf, WF_LOG_INFO, "process %u on %s: messages now through '%s'",
           o->loc->id, o->loc->host ? o->loc->host : "unknown host",
           name_of(o, k));
    wf_order_unusual(o);
    o->at = k;
    o->loc->lane[WF_LANE_ORDER].core = o->carrier[k].core;
    o->epoch++;
    o->counts[WF_ORDER_MOVES]++;
    o->heir = o->back = -1;
    o->lost_at = o->gone_at = o->silent_since = 0;
    o->life_at = wf_now(wf); /* it has answered */
    o->failback_at = wf_now(wf) + o->failback / PROBES;
    wf_carrier_note_move(o, wf_now(wf));
    for (int i = 0; i < o->carriers; i++)
        o->carrier[i].good = 0;
    wf_order_push(o);
    wf_order_room(o); /* all may be acknowledged: no other event would */
}

static void lose(struct wf_ordered *o, const char *why)
{
    wf_log(o->loc->wf, WF_LOG_INFO, "process %u: '%s' failed: %s", o->loc->id,
           name_of(o, o->at), why);
    o->at = o->heir = o->back = -1;
    wf_carrier_excuse(o, wf_now(o->loc->wf));
    o->lost_at = o->turned_at;
    for (int k = 0; k < o->carriers; k++)
        o->carrier[k].probed_at = 0; /* an answer must be new */
}

/* Note that a carrier is used up. */
static void broken(struct wf_ordered *o, int k, const char *why)
{
    struct wf_carrier *c = &o->carrier[k];
    unsigned n = c->fails < DOUBLINGS ? c->fails : DOUBLINGS;

    c->again_at = wf_now(o->loc->wf) + (c->fails ? AGAIN_NS << n : 0);
    if (why != o->why)
        snprintf(o->why, sizeof o->why, "%s", why);
    c->state = WF_CARRIER_BROKEN;
    c->give_up = c->blocked = c->probe = c->pong = c->up = c->landed = false;
    c->flight = (struct wf_flight){0};
    wf_order_rewind(o, k);
    c->probed_at = c->confirmed = 0;
    c->good = 0;
    if (c->fails < UINT8_MAX)
        c->fails++;
    if (k == o->heir)
        o->heir = -1;
    if (k == o->back)
        o->back = -1;
    if (k == o->at)
        lose(o, why);
    hurry(o);
}

void wf_carrier_fault(struct wf_ordered *o, int k, const char *why)
{
    struct wf_carrier *c = &o->carrier[k];

    if (c->give_up || c->state == WF_CARRIER_BROKEN)
        return;
    wf_log(o->loc->wf, WF_LOG_INFO, "process %u: '%s' is given up: %s",
           o->loc->id, name_of(o, k), why);
    wf_order_unusual(o);
    c->give_up = true; /* its peer goes when it is not on the stack */
    hurry(o);
}

bool wf_carrier_down(struct weft_loc *loc, struct weft_core *core, int status,
                     const char *why)
{
    struct wf_ordered *o = loc->order;
    int k = o ? wf_carrier_of(o, core) : -1;

    if (k < 0)
        return false;
    if (loc->wf->parting || o->failed ||
        o->carrier[k].state == WF_CARRIER_BROKEN)
        return true;
    if (status == WEFT_EPEER && !o->gone_at)
        o->gone_at = wf_now(loc->wf);
    o->carrier[k].gone = status == WEFT_EPEER;
    snprintf(o->why, sizeof o->why, "%s", why ? why : "connection lost");
    broken(o, k, o->why);
    return true;
}

void wf_carrier_ready(struct weft_loc *loc, struct weft_core *core)
{
    struct wf_ordered *o = loc->order;
    int k = wf_carrier_of(o, core);

    if (k < 0)
        return;
    o->carrier[k].blocked = false;
    wf_carrier_say_due(o, k);
    if (k == o->at) {
        wf_order_push(o);
        wf_order_room(o);
    }
}

/* ---- hearing ------------------------------------------------------------------------ */

static void doubt(struct wf_ordered *o, int heir, bool its_choice)
{
    o->heir = heir;
    o->moved = its_choice;
    o->heir_at = wf_now(o->loc->wf);
    hurry(o);
}

/* The peer sends by another carrier than before. */
static void moved(struct wf_ordered *o, int k)
{
    if (k == o->at || o->at < 0 || o->heir >= 0)
        return;
    o->carrier[o->at].probed_at = 0; /* an answer must be new */
    doubt(o, k, true);
}

void wf_carrier_heard(struct wf_ordered *o, struct weft_core *core, uint8_t epoch)
{
    struct wf_carrier *c;
    int k = o->at;

    if (wf_unlikely(k < 0 || o->carrier[k].core != core))
        k = wf_carrier_of(o, core);
    if (wf_unlikely((int8_t)(epoch - o->peer_epoch) > 0)) {
        o->peer_epoch = epoch;
        moved(o, k);
    }
    c = &o->carrier[k];
    c->up = true;
    c->heard++;
    if (wf_unlikely(c->fails || c->gone)) {
        c->fails = 0;
        c->gone = false;
        o->gone_at = 0;
    }
}

static void answered(struct wf_ordered *o, int k)
{
    struct wf_carrier *c = &o->carrier[k];
    uint64_t now = wf_now(o->loc->wf);

    c->probed_at = 0;
    c->answered_at = c->flight.stirred_at = now;
    c->flight.doubt_at = 0;
    if (c->good < UINT8_MAX)
        c->good++;
    if (o->at < 0) {
        adopt(o, k);
    } else if (k == o->at) { /* late, but there */
        o->silent_since = 0;
        o->heir = -1;
    } else if (k < o->at) {
        if (o->failback && c->good >= GOOD_PROBES && o->back < 0) {
            wf_order_unusual(o);
            o->back = k;
        }
        hurry(o);
    }
    if (k != o->at && o->silent_since && o->heir < 0 &&
        wf_carrier_waited(o, now))
        doubt(o, k, false);
}

void wf_carrier_control(struct wf_ordered *o, struct weft_core *core,
                        const struct wf_wire *w)
{
    int k = wf_carrier_of(o, core);

    switch (w->type & ~(unsigned)WF_SEQUENCED) {
    case WF_PING:
        if (o->carrier[k].state == WF_CARRIER_FRESH)
            o->carrier[k].state = WF_CARRIER_CALLED;
        o->carrier[k].pong = true;
        wf_carrier_say_due(o, k);
        break;
    case WF_PONG:
        if (o->carrier[k].probed_at)
            answered(o, k);
        break;
    default: /* an ACK has said it all in its header */
        break;
    }
}

void wf_carrier_watch(struct wf_ordered *o)
{
    struct wf_carrier *c = o->at >= 0 ? &o->carrier[o->at] : NULL;

    if (c && c->state == WF_CARRIER_CALLED &&
        WEFT_HAS(c->core->ops, weft_ops, connect))
        c->core->ops->connect(o->loc->peers[c->core->index]);
}

/* ---- the turn -------------------------------------------------------------------------- */

/* A used-up peer is replaced: what it had of ours and we of its comes back. */
static void renew(struct wf_ordered *o, int k)
{
    struct wf_carrier *c = &o->carrier[k];
    struct weft_core *core = c->core;
    weft_peer **peer = &o->loc->peers[core->index];

    if (*peer)
        core->ops->peer_del(*peer, 1);
    *peer = NULL;
    if (!core->down && wf_location_attach(o->loc, core) == 0) {
        c->state = WF_CARRIER_FRESH;
        o->counts[WF_ORDER_RECONNECTS]++;
        return;
    }
    c->again_at = wf_now(o->loc->wf) + (AGAIN_NS << DOUBLINGS);
    if (c->fails < UINT8_MAX)
        c->fails++;
}

/* The other process may live and be cut off one way only: it hears the ends of
 * connections, and calls in vain, instead of waiting for what will not come. */
static void let_go(struct wf_ordered *o)
{
    for (int k = 0; k < o->carriers; k++) {
        struct weft_core *core = o->carrier[k].core;
        weft_peer **peer = &o->loc->peers[core->index];
        if (*peer)
            core->ops->peer_del(*peer, 1);
        *peer = NULL;
    }
}

static void dead(struct wf_ordered *o, const char *what)
{
    char why[sizeof o->why + 100];

    snprintf(why, sizeof why, "%s%s", o->why, what);
    let_go(o);
    wf_location_down(o->loc, WEFT_EPEER, why);
}

void wf_carrier_end(struct wf_ordered *o, const char *why)
{
    snprintf(o->why, sizeof o->why, "%s", why);
    dead(o, "");
}

/* Nothing works: call all, the best first, and judge. */
static void search(struct wf_ordered *o, uint64_t now)
{
    for (int k = 0; k < o->carriers; k++)
        if (since(o->lost_at, now) >= (uint64_t)k * STAGGER_NS)
            wf_carrier_probe(o, k);
    wf_carrier_look_beside(o, now);
    if (wf_carrier_gone(o, now))
        dead(o, "");
    else if (since(o->life_at, now) >= o->timeout &&
             since(o->lost_at, now) >= least(SEARCH_NS, o->timeout))
        dead(o, "; no other way for the time that the route allows");
}

static void suspect(struct wf_ordered *o, uint64_t now)
{
    if (wf_carrier_lifeless(o, now)) {
        snprintf(o->why, sizeof o->why,
                 "neither it nor its host has answered by any transport of "
                 "its route for %llu ms (timeout of the route)",
                 (unsigned long long)(o->timeout / 1000000));
        dead(o, "");
        return;
    }
    if (o->heir < 0 && !wf_carrier_silent(o, now))
        return;
    for (int k = 0; k < o->carriers; k++)
        wf_carrier_probe(o, k);
    if (o->heir < 0 ||
        since(o->heir_at, now) < wf_carrier_backed_off(o, HEIR_NS, now))
        return;
    if (!o->moved && wf_carrier_lives(o, o->at)) {
        o->heir = -1;
        wf_carrier_stir(o, now);
    } else {
        int heir = o->heir, old = o->at;
        broken(o, old, "it is silent");
        renew(o, old);
        adopt(o, heir);
    }
}

static void look_back(struct wf_ordered *o, uint64_t now)
{
    if (o->at <= 0 || !o->failback)
        return;
    if (o->back >= 0 && o->first == o->unsent) { /* none is on its way */
        o->counts[WF_ORDER_FAILBACKS]++;
        adopt(o, o->back);
        return;
    }
    if (now < o->failback_at)
        return;
    o->failback_at = now + o->failback / PROBES;
    for (int k = 0; k < o->at; k++) {
        if (o->carrier[k].probed_at)
            o->carrier[k].good = 0; /* it did not answer in time */
        wf_carrier_probe(o, k);
    }
}

static void turn(struct wf_ordered *o, uint64_t now)
{
    wf_carrier_excuse(o, now);
    for (int k = 0; k < o->carriers; k++) {
        struct wf_carrier *c = &o->carrier[k];
        if (c->give_up) {
            broken(o, k, "it was given up");
            c->again_at = now; /* what it was lent must come back */
        }
        if (c->state == WF_CARRIER_BROKEN && c->again_at <= now)
            renew(o, k);
    }
    wf_order_redeliver(o);
    if (is_stuck(o))
        dead(o, "; it answers, but nothing that is sent to it is acknowledged: "
                "large packets may be dropped on the way (MTU)");
    else if (o->at < 0)
        search(o, now);
    else
        suspect(o, now);
    if (o->failed)
        return;
    look_back(o, now);
    if (o->stripe)
        wf_stripe_turn(o, now);
    for (int k = 0; k < o->carriers; k++)
        wf_carrier_say_due(o, k);
    if (o->owed && !o->owed_since)
        o->owed_since = now;
    else if (o->owed && since(o->owed_since, now) >= ACK_NS && o->at >= 0)
        wf_carrier_ack(o, NULL);
    wf_order_push(o);
    wf_order_room(o);
}

void wf_orders_turn(struct wf_instance *wf)
{
    uint64_t now;

    if (!wf->orders || wf->parting)
        return;
    now = wf_now(wf);
    for (struct wf_ordered *o = wf->orders; o; o = o->next_order)
        if (!o->failed)
            turn(o, now);
}

static uint64_t due(const struct wf_ordered *o, uint64_t now)
{
    uint64_t at = UINT64_MAX;

    if (o->failed)
        return at;
    if (o->owed)
        at = (o->owed_since ? o->owed_since : now) + ACK_NS;
    if (o->at < 0 || o->heir >= 0 || wf_stripe_doubts(o))
        at = least(at, now + LOST_TURN_NS);
    else if (o->first)
        at = least(at, wf_carrier_next_look(o, now));
    if (o->at >= 0)
        at = least(at, o->life_due);
    if (o->at > 0 && o->failback)
        at = least(at, o->failback_at);
    for (int k = 0; k < o->carriers; k++)
        if (o->carrier[k].state == WF_CARRIER_BROKEN)
            at = least(at, o->carrier[k].again_at);
    return at;
}

uint64_t wf_orders_deadline(struct wf_instance *wf)
{
    uint64_t now, first = UINT64_MAX;

    if (!wf->orders || wf->parting)
        return 0;
    now = wf_now(wf);
    for (struct wf_ordered *o = wf->orders; o; o = o->next_order) {
        if (o->first && !o->silent_since)
            o->silent_since = now; /* not from the end of this sleep on */
        first = least(first, due(o, now));
    }
    if (wf->rx_stalled)
        first = now;
    wf->rx_stalled = true; /* the turn after the sleep looks at the clock */
    return first == UINT64_MAX ? 0 : first;
}

void wf_orders_part(struct wf_instance *wf)
{
    for (struct wf_ordered *o = wf->orders; o; o = o->next_order)
        if (!o->failed && o->owed && o->at >= 0)
            wf_carrier_ack(o, NULL);
    wf->parting = true;
    wf_orders_report(wf);
}
