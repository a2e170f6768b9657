/* Delivers the stream of the peer in order, each byte once.
 *
 * INVARIANT  Every byte before `next` was delivered; every byte before `whole`
 * has arrived; chunks are in order of their offset and end within the window.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "../ip/tuning.h"
#include "flow.h"

static void schedule_ack(struct wf_udp_flow *f, uint64_t at)
{
    if (!f->ack_at || at < f->ack_at)
        f->ack_at = at ? at : 1;
}

/* Records the number in the map of those that were seen. Returns false if this
 * packet came before. */
static bool mark_seen(struct wf_udp_flow *f, uint64_t number)
{
    uint64_t by, back;

    if (!f->seen_any) {
        f->seen_any = true;
        f->seen = number;
        return true;
    }
    if (number <= f->seen) {
        back = f->seen - number;
        if (back == 0)
            return false;
        if (--back >= 64 * SACK_WORDS)
            return true; /* too old to tell: its offset shows a duplicate */
        if (f->seen_map[back / 64] >> back % 64 & 1)
            return false;
        f->seen_map[back / 64] |= 1ull << back % 64;
        return true;
    }
    by = number - f->seen;
    f->seen = number;
    for (int i = SACK_WORDS - 1; i >= 0; i--) {
        uint64_t word = 0;
        int64_t from = (int64_t)i - (int64_t)(by / 64);
        if (from >= 0) {
            word = f->seen_map[from] << by % 64;
            if (by % 64 && from > 0)
                word |= f->seen_map[from - 1] >> (64 - by % 64);
        }
        f->seen_map[i] = word;
    }
    if (by - 1 < 64 * SACK_WORDS)
        f->seen_map[(by - 1) / 64] |= 1ull << (by - 1) % 64;
    return true;
}

/* Keeps data that cannot be delivered yet. Returns false without memory. */
static bool keep_early(struct wf_udp_flow *f, uint64_t offset,
                       const uint8_t *data, size_t n)
{
    bool placed = f->place && f->place(f->ctx, offset, data, n);
    struct wf_udp_flow_chunk *c = malloc(sizeof *c + (placed ? 0 : n));
    struct wf_udp_flow_chunk **at = &f->early;

    if (!c)
        return false;
    c->offset = offset;
    c->len = n;
    c->placed = placed;
    if (!placed)
        memcpy(c->data, data, n);
    if (f->early_last && f->early_last->offset <= offset)
        at = &f->early_last->next;
    while (*at && (*at)->offset < offset)
        at = &(*at)->next;
    c->next = *at;
    WEFT_ASSERT(!*at || (*at)->offset >= offset);
    *at = c;
    if (!c->next)
        f->early_last = c;
    return true;
}

/* Determines how far the stream has arrived without a gap. */
static void measure_whole(struct wf_udp_flow *f)
{
    const struct wf_udp_flow_chunk *c = f->early;

    if (f->whole < f->next)
        f->whole = f->next;
    for (; c && c->offset <= f->whole; c = c->next)
        if (c->offset + c->len > f->whole)
            f->whole = c->offset + c->len;
    f->gap = c != NULL;
}

/* Delivers data that begins at or before `next`; data is NULL if placed. */
static void deliver_data(struct wf_udp_flow *f, uint64_t offset,
                         const uint8_t *data, size_t n)
{
    uint64_t skip = f->next - offset;
    size_t used;

    WEFT_ASSERT(offset <= f->next && !f->paused);
    if (skip >= n)
        return;
    used = f->deliver(f->ctx, data ? data + skip : NULL, n - (size_t)skip);
    WEFT_ASSERT(used <= n - (size_t)skip);
    f->next += used;
    f->paused = used < n - (size_t)skip;
}

static void deliver_early(struct wf_udp_flow *f)
{
    struct wf_udp_flow_chunk *c;

    while (!f->paused && (c = f->early) && c->offset <= f->next) {
        deliver_data(f, c->offset, c->placed ? NULL : c->data, c->len);
        if (c->offset + c->len > f->next)
            break;
        f->early = c->next;
        if (!f->early)
            f->early_last = NULL;
        free(c);
    }
    WEFT_ASSERT(f->early || !f->early_last);
    measure_whole(f);
}

/* Announces new room when the peer knows of little. */
static void announce_room(struct wf_udp_flow *f, uint64_t now)
{
    if (f->next + f->cfg.window >= f->offered + f->cfg.window / 2)
        schedule_ack(f, now);
}

/* Returns false if the data was not accepted: it counts as not received. */
static bool accept_data(struct wf_udp_flow *f, uint64_t offset,
                        const uint8_t *data, size_t n)
{
    if (offset + n > f->next + f->cfg.window)
        return false;
    if (offset <= f->next && !f->paused) {
        deliver_data(f, offset, data, n);
        if (f->paused && !keep_early(f, offset, data, n))
            return false;
    } else if (!keep_early(f, offset, data, n)) {
        return false;
    }
    deliver_early(f);
    return true;
}

static void handle_data(struct wf_udp_flow *f, uint64_t now,
                        const struct wf_udp_packet *k, const uint8_t *data,
                        size_t n)
{
    uint64_t number = wf_udp_flow_full_number(f, k->number);
    bool had_gap = f->gap, old = n > 0 && k->offset + n <= f->whole;

    if (k->offset > UINT64_MAX / 2)
        return;
    f->doubled = f->doubled || k->flags & UDP_PAD; /* acknowledge it by SACK */
    if (n > 0 && !old && !accept_data(f, k->offset, data, n)) {
        schedule_ack(f, now);
        return;
    }
    f->packets_twice += old;
    old = !mark_seen(f, number) || old;
    f->doubled = f->doubled || old;
    f->ack_bytes += n;
    if (old || f->gap != had_gap || k->flags & UDP_ACK_NOW ||
        f->ack_bytes >= (f->gap ? UDP_GAP_ACK * n : f->cfg.window / 4))
        schedule_ack(f, now);
    else
        schedule_ack(f, now + f->cfg.ack_delay);
    announce_room(f, now);
}

void wf_udp_flow_take_packet(struct wf_udp_flow *f, uint64_t now,
                       const struct wf_udp_packet *k, const uint8_t *data,
                       size_t n)
{
    wf_udp_flow_process_ack(f, now, k);
    if (k->type == UDP_DATA)
        handle_data(f, now, k, data, k->flags & UDP_PAD ? 0 : n);
}

void wf_udp_flow_resume_delivery(struct wf_udp_flow *f, uint64_t now)
{
    f->paused = false;
    deliver_early(f);
    announce_room(f, now);
}
