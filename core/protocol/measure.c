/* The choice of a pair's carrier by what it costs: measure.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/measure.h"

#include <string.h>

#include "config/config.h"
#include "config/options.h"
#include "process/rank.h"
#include "progress/progress.h"
#include "protocol/carrier_control.h"
#include "protocol/order.h"
#include "report/error.h"
#include "route/location.h"

enum {
    LOADED = 64 * 1024, /* bytes not acknowledged: a probe waits behind them */
    DWELL = 8,          /* rounds between two moves, at least */
    DWELL_MOST = 16,    /* times as many, after moves back and forth */
    FORGET = 600, /* rounds after which a rate that was seen is not believed */
    FASTEST = 32  /* rounds of a window in which one answer is the fastest */
};
#define MARGIN 1.25

static uint64_t ns_since(uint64_t then, uint64_t now)
{
    return now > then ? now - then : 0;
}

static bool is_usable(const struct wf_carrier *c)
{
    return c->state != WF_CARRIER_BROKEN && !c->give_up;
}

/* The rate in bytes per ns that the carrier's transport states; 0: none. */
static double stated_rate(const struct wf_ordered *o, int k)
{
    const struct weft_core *core = o->carrier[k].core;
    weft_cost cost = core->attr.cost;

    if (o->loc->wf->rank->config)
        wf_config_cost(o->loc->wf->rank->config, core->config, &cost);
    return (double)cost.bandwidth_mbs / 1000;
}

/* The rate that is expected of a carrier; 0: no limit is known. One that was
 * seen long ago is worth another look only if its transport states more than
 * that of the current carrier; one that was never seen may bring what the
 * current one has brought at best. */
static double expect_rate(const struct wf_ordered *o, int k)
{
    const struct wf_measure *m = &o->carrier[k].measure;
    const struct wf_measure *now = &o->carrier[o->at].measure;
    double stated = stated_rate(o, o->at), share = o->measuring.share;

    if (m->rate > 0 && o->measuring.rounds - m->rate_round < FORGET)
        return m->rate;
    if (m->rate > 0 && now->rate > 0 && stated > 0)
        share = now->rate / stated;
    return stated_rate(o, k) * (share > 0 && share < 1 ? share : 1);
}

/* Learn the rate of the current carrier, which was busy all the time. */
static void learn_rate(struct wf_ordered *o, uint64_t bytes, uint64_t ns)
{
    struct wf_measure *m = &o->carrier[o->at].measure;
    double rate = (double)bytes / (double)ns, stated = stated_rate(o, o->at);

    m->rate = m->rate > 0 ? (m->rate + rate) / 2 : rate;
    m->rate_round = o->measuring.rounds;
    if (stated > 0 && m->rate / stated > o->measuring.share)
        o->measuring.share = m->rate / stated;
}

static void sum_sent(const struct wf_ordered *o, uint64_t *n, uint64_t *bytes)
{
    *n = *bytes = 0;
    for (int k = 0; k < o->carriers; k++) {
        *n += o->carrier[k].sent;
        *bytes += o->carrier[k].sent_bytes;
    }
}

/* Add a cost to those of a carrier. */
static void keep_cost(struct wf_ordered *o, int k, double size)
{
    struct wf_measure *m = &o->carrier[k].measure;
    double rate = expect_rate(o, k);

    m->cost[m->costs++ % WF_MEASURES] =
        m->latency + (rate > 0 ? size / rate : 0);
}

/* Returns the part of the round trips of this round that is of no path: what
 * the first answer took longer than the fastest one of late, because this
 * process or the peer has not run meanwhile. */
static uint64_t find_common_delay(struct wf_ordered *o)
{
    uint64_t *fastest = o->measuring.fastest, first = UINT64_MAX, least;

    for (int k = 0; k < o->carriers; k++) {
        uint64_t rtt = o->carrier[k].measure.rtt;
        first = rtt && rtt < first ? rtt : first;
    }
    if (o->measuring.rounds % FASTEST == 0) {
        fastest[1] = fastest[0];
        fastest[0] = 0;
    }
    if (!fastest[0] || first < fastest[0])
        fastest[0] = first;
    least = fastest[1] && fastest[1] < fastest[0] ? fastest[1] : fastest[0];
    return first - least;
}

/* End the round: learn what a carrier costs. A peer that has answered on none
 * was not in MPI, and the round tells nothing. */
