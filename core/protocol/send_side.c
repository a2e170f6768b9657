/* The send side of a peer: see send_side.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/send_side.h"

#include <sched.h>

#include "os/tuning.h"
#include "protocol/eager.h"
#include "protocol/queues.h"

/* Claim a side that is lent, for `state`. A thread that has it copies one
 * message. False: it belongs to the engine. */
static bool claim_side(struct wf_send_side *s, uint32_t state)
{
    for (unsigned spins = 1;; spins++) {
        uint32_t now = wf_load_relaxed(&s->state);
        if (now == WF_SIDE_ENGINE)
            return false;
        /* pairs with the release stores of LENT below */
        if (now == WF_SIDE_LENT && wf_cas_acq_rel(&s->state, &now, state))
            return true;
        if (spins % WF_SIDE_SPINS == 0)
            sched_yield();
        wf_cpu_relax();
    }
}

void wf_side_lend(struct weft_loc *loc)
{
    struct wf_lane *l = &loc->lane[WF_LANE_ORDER];
    struct wf_send_side *s = &loc->side;
    const weft_ops *ops = l->core->ops;

    WF_ASSERT(loc->fastpath_end &&
              wf_load_relaxed(&s->state) == WF_SIDE_ENGINE);
    if (!WEFT_HAS(ops, weft_ops, send_beside) ||
        l->send_words != ops->send_words)
        return; /* ordered, checked and traced lanes have their own functions */
    s->send = ops->send_beside;
    s->end = loc->fastpath_end;
    loc->fastpath_end = 0;
    wf_store_release(&s->state, WF_SIDE_LENT); /* pairs with claim_side */
}

void wf_side_take_back_now(struct weft_loc *loc)
{
    if (claim_side(&loc->side, WF_SIDE_ENGINE))
        wf_location_update_fastpath(loc);
}

bool wf_side_send(struct weft_loc *loc, const void *data, uint64_t n,
                  uint64_t env0, uint64_t env1)
{
    struct wf_send_side *s = &loc->side;
    struct wf_lane *l = &loc->lane[WF_LANE_ORDER];
    int64_t left;
    bool sent;

    if (!claim_side(s, WF_SIDE_BUSY))
        return false;
    left = wf_eager_credit_left(loc, n);
    sent =
        n < s->end && left >= 0 &&
        s->send(data, WF_SHORT_EAGER | n << 32, l->peer, env0, env1) == WEFT_OK;
    if (sent) {
        loc->credit = left;
        l->seq++;
    }
    wf_store_release(&s->state, WF_SIDE_LENT); /* pairs with claim_side */
    return sent;
}
