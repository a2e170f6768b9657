/* The time of the next maintenance round of the ordered pairs. See carrier.c.
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/carrier_deadline.h"

#include "progress/progress.h"
#include "protocol/carrier_silence.h"
#include "protocol/order.h"
#include "protocol/stripe.h"
#include "route/links.h"

#define LOST_ROUND_NS 2000000u  /* lost, or in doubt: between two rounds */

/* When the pair needs the next maintenance round. */
static uint64_t next_due(const struct wf_ordered *o, uint64_t now)
{
    uint64_t at = UINT64_MAX;

    if (o->failed)
        return at;
    if (o->owed)
        at = (o->owed_since ? o->owed_since : now) + WF_CARRIER_ACK_NS;
    if (o->at < 0 || o->candidate >= 0 || wf_stripe_has_pieces(o))
        at = wf_min_u64(at, now + LOST_ROUND_NS);
    else if (o->first)
        at = wf_min_u64(at, wf_carrier_next_check(o, now));
    if (o->at >= 0)
        at = wf_min_u64(at, o->life_check_at);
    if (o->at > 0 && o->failback)
        at = wf_min_u64(at, o->failback_at);
    for (int k = 0; k < o->carriers; k++)
        if (o->carrier[k].state == WF_CARRIER_BROKEN)
            at = wf_min_u64(at, o->carrier[k].again_at);
    return at;
}

uint64_t wf_orders_deadline(struct wf_instance *wf)
{
    const struct wf_links *links = wf->links;
    uint64_t now, first = UINT64_MAX;

    if (!links->orders || links->parting)
        return 0;
    now = wf_now(wf);
    for (struct wf_ordered *o = links->orders; o; o = o->next_order) {
        if (o->first && !o->silent_since)
            o->silent_since = now; /* silence begins before the sleep */
        first = wf_min_u64(first, next_due(o, now));
    }
    if (wf_progress_is_resume_requested(wf))
        first = now;
    return first == UINT64_MAX ? 0 : first;
}
