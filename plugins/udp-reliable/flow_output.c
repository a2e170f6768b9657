/* What to send next: lost data first, then new data, then what the peer must
 * hear of us.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "flow.h"

static void head(struct wf_udp_flow *f, struct wf_udp_flow_out *o, uint8_t type)
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

static void carry(struct wf_udp_flow *f, struct wf_udp_flow_out *o,
                  uint64_t offset, uint64_t len)
{
    o->len = len < f->cfg.packet ? (uint32_t)len : f->cfg.packet;
    o->head.offset = offset;
    wf_udp_flow_gather(f, offset, &o->len, o);
}

/* A record for one more packet? Probes may always have one: when few are left
 * each resolves the oldest record, but for the few that have to cut its data
 * smaller. */
static bool record_left(const struct wf_udp_flow *f)
{
    uint64_t used = f->number - f->oldest;

    return used < (f->probe ? FLOW_PACKETS : FLOW_PACKETS - FLOW_RESERVE);
}

/* The first packet that was lost. */
static bool find_lost(struct wf_udp_flow *f, uint64_t *number)
{
    uint64_t i = f->lost_hint < f->oldest ? f->oldest : f->lost_hint;

    for (; i < f->number; i++) {
        if (wf_udp_flow_packet(f, i)->state != SENT_LOST)
            continue;
        f->lost_hint = *number = i;
        return true;
    }
    return false;
}

/* The packet that a probe repeats: the data that the peer needs next, for it may
 * have no memory to keep what is early. Where few records are left the oldest
 * packet, for its record. */
static bool find_probe(struct wf_udp_flow *f, uint64_t *number)
{
    bool few = f->number - f->oldest >= FLOW_PACKETS - FLOW_RESERVE / 2;
    struct wf_udp_flow_sent *first = NULL;

    for (uint64_t i = f->oldest; i < f->number && !(few && first); i++) {
        struct wf_udp_flow_sent *s = wf_udp_flow_packet(f, i);
        if (s->state != SENT_LOST && s->state != SENT_FLYING)
            continue;
        if (first && first->offset <= s->offset)
            continue;
        first = s;
        *number = i;
    }
    return first != NULL;
}

static bool repeat(struct wf_udp_flow *f, struct wf_udp_flow_out *o, bool probe)
{
    struct wf_udp_flow_sent *s;
    uint64_t offset;

    if (!(probe ? find_probe(f, &o->again) : find_lost(f, &o->again)))
        return false;
    s = wf_udp_flow_packet(f, o->again);
    offset = s->offset > f->una ? s->offset : f->una;
    o->repeats = true;
    if (s->offset + s->len > offset)
        carry(f, o, offset, s->offset + s->len - offset);
    return true;
}

/* New data that peer and path have room for. */
static uint64_t fresh(const struct wf_udp_flow *f)
{
    uint64_t end = f->end < f->limit ? f->end : f->limit;

    return end > f->sent ? end - f->sent : 0;
}

/* Is this the last for now, and somebody waits for the answer? */
static bool wants_answer(const struct wf_udp_flow *f,
                         const struct wf_udp_flow_out *o)
{
    uint64_t after = o->repeats ? f->sent : f->sent + o->len;
    const struct wf_udp_flow_item *last =
        &f->item[(f->item_first + f->item_n - 1) % FLOW_ITEMS];

    return after == f->limit ||
           f->unasked + o->len >= f->congestion / 4 ||
           (after == f->end && f->item_n && last->tx);
}

/* A packet that shows whether the path carries its size. */
static bool try_size(struct wf_udp_flow *f, uint64_t now,
                     struct wf_udp_flow_out *o)
{
    uint32_t size;

    if (f->cfg.packet >= f->search.top || f->probe || !o->scratch ||
        !(f->lost || fresh(f)) || !(size = wf_udp_flow_try_size(f, now)))
        return false;
    memset(o->scratch, 0, size);
    o->v[0] = (struct iovec){.iov_base = o->scratch, .iov_len = size};
    o->n = 1;
    o->pad = size;
    o->head.offset = f->sent;
    o->head.flags |= UDP_PAD | UDP_ACK_NOW;
    return true;
}

bool wf_udp_flow_output(struct wf_udp_flow *f, uint64_t now,
                        struct wf_udp_flow_out *o)
{
    bool data = false;

    head(f, o, UDP_DATA);
    if (record_left(f)) {
        if (try_size(f, now, o))
            return true;
        if (f->probe) {
            data = true;
            if (!repeat(f, o, true) && fresh(f))
                carry(f, o, f->sent, fresh(f));
            o->head.flags |= UDP_ACK_NOW;
        } else if (f->flying < f->congestion) {
            data = f->lost && repeat(f, o, false);
            if (!data && (data = fresh(f) > 0))
                carry(f, o, f->sent, fresh(f));
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

/* The data of this packet travels under another number now; a shorter packet
 * leaves a rest. */
static void superseded(struct wf_udp_flow *f, const struct wf_udp_flow_out *o)
{
    struct wf_udp_flow_sent *s = wf_udp_flow_packet(f, o->again);
    uint64_t end = o->head.offset + o->len;

    if (o->len && end < s->offset + s->len) {
        if (s->state == SENT_FLYING) {
            f->flying -= s->len;
            s->state = SENT_LOST;
            f->lost++;
        }
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
    f->ack_at = 0;
    f->ack_bytes = 0;
    f->offered = f->whole + o->head.room;
    f->doubled = false;
    if (o->head.type != UDP_DATA)
        return;
    f->unasked = o->head.flags & UDP_ACK_NOW ? 0 : f->unasked + o->len;
    if (o->repeats)
        superseded(f, o);
    else
        f->sent += o->len;
    if (o->pad)
        wf_udp_flow_size_sent(f, now, f->number, o->pad);
    wf_udp_flow_forget(f);
    *wf_udp_flow_packet(f, f->number++) =
        (struct wf_udp_flow_sent){.offset = o->head.offset,
                                  .when = now,
                                  .len = o->len,
                                  .state = SENT_FLYING};
    f->flying += o->len;
    f->probe = false;
    f->last_sent = now;
    wf_udp_flow_arm(f);
}
