/* The decision how a message leaves.
 *
 *   by copy      the plugin copies it at once: no request, no completion
 *   eager        a request; the payload is read from the user's memory, maybe
 *                after a wait for room in the lane
 *   rendezvous   a request; the payload stays with the sender until the
 *                receiver asks for it
 *
 * DESIGN  Everything that asks is here: the fast path (fastpath.h), sends of
 * the library (try.h), the send unit (send.c) and control messages (message.c).
 * One number per Location, fastpath_end, says whether the order lane takes
 * copies, and of which size; wf_location_update_fastpath computes it. The
 * send side is taken back before one asks inside the section (send_side.h).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_EAGER_H
#define WF_EAGER_H

#include "protocol/p2p.h"
#include "protocol/send_side.h"
#include "route/location.h"

enum wf_send_way { WF_BY_COPY, WF_BY_EAGER, WF_BY_RENDEZVOUS };

/* The credit that is left after an eager message of n bytes; negative: it is
 * not enough for the message. */
static inline int64_t wf_eager_credit_left(const struct weft_loc *loc,
                                           uint64_t n)
{
    return loc->credit - (int64_t)n - WF_MESSAGE_OVERHEAD;
}

/* True if the order lane would copy n bytes now: it is connected and clear, and
 * its plugin copies so much. */
static inline bool wf_eager_takes_copy(const struct weft_loc *loc, uint64_t n)
{
    return n < loc->fastpath_end;
}

/* The credit that is left after a message of n bytes that leaves now, by copy.
 * Negative: it may not. */
static inline int64_t wf_eager_left_by_copy(const struct weft_loc *loc,
                                            uint64_t n)
{
    return wf_eager_takes_copy(loc, n) ? wf_eager_credit_left(loc, n) : -1;
}

/* The way of a message of n contiguous bytes by this lane, as it is now. A
 * synchronous one needs its request; a ready one needs no credit, for its
 * receive is there. */
static inline enum wf_send_way wf_eager_choose(struct weft_loc *loc,
                                               unsigned lane, uint64_t n,
                                               enum wf_send_mode mode)
{
    wf_side_take_back(loc);
    if (lane == WF_LANE_ORDER && mode != WF_SEND_SYNC &&
        wf_eager_left_by_copy(loc, n) >= 0)
        return WF_BY_COPY;
    return n <= loc->lane[lane].max_eager &&
                   (mode == WF_SEND_READY || wf_eager_credit_left(loc, n) >= 0)
               ? WF_BY_EAGER
               : WF_BY_RENDEZVOUS;
}

/* True if a message of n bytes would leave at once if the order lane had room
 * or the peer had returned credit: both may come soon. */
static inline bool wf_eager_lacks_room(struct weft_loc *loc, uint64_t n)
{
    const struct wf_lane *l = &loc->lane[WF_LANE_ORDER];

    wf_side_take_back(loc);
    return !loc->failed && n <= l->max_eager &&
           (!wf_lane_is_clear(l) || wf_eager_credit_left(loc, n) < 0);
}

#endif
