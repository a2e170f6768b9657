/* Chooses the next packet: lost data first, then new data, then a bare
 * acknowledgement.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "flow.h"

/* Fills in the header: what this side has received, and its room. */
static void begin_packet(struct wf_udp_flow *f, struct wf_udp_flow_out *o,
                         uint8_t type)
{
    struct wf_udp_packet *k = &o->head;
    uint64_t most = f->next + f->cfg.window;

    k->type = type;
    k->flags = 0;
    k->number = (uint32_t)f->number;
    k->next = f->whole;
    k->seen = (uint32_t)f->seen;
    k->room = (uint32_t)(most - f->whole);
    k->offset = 0;
    if (f->gap || f->doubled) {
        k->flags |= UDP_SACK;
        for (int i = 0; i < SACK_WORDS; i++)
            k->sack[i] = f->seen_map[i];
    }
    o->n = 0;
    o->len = 0;
    o->repeats = false;
    o->pad = 0;
}

static void attach_data(struct wf_udp_flow *f, struct wf_udp_flow_out *o,
                        uint64_t offset, uint64_t len)
{
    o->len = len < f->cfg.packet ? (uint32_t)len : f->cfg.packet;
    o->head.offset = offset;
    wf_udp_flow_gather(f, offset, &o->len, o);
}

/* Tells whether there is a record for one more packet. Probes may always have
 * one: when few are left each probe resolves the oldest record, except the few
 * probes that cut its data smaller. */
static bool has_record(const struct wf_udp_flow *f)
{
    uint64_t used = f->number - f->oldest;

    return used < (f->probe ? FLOW_PACKETS : FLOW_PACKETS - FLOW_RESERVE);
}

/* Finds the first packet that was lost. */
static bool find_lost(struct wf_udp_flow *f, uint64_t *number)
{
    uint64_t i = f->lost_hint < f->oldest ? f->oldest : f->lost_hint;

    for (; i < f->number; i++) {
        if (wf_udp_flow_record_of(f, i)->state != SENT_LOST)
            continue;
        f->lost_hint = *number = i;
        return true;
    }
    return false;
}

/* Finds the packet that a probe repeats: the one with the data that the peer
 * needs next, for the peer may have no memory to keep early data. Where few
 * records are left it is the oldest packet, so that its record becomes free. */
static bool find_probe(struct wf_udp_flow *f, uint64_t *number)
{
    bool few = f->number - f->oldest >= FLOW_PACKETS - FLOW_RESERVE / 2;
    struct wf_udp_flow_sent *first = NULL;

    for (uint64_t i = f->oldest; i < f->number && !(few && first); i++) {
        struct wf_udp_flow_sent *s = wf_udp_flow_record_of(f, i);
        if (s->state != SENT_LOST && s->state != SENT_FLYING)
            continue;
        if (first && first->offset <= s->offset)
            continue;
        first = s;
        *number = i;
    }
    return first != NULL;
}

/* Makes a packet that repeats data: of a probe, or of a lost packet. */
static bool repeat_packet(struct wf_udp_flow *f, struct wf_udp_flow_out *o,
                          bool probe)
{
    struct wf_udp_flow_sent *s;
    uint64_t offset;

    if (!(probe ? find_probe(f, &o->again) : find_lost(f, &o->again)))
        return false;
    s = wf_udp_flow_record_of(f, o->again);
    offset = s->offset > f->una ? s->offset : f->una;
    o->repeats = true;
    if (s->offset + s->len > offset)
        attach_data(f, o, offset, s->offset + s->len - offset);
    return true;
}

/* Returns how many bytes of new data the peer has room for. */
static uint64_t new_bytes_of(const struct wf_udp_flow *f)
{
    uint64_t end = f->end < f->limit ? f->end : f->limit;

    return end > f->sent ? end - f->sent : 0;
}

/* Tells whether the packet asks for an answer at once: it is the last for now
 * and this side waits for room or for a lent container, or much was sent since
 * the last question. */
static bool wants_answer(const struct wf_udp_flow *f,
                         const struct wf_udp_flow_out *o)
{
    uint64_t after = o->repeats ? f->sent : f->sent + o->len;
    const struct wf_udp_flow_item *last =
        &f->item[(f->item_first + f->item_n - 1) % FLOW_ITEMS];

    return after == f->limit || f->unasked + o->len >= f->congestion / 4 ||
           (after == f->end && f->item_n && last->tx);
}

