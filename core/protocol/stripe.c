/* Stripes: the chunks of large messages are sent by several carriers at once.
 * See order.h.
 *
 * CHOICE   A carrier is modelled as a queue with an unknown delay and rate. The
 *          chunks in flight are those that it has taken and the peer has not
 *          acknowledged (by an ACK that names the chunk, on the same carrier).
 *          The times that earlier chunks took tell how long a chunk takes alone
 *          (base) and what each byte in flight adds (slope). A chunk goes by
 *          the carrier that will deliver it first. It is not sent yet if every
 *          carrier has QUEUE_NS of work, for by then the estimates are better;
 *          nor by a carrier that needs longer for it than another would for the
 *          whole rest of the message. The bytes in flight at most double with
 *          each acknowledgement while little is known of a carrier. A carrier
 *          that gets no chunk cannot show that it has become faster: so its
 *          estimates are halved after some time, and it is tried again.
 * SILENCE  A carrier that has chunks in flight, of which none is acknowledged
 *          for long, is probed, as well as the current carrier. If that answers
 *          and the silent one does not, the silent one is given up, and its
 *          chunks go by the others.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/stripe.h"

#include "os/tuning.h"
#include "protocol/carrier.h"
#include "protocol/carrier_control.h"
#include "protocol/carrier_silence.h"
#include "protocol/order.h"
#include "route/location.h"

#define QUEUE_NS 20000000.0 /* the most work that is queued on a carrier */
/* The shortest silence after which a carrier is probed, and the one before its
 * first acknowledgement. */
#define SILENT_NS  50000000u
#define UNKNOWN_NS 250000000u
/* The time that a probed carrier has to answer after the current one did. */
#define ANSWER_NS 20000000u
enum {
    FIRST_BYTES = 4 * WF_STRIPE_PIECE, /* in flight while little is known */
    LEARN = 4, /* a new time moves an estimate by 1/LEARN of the difference */
    FORGET = 4 /* idle times of so many chunks halve the estimates */
};

/* ---- choosing ------------------------------------------------------------ */

/* The time until a carrier has delivered `more` bytes, and those in flight. */
static double predict_arrival(const struct wf_flight *f, uint64_t more)
{
    return (double)f->base + f->slope * (double)(f->bytes + more);
}

static bool is_usable(const struct wf_ordered *o, int k)
{
    const struct wf_carrier *c = &o->carrier[k];

    return (k == o->at || c->up) && c->state != WF_CARRIER_BROKEN &&
           !c->blocked && !c->give_up;
}

/* True if n more bytes may be in flight on the carrier. */
static bool has_room(const struct wf_flight *f, uint64_t n)
{
    if (!f->bytes)
        return true;
    return f->slope * (double)(f->bytes + n) <= QUEUE_NS &&
           f->bytes + n <= (f->most ? 2 * f->most : FIRST_BYTES);
}

/* The time after which one carrier alone would have delivered all that is left,
 * by the fastest one; 0: unknown. */
static double predict_alone(const struct wf_ordered *o,
                            const struct wf_retained *r)
{
    uint64_t left = r->p->expected - r->offset;
    double best = 0;

    for (int k = 0; k < o->carriers; k++) {
        const struct wf_carrier *c = &o->carrier[k];
        double at = predict_arrival(&c->flight, left);
        if ((k == o->at || c->up) && c->flight.known && (!best || at < best))
            best = at;
    }
    return best;
}

int wf_stripe_choose(const struct wf_ordered *o, const struct wf_retained *r)
{
    double limit = predict_alone(o, r), soonest = 0, at;
    int best = -1;

    for (int k = 0; k < o->carriers; k++) {
        const struct wf_flight *f = &o->carrier[k].flight;
        if (!is_usable(o, k) || !has_room(f, r->tx.tx.len))
            continue;
        at = predict_arrival(f, r->tx.tx.len);
        if ((limit && at > limit) || (best >= 0 && at >= soonest))
            continue;
        best = k;
        soonest = at;
    }
    return best;
}

/* ---- sending and acknowledgement ----------------------------------------- */

/* Count the time for which carriers without chunks were idle, now that carrier
 * k has taken n bytes; halve the estimates of those idle for long. */
static void count_idle(struct wf_ordered *o, int k, uint64_t n)
{
    for (int i = 0; i < o->carriers; i++) {
        struct wf_flight *f = &o->carrier[i].flight;
        if (!f->known || f->bytes)
            continue;
        f->idle += o->carrier[k].flight.slope * (double)n;
        if (f->idle < FORGET * predict_arrival(f, WF_STRIPE_PIECE))
            continue;
        f->idle = 0;
        f->base /= 2;
        f->slope /= 2;
    }
}

