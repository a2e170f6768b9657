/* Stripes: the pieces of large messages go by several carriers at once. See
 * order.h.
 *
 * WHICH    A carrier is a queue of unknown length behind an unknown time. Its
 *          flight is what it has taken and the peer has not told us to be there
 *          (an ACK that names the piece, by the same carrier). From the time that
 *          each piece took we know what a piece takes alone (base) and what each
 *          byte before it adds (slope). A piece goes where it will arrive first;
 *          not at all as long as every carrier has QUEUE_NS of work, for by then
 *          we know better; and not by one that needs longer than another would
 *          for all that is left of the message. What flies at most doubles with
 *          each landing, as long as little is known. One that gets nothing cannot
 *          show that it has become faster: what it took counts half after some
 *          times that long, so that it is asked again.
 * SILENCE  A carrier that has pieces and lands none for long is probed, and the
 *          current one too. When that answers and the silent one does not, the
 *          silent one is given up, and what it had goes by the others.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/order.h"

#define QUEUE_NS 20000000.0    /* of pieces that one carrier may have */
#define SILENT_NS 50000000u    /* at least, without a landing */
#define UNKNOWN_NS 250000000u  /* the same before the first one */
#define ANSWER_NS 20000000u    /* after the other one's */
enum {
    FIRST_BYTES = 4 * WF_STRIPE_PIECE,
    LEARN = 4,
    FORGET = 4 /* times of a piece, of others' work */
};

/* ---- choosing ------------------------------------------------------------ */

static double arrival(const struct wf_flight *f, uint64_t more)
{
    return (double)f->base + f->slope * (double)(f->bytes + more);
}

static bool usable(const struct wf_ordered *o, int k)
{
    const struct wf_carrier *c = &o->carrier[k];

    return (k == o->at || c->up) && c->state != WF_CARRIER_BROKEN &&
           !c->blocked && !c->give_up;
}

static bool has_room(const struct wf_flight *f, uint64_t n)
{
    if (!f->bytes)
        return true;
    return f->slope * (double)(f->bytes + n) <= QUEUE_NS &&
           f->bytes + n <= (f->most ? 2 * f->most : FIRST_BYTES);
}

/* When the first carrier would have landed all that is left, alone. */
static double alone(const struct wf_ordered *o, const struct wf_retained *r)
{
    uint64_t left = r->p->expected - r->offset;
    double best = 0;

    for (int k = 0; k < o->carriers; k++) {
        const struct wf_carrier *c = &o->carrier[k];
        double at = arrival(&c->flight, left);
        if ((k == o->at || c->up) && c->flight.known && (!best || at < best))
            best = at;
    }
    return best;
}

int wf_stripe_choose(const struct wf_ordered *o, const struct wf_retained *r)
{
    double limit = alone(o, r), soonest = 0, at;
    int best = -1;

    for (int k = 0; k < o->carriers; k++) {
        const struct wf_flight *f = &o->carrier[k].flight;
        if (!usable(o, k) || !has_room(f, r->tx.tx.len))
            continue;
        at = arrival(f, r->tx.tx.len);
        if ((limit && at > limit) || (best >= 0 && at >= soonest))
            continue;
        best = k;
        soonest = at;
    }
    return best;
}

/* ---- flying and landing -------------------------------------------------- */

/* Carrier k has taken n bytes, and these none. */
static void pass_over(struct wf_ordered *o, int k, uint64_t n)
{
    for (int i = 0; i < o->carriers; i++) {
        struct wf_flight *f = &o->carrier[i].flight;
        if (!f->known || f->bytes)
            continue;
        f->idle += o->carrier[k].flight.slope * (double)n;
        if (f->idle < FORGET * arrival(f, WF_STRIPE_PIECE))
            continue;
        f->idle = 0;
        f->base /= 2;
        f->slope /= 2;
    }
}