/* Makes a packet of padding that shows whether the path carries its size.
 * Returns false if no size is to be probed now. */
static bool try_size(struct wf_udp_flow *f, uint64_t now,
                     struct wf_udp_flow_out *o)
{
    uint32_t size;

    if (f->cfg.packet >= f->search.top || f->probe || !o->scratch ||
        !(f->lost || new_bytes_of(f)) ||
        !(size = wf_udp_flow_next_size(f, now)))
        return false;
    WEFT_ASSERT(size <= FLOW_PACKET_MAX && size > f->cfg.packet);
    memset(o->scratch, 0, size);
    o->v[0] = (struct iovec){.iov_base = o->scratch, .iov_len = size};
    o->n = 1;
    o->pad = size;
    o->head.offset = f->sent;
    o->head.flags |= UDP_PAD | UDP_ACK_NOW;
    return true;
}

bool wf_udp_flow_next_packet(struct wf_udp_flow *f, uint64_t now,
                        struct wf_udp_flow_out *o)
{
    bool data = false;

    begin_packet(f, o, UDP_DATA);
    if (has_record(f)) {
        if (try_size(f, now, o))
            return true;
        if (f->probe) {
            data = true;
            if (!repeat_packet(f, o, true) && new_bytes_of(f))
                attach_data(f, o, f->sent, new_bytes_of(f));
            o->head.flags |= UDP_ACK_NOW;
        } else if (f->flying < f->congestion) {
            data = f->lost && repeat_packet(f, o, false);
            if (!data && (data = new_bytes_of(f) > 0))
                attach_data(f, o, f->sent, new_bytes_of(f));
        }
    }
    if (data) {
        if (!o->repeats && !o->len)
            o->head.offset = f->sent;
        if (wants_answer(f, o))
            o->head.flags |= UDP_ACK_NOW;
        return true;
    }
    if (f->ack_at && f->ack_at <= now) {
        o->head.type = UDP_ACK;
        return true;
    }
    return false;
}

/* Resolves the packet whose data o repeats under another number; if o is
 * shorter the rest stays to be sent again. */
static void supersede_packet(struct wf_udp_flow *f,
                             const struct wf_udp_flow_out *o)
{
    struct wf_udp_flow_sent *s = wf_udp_flow_record_of(f, o->again);
    WEFT_ASSERT(s->state == SENT_FLYING || s->state == SENT_LOST);
    uint64_t end = o->head.offset + o->len;

    if (o->len && end < s->offset + s->len) {
        if (s->state == SENT_FLYING) {
            f->flying -= s->len;
            s->state = SENT_LOST;
            f->lost++;
        }
        WEFT_ASSERT(end >= s->offset);
        s->len -= (uint32_t)(end - s->offset);
        s->offset = end;
        return;
    }
    if (s->state == SENT_FLYING)
        f->flying -= s->len;
    else
        f->lost--;
    s->called_lost = s->state == SENT_LOST;
    s->state = SENT_RESOLVED;
    s->repeated = true;
}

void wf_udp_flow_sent(struct wf_udp_flow *f, uint64_t now,
                      const struct wf_udp_flow_out *o)
{
    WEFT_ASSERT(f->una <= f->sent && f->sent <= f->end);
    f->ack_at = 0;
    f->ack_bytes = 0;
    f->offered = f->whole + o->head.room;
    f->doubled = false;
    if (o->head.type != UDP_DATA)
        return;
    f->unasked = o->head.flags & UDP_ACK_NOW ? 0 : f->unasked + o->len;
    f->packets_again += o->repeats;
    if (o->repeats)
        supersede_packet(f, o);
    else
        f->sent += o->len;
    if (o->pad)
        wf_udp_flow_note_size_sent(f, now, f->number, o->pad);
    wf_udp_flow_forget_resolved(f);
    WEFT_ASSERT(f->number - f->oldest < FLOW_PACKETS);
    *wf_udp_flow_record_of(f, f->number++) =
        (struct wf_udp_flow_sent){.offset = o->head.offset,
                                  .when = now,
                                  .len = o->len,
                                  .state = SENT_FLYING};
    f->flying += o->len;
    f->probe = false;
    f->last_sent = now;
    wf_udp_flow_arm_probe(f);
}
