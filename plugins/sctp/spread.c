/* Decides when a peer gets further associations.
 *
 * A congestion window that each loss halves carries 1460 B / RTT * 1.22 /
 * sqrt(loss), whatever the cable could. That is right where a loss means that a
 * queue was full, and a waste where cables lose packets by themselves. The two
 * are told apart as in udp-reliable: a full queue takes time.
 *
 *   after LOSSES retransmitted packets, later after SURE, if the round trip is
 *     as short as ever      twice as many associations carry payload
 *     longer                half as many, not less than `associations`
 *
 * A peer with a short round trip is left alone: there a window is large enough.
 * Packets that are retransmitted while the peer does not answer were not lost:
 * the peer computes.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sctp.h"

enum {
    LOSSES = 8,
    SURE = 4, /* where the path is known to lose packets */
    FAR_MS = 3,
    QUEUE_MS = SCTP_SACK_MS + 1, /* a late acknowledgement is no queue */
    QUEUE_PART = 2, /* of the shortest round trip, if that is more */
    SILENT = 3      /* round trips without an answer */
};

static bool is_delayed_by_queue(const struct wf_sctp_spread *s, uint32_t rtt)
{
    uint32_t slack = s->rtt_min / QUEUE_PART;

    return rtt > s->rtt_min + (slack > QUEUE_MS ? slack : QUEUE_MS);
}

void wf_sctp_spread_judge(struct wf_sctp_spread *s,
                          const struct wf_sctp_loss_sample *seen, int least,
                          int most)
{
    if (!seen->rtt_ms || !seen->answered)
        return;
    if (!s->rtt_min || seen->rtt_ms < s->rtt_min)
        s->rtt_min = seen->rtt_ms;
    if (s->rtt_min < FAR_MS)
        return;
    s->losses += seen->retransmitted;
    s->queued_losses +=
        is_delayed_by_queue(s, seen->rtt_ms) ? seen->retransmitted : 0;
    if (s->losses < (uint32_t)(s->now > least ? SURE : LOSSES))
        return;
    s->now = 2 * s->queued_losses > s->losses ? s->now / 2 : s->now * 2;
    s->now = s->now < least ? least : s->now > most ? most : s->now;
    s->losses = s->queued_losses = 0;
}

static bool has_answered(const weft_peer *p, uint32_t rtt_ms, uint64_t now)
{
    return !p->waiting_since ||
           now - p->waiting_since < (uint64_t)rtt_ms * SILENT * 1000000;
}

static void open_more_assocs(weft_peer *p)
{
    for (int i = 0; i < p->spread.now; i++)
        if (!wf_sctp_assoc_get(p, (uint32_t)i))
            p->spread.now = i; /* no memory for more */
    p->ep->count.spreads++;
    p->ep->ip.host->log(p->ep->ip.core, 2,
                        "packets to process %u get lost without a queue: %d "
                        "associations",
                        p->ip.id, p->spread.now);
}

void wf_sctp_spread_watch(weft_peer *p, uint64_t now)
{
    int most = (int)p->ep->cfg.associations_max, before = p->spread.now;
    struct wf_sctp_loss_sample seen = {0};

    if (!p->up || p->assocs_needed >= most)
        return;
    for (int i = 0; i < ASSOCS_MAX; i++)
        if (p->assoc[i])
            seen.retransmitted +=
                wf_sctp_user_take_retransmitted(&p->assoc[i]->user);
    seen.rtt_ms = wf_sctp_user_rtt_ms(&p->assoc[0]->user);
    seen.answered = has_answered(p, seen.rtt_ms, now);
    wf_sctp_spread_judge(&p->spread, &seen, p->assocs_needed, most);
    if (p->spread.now > before)
        open_more_assocs(p);
}
