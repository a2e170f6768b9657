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
 * cannot ask, unless nothing was ever heard of the peer: then it runs from the
 * first call. Another carrier that cannot ask, because the host is behind a
 * firewall, still shows by what it has had confirmed (weft_ops.traffic) that
 * the host is there: a kernel acknowledges the bytes of a probe that its
 * process does not read. Datagrams are confirmed by the process alone. So a
 * process that computes counts as gone when the path to a host that answers
 * dies, and all other carriers are of datagrams and behind a firewall: it
 * cannot be told from a dead process, which must not be waited for. Time in
 * which this process made no maintenance round does not count.
 *
 * HOSTS  A host that answers on a carrier of which its process takes nothing
 * may hold a process that computes, or a firewall may drop what goes by that
 * carrier. The launcher tells these apart (carrier_launcher.c): where the
 * current carrier is silent, or none is, the answers of hosts are no sign of
 * life of a peer that is in MPI. Where no launcher can tell they count while
 * there is a current carrier, and afterwards only on carriers on which the
 * process was heard, so that nobody waits for ever.
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
#include "protocol/carrier_launcher.h"
#include "protocol/order.h"
#include "route/location.h"

#define SILENT_NS     50000000u /* limit on the time without an ACK */
#define STILL_NS      20000000u /* after so long traffic_seen is taken */
#define LIFE_LEAST_NS 10000000u /* between two checks for signs of life */
#define SEARCH_NS     500000000u /* for carriers that were not probed before */
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
        c->host_at = now;
    c->confirmed = sum;
}

static uint64_t min_since(uint64_t quiet, uint64_t sign, uint64_t now)
{
    return sign && ns_since(sign, now) < quiet ? ns_since(sign, now) : quiet;
}

/* silence_of(); or, if the plugin cannot ask the host, the time since a probe
 * was confirmed. A plugin that begins to call anew knows nothing at first: then
 * it is the time since the last sign. Not for the current carrier: probes are
 * small, and its plugin knows whether data passes. */
static uint64_t silence_of_host(struct wf_ordered *o, int k, uint64_t now)
{
    uint64_t quiet = silence_of(o, k), *sign = &o->carrier[k].host_at;

    if (quiet == UINT64_MAX) {
        note_confirmed(o, k, now);
        return min_since(quiet, *sign, now);
    }
    if (now > quiet && now - quiet > *sign)
        *sign = now - quiet;
    return quiet;
}

/* Whether all carriers have been probed in this silence, and had time. */
static bool had_time_to_answer(const struct wf_ordered *o, uint64_t now)
{
    return o->all_probed_at &&
           ns_since(o->all_probed_at, now) >= o->timeout / LIFE_ANSWER;
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
    return had_time_to_answer(o, now);
}

/* The silence of the peer: its own, by its answers to probes, on all carriers;
 * and that of its host on those on which it was heard, and on those that are
 * only being called. */
struct silences {
    uint64_t own, heard, called;
};

/* Look at all carriers but the current one. */
static struct silences look_at_others(struct wf_ordered *o, uint64_t now)
{
    struct silences least = {UINT64_MAX, UINT64_MAX, UINT64_MAX};

    for (int k = 0; k < o->carriers; k++) {
        uint64_t *of = o->carrier[k].up ? &least.heard : &least.called;
        if (k == o->at)
            continue;
        *of = wf_min_u64(*of, silence_of_host(o, k, now));
        least.own = min_since(least.own, o->carrier[k].answered_at, now);
    }
    return least;
}

/* The silence of hosts as far as their answers count. A peer that is in MPI is
 * not excused by them, but has time to answer from when it came back; at least
 * a part of the timeout, while it is undecided whether it is there. unknown:
 * the result if no launcher can tell. */
