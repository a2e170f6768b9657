/* Silence of the current carrier of a pair, and of the peer. See carrier.c.
 *
 * SILENCE  A peer that computes answers on no carrier, so silence alone proves
 * nothing. After SILENT_NS without an acknowledgement all carriers are probed:
 * when another one answers (the candidate) and the current one does not within
 * CANDIDATE_NS, the current one is given up. But on a congested path an answer
 * is queued behind megabytes, or behind a gap that is being repaired: as long
 * as anything passes, as the plugin knows (weft_ops.traffic), there is no
 * silence. A peer that has moved to another carrier had a reason: that carrier
 * is the candidate at once, and takes our acknowledgements.
 *
 * LIFE  When all carriers are silent, none proves that another is broken, and
 * the peer may be computing. Its host then tells whether it is dead: transports
 * ask the host (weft_ops.silent). There is one clock for all carriers, from the
 * last sign of life by any of them, whatever happens to carriers in the
 * meantime; when it has run for the route's timeout the process counts as gone.
 * A carrier that has not been used yet receives nothing: when half of that time
 * is over all are probed, which also connects them, and each has a part of the
 * timeout to answer. The clock stops while the current carrier is one that
 * cannot ask. Another carrier that cannot ask, because the host is behind a
 * firewall, still shows by what it has had confirmed (weft_ops.traffic) that
 * the host is there: a kernel acknowledges the bytes of a probe that its
 * process does not read. Datagrams are confirmed by the process alone. So a
 * process that computes counts as gone when the path to a host that answers
 * dies, and all other carriers are of datagrams and behind a firewall: it
 * cannot be told from a dead process, which must not be waited for. While no
 * carrier works the clock goes on, though hosts may answer: a process that was
 * not reached by any transport for so long is of no use. But a connection on
 * which the process was heard, and whose host answers there, is a way to it:
 * the process computes. Time in which this process made no maintenance round
 * does not count.
 *
 * BACKOFF  Where CPUs are oversubscribed every carrier is silent for that long
 * now and then, and a move, which sends everything again, makes it worse. So a
 * move that follows another one without anything acknowledged in between
 * doubles these times for the pair, and every FORGET_NS halve them.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/carrier_silence.h"

#include "protocol/carrier_control.h"
#include "protocol/order.h"
#include "route/location.h"

#define SILENT_NS     50000000u /* limit on the time without an ACK */
#define STILL_NS      20000000u /* after so long traffic_seen is taken */
#define LIFE_LEAST_NS 10000000u /* between two checks for signs of life */
enum {
    LIFE_LOOKS = 20, /* checks in the route's timeout */
    LIFE_ANSWER = 4  /* 1 / LIFE_ANSWER of the timeout is for answers */
};
#define FORGET_NS 2000000000u /* a doubling is taken back after so long */
enum { BACKOFF_MOST = 4 };    /* doublings */

static uint64_t ns_since(uint64_t then, uint64_t now)
{
    return now > then ? now - then : 0;
}

/* The doublings that are left of o->backoff. */
static unsigned backoff_now(const struct wf_ordered *o, uint64_t now)
{
    uint64_t forgotten = ns_since(o->moved_at, now) / FORGET_NS;

    return forgotten < o->backoff ? o->backoff - (unsigned)forgotten : 0;
}

uint64_t wf_carrier_back_off_limit(const struct wf_ordered *o, uint64_t ns,
                                   uint64_t now)
{
    return o->backoff ? ns << backoff_now(o, now) : ns;
}

/* A peer that answers is in MPI and takes what was sent to it, so that
 * something is acknowledged soon. But a path that drops large packets lets only
 * the answers through, move after move: then the pair is stuck. */
void wf_carrier_note_move(struct wf_ordered *o, uint64_t now)
{
    unsigned backoff = backoff_now(o, now);

    if (!o->first || !o->stuck_since || o->una != o->stuck_una) {
        o->stuck_since = o->first ? now : 0;
        o->stuck_una = o->una;
        o->stuck = false;
    } else {
        o->stuck = ns_since(o->stuck_since, now) >= o->timeout;
        backoff += backoff < BACKOFF_MOST;
    }
    o->backoff = backoff;
    o->moved_at = now;
}

bool wf_carrier_is_ack_overdue(const struct wf_ordered *o, uint64_t now)
{
    return ns_since(o->silent_since, now) >=
           wf_carrier_back_off_limit(o, SILENT_NS, now);
}

bool wf_carrier_has_traffic(struct wf_ordered *o, int k)
{
    struct wf_carrier *c = &o->carrier[k];
    uint64_t sign = c->heard + (k == o->at && !o->peer_stripes ? o->expect : 0);
    uint64_t before = c->traffic_seen;

    if (c->state == WF_CARRIER_TRIED && !c->give_up &&
        WEFT_HAS(c->core->ops, weft_ops, traffic))
        sign += c->core->ops->traffic(o->loc->peers[c->core->index]);
    c->traffic_seen = sign;
    return sign != before;
}

/* Silence counts as begun STILL_NS ago: the next check is when it has lasted
 * for SILENT_NS. */
void wf_carrier_restart_silence(struct wf_ordered *o, uint64_t now)
{
    o->silent_since = o->baseline_since =
        now - wf_carrier_back_off_limit(o, STILL_NS, now);
}

bool wf_carrier_is_silent(struct wf_ordered *o, uint64_t now)
{
    if (!o->first)
        o->silent_since = 0;
    else if (!o->silent_since)
        o->silent_since = now;
    if (!o->silent_since || ns_since(o->silent_since, now) <
                                wf_carrier_back_off_limit(o, STILL_NS, now))
        return false;
    if (o->baseline_since != o->silent_since) {
        o->baseline_since = o->silent_since;
        wf_carrier_has_traffic(o, o->at);
    }
    if (!wf_carrier_is_ack_overdue(o, now))
        return false;
    if (!wf_carrier_has_traffic(o, o->at))
        return true;
    wf_carrier_restart_silence(o, now);
    return false;
}

