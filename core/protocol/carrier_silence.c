/* Is the current carrier of a pair silent? See carrier.c.
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
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/order.h"

#define SILENT_NS 50000000u /* without an acknowledgement of what was sent */
#define STILL_NS 20000000u  /* from here on nothing may have passed */

static uint64_t since(uint64_t then, uint64_t now)
{
    return now > then ? now - then : 0;
}

bool wf_carrier_waited(const struct wf_ordered *o, uint64_t now)
{
    return since(o->silent_since, now) >= SILENT_NS;
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
    o->silent_since = o->sign_since = now - STILL_NS;
}

/* Nothing is acknowledged, and nothing passes. */
bool wf_carrier_silent(struct wf_ordered *o, uint64_t now)
{
    if (!o->first)
        o->silent_since = 0;
    else if (!o->silent_since)
        o->silent_since = now;
    if (!o->silent_since || since(o->silent_since, now) < STILL_NS)
        return false;
    if (o->sign_since != o->silent_since) {
        o->sign_since = o->silent_since;
        wf_carrier_lives(o, o->at);
    }
    if (since(o->silent_since, now) < SILENT_NS)
        return false;
    if (!wf_carrier_lives(o, o->at))
        return true;
    wf_carrier_stir(o, now);
    return false;
}

/* When to look for a sign of what was sent. */
uint64_t wf_carrier_next_look(const struct wf_ordered *o, uint64_t now)
{
    uint64_t quiet = o->silent_since ? since(o->silent_since, now) : 0;

    if (quiet >= SILENT_NS)
        return now + SILENT_NS;
    return now - quiet +
           (o->silent_since && o->sign_since == o->silent_since ? SILENT_NS
                                                                : STILL_NS);
}
