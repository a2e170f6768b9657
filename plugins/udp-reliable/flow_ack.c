/* What the peer has, and what was lost.
 *
 * Lost is what was overtaken by `reorder` packets, or by one that left an
 * eighth of a round trip later (RACK, RFC 8985; QUIC, RFC 9002). When a packet
 * that was called lost turns up after all, the path reorders: more patience, for
 * as long as that happens now and then.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "flow.h"

enum { GRANULE_NS = 500000 };

static bool named(const struct wf_udp_packet *k, uint64_t seen, uint64_t number)
{
    uint64_t back = seen - number;

    if (back == 0)
        return true;
    back--;
    return back < 64 * SACK_WORDS && k->sack[back / 64] >> back % 64 & 1;
}

/* Data that was sent again has come the first time as well: the path is late
 * rather than lossy. */
static void notice_late(struct wf_udp_flow *f, const struct wf_udp_packet *k,
                        uint64_t seen)
{
    uint64_t i = seen > 64 * SACK_WORDS ? seen - 64 * SACK_WORDS : 0;

    for (; i < f->oldest && i <= seen; i++) {
        struct wf_udp_flow_sent *s = wf_udp_flow_packet(f, i);
        if (!s->repeated || !named(k, seen, i))
            continue;
        s->repeated = false;
        wf_udp_flow_take_back(f, i);
        if (s->called_lost)
            wf_udp_flow_late(f);
    }
}

/* This packet has arrived. Returns bytes that are not under way any more. */
static uint64_t arrived(struct wf_udp_flow *f, struct wf_udp_flow_sent *s)
{
    uint64_t bytes = 0;

    if (s->state == SENT_FLYING) {
        bytes = s->len;
        f->flying -= s->len;
        wf_udp_flow_remember(f, false);
        wf_udp_flow_large(f, s->len, false);
    } else if (s->state == SENT_LOST) {
        f->lost--;
    }
    s->state = SENT_RESOLVED;
    return bytes;
}

/* After this time a packet that was overtaken is lost. */
static uint64_t patience(const struct wf_udp_flow *f)
{
    uint64_t wait = f->rtt + f->rtt / 8;

    return wait > GRANULE_NS ? wait : GRANULE_NS;
}

/* Packets before the last one that arrived, and still missing. */
void wf_udp_flow_find_lost(struct wf_udp_flow *f, uint64_t now)
{
    uint64_t wait = patience(f);

    f->lost_at = 0;
    for (uint64_t i = f->oldest; i < f->peer_seen; i++) {
        struct wf_udp_flow_sent *s = wf_udp_flow_packet(f, i);
        if (s->state != SENT_FLYING)
            continue;
        if (f->peer_seen - i < f->reorder && now - s->when < wait) {
            if (!f->lost_at)
                f->lost_at = s->when + wait;
            continue;
        }
        s->state = SENT_LOST;
        f->flying -= s->len;
        f->lost++;
        f->packets_lost++;
        wf_udp_flow_remember(f, true);
        wf_udp_flow_large(f, s->len, true);
        if (i < f->lost_hint)
            f->lost_hint = i;
        wf_udp_flow_shrink(f, i);
    }
}

void wf_udp_flow_forget(struct wf_udp_flow *f)
{
    while (f->oldest < f->number &&
           wf_udp_flow_packet(f, f->oldest)->state == SENT_RESOLVED)
        f->oldest++;
}

static void resolve(struct wf_udp_flow *f, uint64_t now,
                    const struct wf_udp_packet *k)
{
    uint64_t seen = wf_udp_packet_number(f->number, k->seen), bytes = 0;
    bool moved = false;

    if (seen >= f->number)
        return; /* nothing of ours has this number */
    if (k->flags & UDP_SACK)
        notice_late(f, k, seen);
    for (uint64_t i = f->oldest; i < f->number; i++) {
        struct wf_udp_flow_sent *s = wf_udp_flow_packet(f, i);
        bool here = i <= seen && (s->len == 0 || named(k, seen, i));
        if (!here && (s->len == 0 || s->offset + s->len > k->next))
            continue;
        if (here && i == seen && s->state == SENT_FLYING)
            wf_udp_flow_sample(f, now, now - s->when);
        if (here && s->state == SENT_FLYING)
            wf_udp_flow_take_back(f, i);
        if (here && f->search.size && i == f->search.number &&
            named(k, seen, i))
            wf_udp_flow_size_heard(f);
        moved = moved || s->state != SENT_RESOLVED;
        bytes += arrived(f, s);
    }
    wf_udp_flow_forget(f);
    if (seen > f->peer_seen)
        f->peer_seen = seen;
    if (bytes)
        wf_udp_flow_grow(f, now, bytes);
    if (moved)
        f->backoff = 0;
}

void wf_udp_flow_acked(struct wf_udp_flow *f, uint64_t now,
                       const struct wf_udp_packet *k)
{
    if (k->next > f->sent)
        return; /* more than was ever sent: not from our peer */
    if (k->next > f->una)
        f->una = k->next;
    if (k->next + k->room > f->limit) {
        f->limit = k->next + k->room;
        f->backoff = 0;
    }
    resolve(f, now, k);
    wf_udp_flow_find_lost(f, now);
    wf_udp_flow_arm(f);
}
