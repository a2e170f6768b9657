/* Processes acknowledgements, and detects losses.
 *
 * A packet is lost if `reorder` later packets have overtaken it, or one that
 * left an eighth of a round trip later (RACK, RFC 8985; QUIC, RFC 9002). When a
 * packet that counted as lost arrives after all, the path reorders: `reorder`
 * grows, and shrinks again once that does not happen any more.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "flow.h"

enum { LOSS_DELAY_MIN_NS = 500000 };

/* Tells whether k acknowledges that number; `seen` is the highest one that it
 * acknowledges. */
static bool is_acknowledged(const struct wf_udp_packet *k, uint64_t seen,
                            uint64_t number)
{
    uint64_t back = seen - number;

    if (back == 0)
        return true;
    back--;
    return back < 64 * SACK_WORDS && k->sack[back / 64] >> back % 64 & 1;
}

/* Notices that packets whose data was sent again have arrived as well: the path
 * delays packets, and does not lose them. */
static void notice_late(struct wf_udp_flow *f, const struct wf_udp_packet *k,
                        uint64_t seen)
{
    uint64_t i = seen > 64 * SACK_WORDS ? seen - 64 * SACK_WORDS : 0;

    for (; i < f->oldest && i <= seen; i++) {
        struct wf_udp_flow_sent *s = wf_udp_flow_record_of(f, i);
        if (!s->repeated || !is_acknowledged(k, seen, i))
            continue;
        s->repeated = false;
        wf_udp_flow_undo_reset(f, i);
        if (s->called_lost)
            wf_udp_flow_note_reordering(f);
    }
}

/* Marks a packet as arrived. Returns the bytes that leave the path by that. */
static uint64_t resolve_arrived(struct wf_udp_flow *f,
                                struct wf_udp_flow_sent *s)
{
    uint64_t bytes = 0;

    if (s->state == SENT_FLYING) {
        bytes = s->len;
        f->flying -= s->len;
        wf_udp_flow_count_packet(f, false);
        wf_udp_flow_note_large(f, s->len, false);
    } else if (s->state == SENT_LOST) {
        f->lost--;
    }
    s->state = SENT_RESOLVED;
    return bytes;
}

/* Returns the ns after which a packet that was overtaken is lost. */
static uint64_t loss_delay_of(const struct wf_udp_flow *f)
{
    uint64_t wait = f->rtt + f->rtt / 8;

    return wait > LOSS_DELAY_MIN_NS ? wait : LOSS_DELAY_MIN_NS;
}

void wf_udp_flow_find_lost(struct wf_udp_flow *f, uint64_t now)
{
    uint64_t wait = loss_delay_of(f);

    f->lost_at = 0;
    for (uint64_t i = f->oldest; i < f->peer_seen; i++) {
        struct wf_udp_flow_sent *s = wf_udp_flow_record_of(f, i);
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
        wf_udp_flow_count_packet(f, true);
        wf_udp_flow_note_large(f, s->len, true);
        if (i < f->lost_hint)
            f->lost_hint = i;
        wf_udp_flow_cut_window(f, i);
    }
}

void wf_udp_flow_forget_resolved(struct wf_udp_flow *f)
{
    while (f->oldest < f->number &&
           wf_udp_flow_record_of(f, f->oldest)->state == SENT_RESOLVED)
        f->oldest++;
}

/* Resolves the packets that k acknowledges, and all that lie before k->next. */
static void resolve_packets(struct wf_udp_flow *f, uint64_t now,
                            const struct wf_udp_packet *k)
{
    uint64_t seen = wf_udp_packet_full_number(f->number, k->seen), bytes = 0;
    bool moved = false;

    if (seen >= f->number)
        return; /* no packet was sent with this number */
    if (k->flags & UDP_SACK)
        notice_late(f, k, seen);
    for (uint64_t i = f->oldest; i < f->number; i++) {
        struct wf_udp_flow_sent *s = wf_udp_flow_record_of(f, i);
        bool here = i <= seen && (s->len == 0 || is_acknowledged(k, seen, i));
        if (!here && (s->len == 0 || s->offset + s->len > k->next))
            continue;
        if (here && i == seen && s->state == SENT_FLYING)
            wf_udp_flow_add_rtt(f, now, now - s->when);
        if (here && s->state == SENT_FLYING)
            wf_udp_flow_undo_reset(f, i);
        if (here && f->search.size && i == f->search.number &&
            is_acknowledged(k, seen, i))
            wf_udp_flow_confirm_size(f);
        moved = moved || s->state != SENT_RESOLVED;
        bytes += resolve_arrived(f, s);
    }
    wf_udp_flow_forget_resolved(f);
    if (seen > f->peer_seen)
        f->peer_seen = seen;
    if (bytes)
        wf_udp_flow_grow_window(f, now, bytes);
    if (moved)
        f->backoff = 0;
}

void wf_udp_flow_process_ack(struct wf_udp_flow *f, uint64_t now,
                             const struct wf_udp_packet *k)
{
    if (k->next > f->sent)
        return; /* more than was ever sent: not from the peer */
    if (k->next > f->una)
        f->una = k->next;
    if (k->next + k->room > f->limit) {
        f->limit = k->next + k->room;
        f->backoff = 0;
    }
    resolve_packets(f, now, k);
    wf_udp_flow_find_lost(f, now);
    wf_udp_flow_arm_probe(f);
}