static void end_round(struct wf_ordered *o, uint64_t now)
{
    struct wf_measuring *m = &o->measuring;
    bool answered = false, loaded = m->bytes >= LOADED;
    uint64_t n, bytes, common;

    for (int k = 0; k < o->carriers; k++)
        answered |= o->carrier[k].measure.rtt != 0;
    if (!m->asked_at || !answered)
        return;
    sum_sent(o, &n, &bytes);
    if (n > m->sent)
        m->size = (double)(bytes - m->sent_bytes) / (double)(n - m->sent);
    if (loaded && o->bytes >= LOADED && now > m->asked_at)
        learn_rate(o, bytes - m->sent_bytes + m->bytes - o->bytes,
                   now - m->asked_at);
    common = find_common_delay(o);
    for (int k = 0; k < o->carriers; k++) {
        struct wf_measure *c = &o->carrier[k].measure;
        uint64_t rtt = c->rtt ? c->rtt : ns_since(m->asked_at, now);
        if (!c->asked || !is_usable(&o->carrier[k]))
            continue;
        if (k != o->at || !loaded || c->latency <= 0)
            c->latency = (double)(rtt - common) / 2;
        keep_cost(o, k, m->size);
    }
}

static void begin_round(struct wf_ordered *o, uint64_t now)
{
    struct wf_measuring *m = &o->measuring;

    m->asked_at = 0;
    for (int k = 0; k < o->carriers; k++)
        o->carrier[k].measure.asked = o->carrier[k].measure.rtt = 0;
    if (o->next == m->next && !o->first)
        return; /* nothing was sent: nobody is asked */
    m->rounds++;
    m->next = o->next;
    m->asked_at = now;
    m->bytes = o->bytes;
    sum_sent(o, &m->sent, &m->sent_bytes);
    for (int k = 0; k < o->carriers; k++) {
        struct wf_carrier *c = &o->carrier[k];
        if (!is_usable(c) || c->probed_at)
            continue;
        wf_carrier_request_probe(o, k);
        c->measure.asked = 1;
    }
}

/* Sort the costs; false: there are too few. */
static bool sort_costs(const struct wf_measure *m, double v[WF_MEASURES])
{
    if (m->costs < WF_MEASURES)
        return false;
    memcpy(v, m->cost, sizeof m->cost);
    for (int i = 1; i < WF_MEASURES; i++)
        for (int k = i; k > 0 && v[k] < v[k - 1]; k--) {
            double swap = v[k];
            v[k] = v[k - 1];
            v[k - 1] = swap;
        }
    return true;
}

double wf_measure_cost(const struct wf_ordered *o, int k)
{
    double v[WF_MEASURES];

    return sort_costs(&o->carrier[k].measure, v) ? v[WF_MEASURES / 2] : 0;
}

/* Find the carrier that was better than the current one in any two of the last
 * rounds; -1: none. */
static int find_better(const struct wf_ordered *o)
{
    double now[WF_MEASURES], v[WF_MEASURES], best = 0;
    int better = -1;

    if (!sort_costs(&o->carrier[o->at].measure, now))
        return -1;
    for (int k = 0; k < o->carriers; k++) {
        const struct wf_carrier *c = &o->carrier[k];
        if (k == o->at || !is_usable(c) || !c->up || c->blocked ||
            !sort_costs(&c->measure, v) || v[WF_MEASURES - 1] * MARGIN > now[0])
            continue;
        if (better < 0 || v[WF_MEASURES - 1] < best) {
            better = k;
            best = v[WF_MEASURES - 1];
        }
    }
    return better;
}

static void decide_move(struct wf_ordered *o, uint64_t now)
{
    int k = now < o->measuring.stays_until ? -1 : find_better(o);

    if (k < 0)
        return;
    wf_log(o->loc->wf, WF_LOG_INFO,
           "process %u: '%s' takes %.0f us where '%s' takes %.0f: messages "
           "move to it",
           o->loc->id, o->carrier[k].core->config->name,
           wf_measure_cost(o, k) / 1000, o->carrier[o->at].core->config->name,
           wf_measure_cost(o, o->at) / 1000);
    wf_order_close_fast_path(o);
    o->failback_to = k;
    wf_progress_request_resume(o->loc->wf);
}

void wf_measure_maintain(struct wf_ordered *o, uint64_t now)
{
    if (now < o->measuring.next_at || o->at < 0 || o->candidate >= 0)
        return;
    o->measuring.next_at = now + o->measuring.every;
    end_round(o, now);
    decide_move(o, now);
    begin_round(o, now);
}

void wf_measure_note_answer(struct wf_ordered *o, int k, uint64_t now)
{
    struct wf_measure *m = &o->carrier[k].measure;

    if (o->measuring.asked_at && m->asked && !m->rtt)
        m->rtt = now > o->measuring.asked_at ? now - o->measuring.asked_at : 1;
}

void wf_measure_note_move(struct wf_ordered *o, int left, uint64_t now)
{
    struct wf_measuring *m = &o->measuring;

    if (o->at == m->left && m->dwell < DWELL_MOST)
        m->dwell *= 2;
    else if (o->at != m->left || m->dwell < 1)
        m->dwell = 1;
    m->left = left;
    m->stays_until = now + m->dwell * DWELL * m->every;
    m->asked_at = 0;
    for (int k = 0; k < o->carriers; k++)
        o->carrier[k].measure.costs = 0;
}