void wf_stripe_sent(struct wf_ordered *o, int k, struct wf_retained *r)
{
    struct wf_flight *f = &o->carrier[k].flight;

    r->sent_at = wf_now(o->loc->wf);
    if (!f->bytes)
        f->stirred_at = r->sent_at;
    f->bytes += r->tx.tx.len;
    f->idle = 0;
    pass_over(o, k, r->tx.tx.len);
    r->behind = f->bytes;
    r->flying = true;
    o->bulk = true;
    o->counts[WF_ORDER_STRIPED] += k != o->at;
}

void wf_stripe_end(struct wf_ordered *o, struct wf_retained *r)
{
    struct wf_flight *f = &o->carrier[r->via < 0 ? 0 : r->via].flight;

    if (!r->flying)
        return;
    r->flying = false;
    f->bytes -= f->bytes < r->tx.tx.len ? f->bytes : r->tx.tx.len;
}

static void learn(struct wf_flight *f, const struct wf_retained *r, uint64_t now)
{
    uint64_t took = now > r->sent_at ? now - r->sent_at : 0;
    double more;

    if (!f->known || took < f->base)
        f->base = took;
    else if (r->behind == r->tx.tx.len) /* it was alone: paths change */
        f->base += (took - f->base) / LEARN;
    more = (double)(took - f->base) / (double)r->behind;
    f->slope += (more - f->slope) / LEARN;
    if (r->behind > f->most)
        f->most = r->behind;
    f->known = true;
}

void wf_stripe_landed(struct wf_ordered *o, int k, uint32_t seq)
{
    struct wf_carrier *c = &o->carrier[k];
    uint64_t now = wf_now(o->loc->wf);

    for (struct wf_retained *r = o->first; r; r = r->next) {
        if ((int32_t)(r->seq - seq) > 0)
            break;
        if (!r->flying || r->via != k)
            continue;
        learn(&c->flight, r, now);
        wf_stripe_end(o, r);
    }
    c->flight.stirred_at = c->answered_at = now;
    c->flight.doubt_at = c->probed_at = 0;
    if (k == o->at) {
        o->silent_since = 0;
        o->heir = -1;
    }
    wf_order_push(o);
    wf_order_room(o);
}

/* ---- silence ------------------------------------------------------------- */

static uint64_t patience(const struct wf_flight *f)
{
    double expected = 2 * arrival(f, 0);

    if (!f->known)
        return UNKNOWN_NS;
    return expected > SILENT_NS ? (uint64_t)expected : SILENT_NS;
}

static void doubt(struct wf_ordered *o, int k, uint64_t now)
{
    struct wf_carrier *c = &o->carrier[k], *at = &o->carrier[o->at];

    if (!c->flight.bytes || now < c->flight.stirred_at + patience(&c->flight))
        return;
    wf_carrier_probe(o, k);
    wf_carrier_probe(o, o->at);
    if (!c->flight.doubt_at && at->answered_at > c->probed_at) {
        c->flight.doubt_at = now;
        wf_carrier_lives(o, k);
    }
    if (!c->flight.doubt_at || now <= c->flight.doubt_at + ANSWER_NS)
        return;
    if (!wf_carrier_lives(o, k)) {
        wf_carrier_fault(o, k, "it is silent");
        return;
    }
    c->flight.doubt_at = 0;
    c->flight.stirred_at = now;
}

void wf_stripe_turn(struct wf_ordered *o, uint64_t now)
{
    for (int k = 0; k < o->carriers && o->at >= 0; k++) {
        if (k == o->at || o->carrier[k].state == WF_CARRIER_BROKEN)
            continue;
        if (o->bulk && !o->carrier[k].up)
            wf_carrier_probe(o, k);
        doubt(o, k, now);
    }
}

bool wf_stripe_doubts(const struct wf_ordered *o)
{
    for (int k = 0; o->stripe && k < o->carriers; k++)
        if (k != o->at && o->carrier[k].flight.bytes)
            return true;
    return false;
}
