/* Is the current carrier of a pair silent, and is the peer? See carrier.c.
 *
 * SILENCE  A peer that computes answers nowhere, so silence alone proves
 * nothing. After SILENT_NS without an acknowledgement all are probed: when
 * another one answers (the heir) and the current one does not within HEIR_NS, it
 * is given up. But on a path that is full an answer stands in a queue behind
 * megabytes, or behind a gap that is being repaired: as long as anything passes,
 * as the plugin knows (weft_ops.traffic), there is no silence. A peer that has
 * moved to another carrier had a reason: that carrier is the heir at once, and
 * takes our acknowledgements.
 *
 * LIFE  When all are silent nobody answers for another, and the peer may compute.
 * Its host then tells it from a dead one: transports ask the host
 * (weft_ops.silent). There is one clock for all carriers, from the last sign by
 * any of them, whatever happens to carriers in the meantime; when it has run for
 * the route's timeout the process counts as gone. A carrier that nothing has
 * used yet hears nothing: when half of that time is over all are probed, which
 * also connects them, and each has a part of the timeout to answer. A carrier
 * that cannot tell stops the clock while it is the current one. Another one that
 * cannot tell, because the host hides behind a firewall, still shows by what it
 * has had confirmed (weft_ops.traffic) that the host is there: a kernel
 * acknowledges the bytes of a probe that its process does not read. Datagrams
 * are confirmed by the process alone. So a process that computes counts as gone
 * when the path to a host that answers dies, and all others are of datagrams and
 * behind a firewall: then it cannot be told from a dead one, which must not be
 * waited for. While none is
 * current the clock goes on, though hosts may answer: a process that was not
 * reached by any way for so long is of no use. But a connection on which the
 * process was heard, and whose host answers there, is a way: its process
 * computes. Time in which this process made no turn does not count.
 *
 * BACKOFF  Where processors are short of time every carrier is silent for that
 * long now and then, and a move, which sends everything again, makes it worse. So
 * a move that follows another one without anything acknowledged in between
 * doubles these times for the pair, and every other second halves them.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/order.h"

#define SILENT_NS 50000000u /* without an acknowledgement of what was sent */
#define STILL_NS 20000000u  /* from here on nothing may have passed */
#define LIFE_LEAST_NS 10000000u
enum {
    LIFE_LOOKS = 20,  /* per timeout */
    LIFE_ANSWER = 4   /* of these parts of the timeout one is for answers */
};
#define FORGET_NS 2000000000u
enum { BACKOFF_MOST = 4 };

static uint64_t since(uint64_t then, uint64_t now)
{
    return now > then ? now - then : 0;
}

static unsigned backoff_now(const struct wf_ordered *o, uint64_t now)
{
    uint64_t forgotten = since(o->moved_at, now) / FORGET_NS;

    return forgotten < o->backoff ? o->backoff - (unsigned)forgotten : 0;
}

uint64_t wf_carrier_backed_off(const struct wf_ordered *o, uint64_t ns,
                             uint64_t now)
{
    return o->backoff ? ns << backoff_now(o, now) : ns;
}

/* The pair moves. A peer that answers is in MPI and takes what was sent to it, so that
 * something is acknowledged soon; a path that drops large packets lets the
 * answers through, and nothing else, move after move: the pair is stuck. */
void wf_carrier_note_move(struct wf_ordered *o, uint64_t now)
{
    unsigned backoff = backoff_now(o, now);

    if (!o->first || !o->stuck_since || o->una != o->stuck_una) {
        o->stuck_since = o->first ? now : 0;
        o->stuck_una = o->una;
        o->stuck = false;
    } else {
        o->stuck = since(o->stuck_since, now) >= o->timeout;
        backoff += backoff < BACKOFF_MOST;
    }
    o->backoff = backoff;
    o->moved_at = now;
}

bool wf_carrier_waited(const struct wf_ordered *o, uint64_t now)
{
    return since(o->silent_since, now) >=
           wf_carrier_backed_off(o, SILENT_NS, now);
}

bool wf_carrier_lives(struct wf_ordered *o, int k)
{
    struct wf_carrier *c = &o->carrier[k];
    uint64_t sign = c->heard + (k == o->at && !o->parted ? o->expect : 0);
    uint64_t before = c->sign;

    if (c->state == WF_CARRIER_CALLED && !c->give_up &&
        WEFT_HAS(c->core->ops, weft_ops, traffic))
        sign += c->core->ops->traffic(o->loc->peers[c->core->index]);
    c->sign = sign;
    return sign != before;
}

/* There was a sign: look again when STILL_NS have become SILENT_NS. */
void wf_carrier_stir(struct wf_ordered *o, uint64_t now)
{
    o->silent_since = o->sign_since =
        now - wf_carrier_backed_off(o, STILL_NS, now);
}

/* Nothing is acknowledged, and nothing passes. */
bool wf_carrier_silent(struct wf_ordered *o, uint64_t now)
{
    if (!o->first)
        o->silent_since = 0;
    else if (!o->silent_since)
        o->silent_since = now;
    if (!o->silent_since ||
        since(o->silent_since, now) < wf_carrier_backed_off(o, STILL_NS, now))
        return false;
    if (o->sign_since != o->silent_since) {
        o->sign_since = o->silent_since;
        wf_carrier_lives(o, o->at);
    }
    if (!wf_carrier_waited(o, now))
        return false;
    if (!wf_carrier_lives(o, o->at))
        return true;
    wf_carrier_stir(o, now);
    return false;
}