/* For how long the peer's host has not answered on carrier k, as the plugin
 * knows; UINT64_MAX: it cannot tell. */
static uint64_t silence_of(const struct wf_ordered *o, int k)
{
    const struct wf_carrier *c = &o->carrier[k];

    if (c->state != WF_CARRIER_TRIED || c->give_up ||
        !WEFT_HAS(c->core->ops, weft_ops, silent))
        return UINT64_MAX;
    return c->core->ops->silent(o->loc->peers[c->core->index], o->timeout);
}

static uint64_t life_check_interval(const struct wf_ordered *o)
{
    return o->timeout / LIFE_LOOKS > LIFE_LEAST_NS ? o->timeout / LIFE_LOOKS
                                                   : LIFE_LEAST_NS;
}

/* Note whether a carrier that cannot ask the host has had anything confirmed
 * since the last call. */
static void note_confirmed(struct wf_ordered *o, int k, uint64_t now)
{
    struct wf_carrier *c = &o->carrier[k];
    uint64_t sum;

    if (c->state != WF_CARRIER_TRIED || c->give_up ||
        !WEFT_HAS(c->core->ops, weft_ops, traffic))
        return;
    sum = c->core->ops->traffic(o->loc->peers[c->core->index]);
    if (sum > c->confirmed)
        c->confirmed_at = now;
    c->confirmed = sum;
}

static uint64_t min_since(uint64_t quiet, uint64_t sign, uint64_t now)
{
    return sign && ns_since(sign, now) < quiet ? ns_since(sign, now) : quiet;
}

/* silence_of() where an answer to a probe is a sign of life as well, or, if the
 * plugin cannot ask the host, that the probe was confirmed. Not for the current
 * carrier: probes are small, and its plugin knows whether data passes. */
static uint64_t silence_with_answers(struct wf_ordered *o, int k, uint64_t now)
{
    uint64_t quiet = silence_of(o, k);

    if (quiet == UINT64_MAX) {
        note_confirmed(o, k, now);
        quiet = min_since(quiet, o->carrier[k].confirmed_at, now);
    }
    return min_since(quiet, o->carrier[k].answered_at, now);
}

/* Probe all carriers once the silence has lasted for half of the timeout, also
 * those whose last probe has no answer, for this one may be confirmed. true:
 * they have had time to answer. */
static bool probe_all_carriers(struct wf_ordered *o, uint64_t silent,
                               uint64_t now)
{
    if (silent <= o->timeout / 2) {
        o->all_probed_at = 0;
        return false;
    }
    for (int k = 0; k < o->carriers; k++) {
        struct wf_carrier *c = &o->carrier[k];
        wf_carrier_request_probe(o, k);
        if (!o->all_probed_at && c->state == WF_CARRIER_TRIED)
            c->probe = true;
    }
    if (!o->all_probed_at)
        o->all_probed_at = now;
    return ns_since(o->all_probed_at, now) >= o->timeout / LIFE_ANSWER;
}

bool wf_carrier_is_peer_lifeless(struct wf_ordered *o, uint64_t now)
{
    uint64_t current, least = UINT64_MAX, left = life_check_interval(o);
    bool asked;

    if (now < o->life_check_at)
        return false;
    current = silence_of(o, o->at);
    for (int k = 0; k < o->carriers; k++) {
        uint64_t other = k == o->at ? current : silence_with_answers(o, k, now);
        least = other < least ? other : least;
    }
    if (current == UINT64_MAX)
        least = 0;
    asked = probe_all_carriers(o, least, now);
    o->life_at = now - least;
    if (least < o->timeout && o->timeout - least < left)
        left = o->timeout - least;
    o->life_check_at = now + (left > LIFE_LEAST_NS ? left : LIFE_LEAST_NS);
    return asked && least >= o->timeout;
}

void wf_carrier_look_beside(struct wf_ordered *o, uint64_t now)
{
    uint64_t least = UINT64_MAX;

    if (now < o->life_check_at)
        return;
    o->life_check_at = now + life_check_interval(o);
    for (int k = 0; k < o->carriers; k++) {
        uint64_t quiet =
            o->carrier[k].up ? silence_with_answers(o, k, now) : UINT64_MAX;
        least = quiet < least ? quiet : least;
    }
    if (least == UINT64_MAX)
        return;
    probe_all_carriers(o, least, now);
    if (now > least && now - least > o->life_at)
        o->life_at = now - least;
}

void wf_carrier_excuse_absence(struct wf_ordered *o, uint64_t now)
{
    uint64_t away = ns_since(o->last_round_at, now),
             excused = 2 * life_check_interval(o);

    o->last_round_at = now;
    if (away <= excused)
        return;
    o->life_at += away - excused;
    if (o->all_probed_at)
        o->all_probed_at += away - excused;
    if (o->lost_at)
        o->lost_at += away - excused;
}

uint64_t wf_carrier_next_check(const struct wf_ordered *o, uint64_t now)
{
    uint64_t quiet = o->silent_since ? ns_since(o->silent_since, now) : 0;
    uint64_t silent = wf_carrier_back_off_limit(o, SILENT_NS, now);

    if (quiet >= silent)
        return now + silent;
    return now - quiet +
           (o->silent_since && o->baseline_since == o->silent_since
                ? silent
                : wf_carrier_back_off_limit(o, STILL_NS, now));
}