static uint64_t silence_by_presence(struct wf_ordered *o, uint64_t hosts,
                                    uint64_t unknown, uint64_t now)
{
    uint64_t doubtful = o->timeout - o->timeout / LIFE_ANSWER;
    uint64_t quiet = hosts;

    switch (wf_carrier_presence(o, now)) {
    case WF_PRESENCE_UNKNOWN:
        return unknown;
    case WF_PRESENT:
        return min_since(UINT64_MAX, o->excused_at, now);
    case WF_PRESENCE_UNDECIDED:
        quiet = hosts > doubtful ? hosts : doubtful;
        break;
    case WF_ABSENT:
        break;
    }
    if (now > quiet && now - quiet > o->excused_at)
        o->excused_at = now - quiet;
    return quiet;
}

static bool was_ever_heard(const struct wf_ordered *o)
{
    for (int k = 0; k < o->carriers; k++)
        if (o->carrier[k].heard)
            return true;
    return false;
}

/* The silence on the current carrier; UINT64_MAX: it cannot be told. A peer
 * that was never heard is silent since something called it. */
static uint64_t silence_of_current(struct wf_ordered *o, uint64_t now)
{
    uint64_t silent = silence_of(o, o->at);

    if (!o->called_at && (o->first || o->carrier[o->at].blocked))
        o->called_at = now;
    if (silent == UINT64_MAX && o->called_at && !was_ever_heard(o))
        return ns_since(o->called_at, now);
    return silent;
}

/* The silence of the peer while a carrier is current. The plugin's word on that
 * one counts always: it includes the peer's own answers. */
static uint64_t silence_of_peer(struct wf_ordered *o, uint64_t now)
{
    uint64_t current = silence_of_current(o, now);
    struct silences other = look_at_others(o, now);
    uint64_t own = wf_min_u64(current, other.own);
    uint64_t least = wf_min_u64(own, wf_min_u64(other.heard, other.called));

    if (current == UINT64_MAX)
        return 0;
    if (own <= o->timeout / 2)
        o->asked_since = 0;
    if (own <= o->timeout / 2 || least == own)
        return least;
    return wf_min_u64(own, silence_by_presence(o, least, least, now));
}

bool wf_carrier_is_peer_lifeless(struct wf_ordered *o, uint64_t now)
{
    uint64_t least, left = life_check_interval(o);
    bool asked;

    if (now < o->life_check_at)
        return false;
    least = silence_of_peer(o, now);
    asked = probe_all_carriers(o, least, now);
    o->life_at = now - least;
    if (least < o->timeout && o->timeout - least < left)
        left = o->timeout - least;
    o->life_check_at = now + (left > LIFE_LEAST_NS ? left : LIFE_LEAST_NS);
    return asked && least >= o->timeout;
}

void wf_carrier_look_beside(struct wf_ordered *o, uint64_t now)
{
    struct silences all;
    uint64_t least;

    if (now < o->life_check_at)
        return;
    o->life_check_at = now + life_check_interval(o);
    all = look_at_others(o, now);
    least = wf_min_u64(all.heard, all.called);
    if (least < o->timeout)
        least = silence_by_presence(o, least, all.heard, now);
    if (least == UINT64_MAX)
        return;
    probe_all_carriers(o, least, now);
    if (now > least && now - least > o->life_at)
        o->life_at = now - least;
}

bool wf_carrier_is_search_over(const struct wf_ordered *o, uint64_t now)
{
    return ns_since(o->life_at, now) >= o->timeout &&
           (had_time_to_answer(o, now) ||
            ns_since(o->lost_at, now) >= wf_min_u64(SEARCH_NS, o->timeout));
}

void wf_carrier_excuse_absence(struct wf_ordered *o, uint64_t now)
{
    uint64_t away = ns_since(o->last_round_at, now),
             excused = 2 * life_check_interval(o);

    o->last_round_at = now;
    if (away <= excused)
        return;
    o->life_at += away - excused;
    if (o->called_at)
        o->called_at += away - excused;
    if (o->all_probed_at)
        o->all_probed_at += away - excused;
    if (o->lost_at)
        o->lost_at += away - excused;
    if (o->asked_since)
        o->asked_since += away - excused;
    if (o->excused_at)
        o->excused_at += away - excused;
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
