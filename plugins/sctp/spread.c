/* When a peer gets further associations.
 *
 * A congestion window that is halved by each loss carries 1460 B / RTT * 1.22 /
 * sqrt(loss), whatever the cable could. That is right where a loss means that
 * a queue was full, and it is waste where cables lose by themselves. The two are
 * told apart as in udp-reliable: a full queue takes time.
 *
 *   LOSSES packets sent again, later SURE of them, the round trip
 *     as short as ever      twice as many associations carry payload
 *     longer                half as many, as far as `associations`
 *
 * A short way is left alone: there a window is large enough. What is sent
 * again while the peer says nothing was not lost: it computes.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sctp.h"

enum {
    LOSSES = 8,
    SURE = 4, /* of a path that is known to lose */
    FAR_MS = 3,
    QUEUE_MS = SCTP_SACK_MS + 1, /* a late answer is none */
    QUEUE_PART = 2, /* of the shortest round trip, if that is more */
    SILENT = 3      /* round trips */
};

static bool stands_in_queue(const struct wf_sctp_spread *s, uint32_t rtt)
{
    uint32_t slack = s->rtt_least / QUEUE_PART;

    return rtt > s->rtt_least + (slack > QUEUE_MS ? slack : QUEUE_MS);
}

void wf_sctp_spread_judge(struct wf_sctp_spread *s,
                          const struct wf_sctp_sight *seen, int least, int most)
{
    if (!seen->rtt_ms || !seen->answered)
        return;
    if (!s->rtt_least || seen->rtt_ms < s->rtt_least)
        s->rtt_least = seen->rtt_ms;
    if (s->rtt_least < FAR_MS)
        return;
    s->losses += seen->repeated;
    s->beside_queue += stands_in_queue(s, seen->rtt_ms) ? seen->repeated : 0;
    if (s->losses < (uint32_t)(s->now > least ? SURE : LOSSES))
        return;
    s->now = 2 * s->beside_queue > s->losses ? s->now / 2 : s->now * 2;
    s->now = s->now < least ? least : s->now > most ? most : s->now;
    s->losses = s->beside_queue = 0;
}

static bool answered(const weft_peer *p, uint32_t rtt_ms, uint64_t now)
{
    return !p->waiting_since ||
           now - p->waiting_since < (uint64_t)rtt_ms * SILENT * 1000000;
}

static void open_more(weft_peer *p)
{
    for (int i = 0; i < p->spread.now; i++)
        if (!wf_sctp_strand_at(p, (uint32_t)i))
            p->spread.now = i; /* no memory: as many as there are */
    p->ep->count.spreads++;
    p->ep->host->log(p->ep->core, 2,
                     "packets to process %u get lost without a queue: %d "
                     "associations",
                     p->party.id, p->spread.now);
}

void wf_sctp_spread_watch(weft_peer *p, uint64_t now)
{
    int most = (int)p->ep->cfg.associations_max, before = p->spread.now;
    struct wf_sctp_sight seen = {0};

    if (!p->up || p->strands >= most)
        return;
    for (int i = 0; i < STRANDS; i++)
        if (p->strand[i])
            seen.repeated += wf_sctp_assoc_repeated(&p->strand[i]->assoc);
    seen.rtt_ms = wf_sctp_assoc_rtt_ms(&p->strand[0]->assoc);
    seen.answered = answered(p, seen.rtt_ms, now);
    wf_sctp_spread_judge(&p->spread, &seen, p->strands, most);
    if (p->spread.now > before)
        open_more(p);
}