void wf_stripe_note_sent(struct wf_ordered *o, int k, struct wf_retained *r)
{
    struct wf_flight *f = &o->carrier[k].flight;

    WF_ASSERT(k >= 0 && k < o->carriers && !r->flying && r->tx.tx.len > 0);
    r->sent_at = wf_now(o->loc->wf);
    if (!f->bytes)
        f->progressed_at = r->sent_at;
    f->bytes += r->tx.tx.len;
    f->idle = 0;
    count_idle(o, k, r->tx.tx.len);
    r->behind = f->bytes;
    r->flying = true;
    o->bulk = true;
    o->counts[WF_ORDER_STRIPED] += k != o->at;
}

void wf_stripe_end_flight(struct wf_ordered *o, struct wf_retained *r)
{
    struct wf_flight *f = &o->carrier[r->via < 0 ? 0 : r->via].flight;

    if (!r->flying)
        return;
    r->flying = false;
    f->bytes -= f->bytes < r->tx.tx.len ? f->bytes : r->tx.tx.len;
}

/* Update the estimates of a carrier by a chunk that was acknowledged. */
static void learn_speed(struct wf_flight *f, const struct wf_retained *r,
                        uint64_t now)
{
    uint64_t took = now > r->sent_at ? now - r->sent_at : 0;
    double more;

    if (!f->known || took < f->base)
        f->base = took;
    else if (r->behind == r->tx.tx.len) /* alone: the delay has changed */
        f->base += (took - f->base) / LEARN;
    WF_ASSERT(r->behind >= r->tx.tx.len && took >= f->base);
    more = (double)(took - f->base) / (double)r->behind;
    f->slope += (more - f->slope) / LEARN;
    if (r->behind > f->most)
        f->most = r->behind;
    f->known = true;
}

/* The acknowledgement of all pieces up to one may come by another carrier, and
 * overtake the one that names the piece: without it a carrier that takes every
 * piece would never be measured again. */
void wf_stripe_note_acked(struct wf_ordered *o, struct wf_retained *r)
{
    WF_ASSERT(r->flying && r->via >= 0);
    learn_speed(&o->carrier[r->via].flight, r, wf_now(o->loc->wf));
    wf_stripe_end_flight(o, r);
}

void wf_stripe_note_landed(struct wf_ordered *o, int k, uint32_t seq)
{
    struct wf_carrier *c = &o->carrier[k];
    uint64_t now = wf_now(o->loc->wf);

    for (struct wf_retained *r = o->first; r; r = r->next) {
        if ((int32_t)(r->seq - seq) > 0)
            break;
        if (!r->flying || r->via != k)
            continue;
        learn_speed(&c->flight, r, now);
        wf_stripe_end_flight(o, r);
    }
    c->flight.progressed_at = c->answered_at = now;
    c->flight.doubt_at = c->probed_at = 0;
    if (k == o->at) {
        o->silent_since = 0;
        o->candidate = -1;
    }
    wf_order_send_waiting(o);
    wf_order_resume_senders(o);
}

/* ---- silence ------------------------------------------------------------- */

/* The time without an acknowledgement after which a carrier is silent. */
static uint64_t silence_limit(const struct wf_flight *f)
{
    double expected = 2 * predict_arrival(f, 0);

    if (!f->known)
        return UNKNOWN_NS;
    return expected > SILENT_NS ? (uint64_t)expected : SILENT_NS;
}

/* Probe carrier k if it is silent, and give it up if it does not answer. */
static void check_silence(struct wf_ordered *o, int k, uint64_t now)
{
    struct wf_carrier *c = &o->carrier[k], *at = &o->carrier[o->at];

    if (!c->flight.bytes ||
        now < c->flight.progressed_at + silence_limit(&c->flight))
        return;
    wf_carrier_request_probe(o, k);
    wf_carrier_request_probe(o, o->at);
    if (!c->flight.doubt_at && at->answered_at > c->probed_at) {
        c->flight.doubt_at = now;
        wf_carrier_has_traffic(o, k);
    }
    if (!c->flight.doubt_at || now <= c->flight.doubt_at + ANSWER_NS)
        return;
    if (!wf_carrier_has_traffic(o, k)) {
        wf_carrier_give_up(o, k, "it is silent");
        return;
    }
    c->flight.doubt_at = 0;
    c->flight.progressed_at = now;
}

void wf_stripe_maintain(struct wf_ordered *o, uint64_t now)
{
    for (int k = 0; k < o->carriers && o->at >= 0; k++) {
        if (k == o->at || o->carrier[k].state == WF_CARRIER_BROKEN)
            continue;
        if (o->bulk && !o->carrier[k].up)
            wf_carrier_request_probe(o, k);
        check_silence(o, k, now);
    }
}

bool wf_stripe_has_pieces(const struct wf_ordered *o)
{
    for (int k = 0; o->stripe && k < o->carriers; k++)
        if (k != o->at && o->carrier[k].flight.bytes)
            return true;
    return false;
}