static uint64_t silence_on(const struct wf_ordered *o, int k)
{
    const struct wf_carrier *c = &o->carrier[k];

    if (c->state != WF_CARRIER_CALLED || c->give_up ||
        !WEFT_HAS(c->core->ops, weft_ops, silent))
        return UINT64_MAX;
    return c->core->ops->silent(o->loc->peers[c->core->index], o->timeout);
}

static uint64_t look_every(const struct wf_ordered *o)
{
    return o->timeout / LIFE_LOOKS > LIFE_LEAST_NS ? o->timeout / LIFE_LOOKS
                                                   : LIFE_LEAST_NS;
}

/* Was something confirmed on a carrier that cannot tell since the last look? */
static void note_confirmed(struct wf_ordered *o, int k, uint64_t now)
{
    struct wf_carrier *c = &o->carrier[k];
    uint64_t sum;

    if (c->state != WF_CARRIER_CALLED || c->give_up ||
        !WEFT_HAS(c->core->ops, weft_ops, traffic))
        return;
    sum = c->core->ops->traffic(o->loc->peers[c->core->index]);
    if (sum > c->confirmed)
        c->confirmed_at = now;
    c->confirmed = sum;
}

static uint64_t sooner_since(uint64_t quiet, uint64_t sign, uint64_t now)
{
    return sign && since(sign, now) < quiet ? since(sign, now) : quiet;
}

/* The same; and an answer to a probe is a sign as well, or, where the plugin
 * cannot tell, that the probe was confirmed. Not by the current one: probes are
 * small, and its plugin knows whether data passes. */
static uint64_t silence_beside(struct wf_ordered *o, int k, uint64_t now)
{
    uint64_t quiet = silence_on(o, k);

    if (quiet == UINT64_MAX) {
        note_confirmed(o, k, now);
        quiet = sooner_since(quiet, o->carrier[k].confirmed_at, now);
    }
    return sooner_since(quiet, o->carrier[k].answered_at, now);
}

/* All are probed while the silence lasts, also those whose last probe has no
 * answer, for this one may be confirmed. Did they have time to answer? */
static bool asked_all(struct wf_ordered *o, uint64_t silent, uint64_t now)
{
    if (silent <= o->timeout / 2) {
        o->asked_at = 0;
        return false;
    }
    for (int k = 0; k < o->carriers; k++) {
        struct wf_carrier *c = &o->carrier[k];
        wf_carrier_probe(o, k);
        if (!o->asked_at && c->state == WF_CARRIER_CALLED)
            c->probe = true;
    }
    if (!o->asked_at)
        o->asked_at = now;
    return since(o->asked_at, now) >= o->timeout / LIFE_ANSWER;
}

bool wf_carrier_lifeless(struct wf_ordered *o, uint64_t now)
{
    uint64_t current, least = UINT64_MAX, left = look_every(o);
    bool asked;

    if (now < o->life_due)
        return false;
    current = silence_on(o, o->at);
    for (int k = 0; k < o->carriers; k++) {
        uint64_t other = k == o->at ? current : silence_beside(o, k, now);
        least = other < least ? other : least;
    }
    if (current == UINT64_MAX)
        least = 0;
    asked = asked_all(o, least, now);
    o->life_at = now - least;
    if (least < o->timeout && o->timeout - least < left)
        left = o->timeout - least;
    o->life_due = now + (left > LIFE_LEAST_NS ? left : LIFE_LEAST_NS);
    return asked && least >= o->timeout;
}

void wf_carrier_look_beside(struct wf_ordered *o, uint64_t now)
{
    uint64_t least = UINT64_MAX;

    if (now < o->life_due)
        return;
    o->life_due = now + look_every(o);
    for (int k = 0; k < o->carriers; k++) {
        uint64_t quiet = o->carrier[k].up ? silence_beside(o, k, now)
                                          : UINT64_MAX;
        least = quiet < least ? quiet : least;
    }
    if (least == UINT64_MAX)
        return;
    asked_all(o, least, now);
    if (now > least && now - least > o->life_at)
        o->life_at = now - least;
}

void wf_carrier_excuse(struct wf_ordered *o, uint64_t now)
{
    uint64_t away = since(o->turned_at, now), usual = 2 * look_every(o);

    o->turned_at = now;
    if (away <= usual)
        return;
    o->life_at += away - usual;
    if (o->asked_at)
        o->asked_at += away - usual;
    if (o->lost_at)
        o->lost_at += away - usual;
}

/* When to look for a sign of what was sent. */
uint64_t wf_carrier_next_look(const struct wf_ordered *o, uint64_t now)
{
    uint64_t quiet = o->silent_since ? since(o->silent_since, now) : 0;
    uint64_t silent = wf_carrier_backed_off(o, SILENT_NS, now);

    if (quiet >= silent)
        return now + silent;
    return now - quiet +
           (o->silent_since && o->sign_since == o->silent_since
                ? silent
                : wf_carrier_backed_off(o, STILL_NS, now));
}
