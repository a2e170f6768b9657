/* In order, and once: what the peer sends.
 *
 * INVARIANT  Every byte before `next` was delivered; every byte before `whole`
 * is here; chunks are in order of their offset and end within the window.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "flow.h"

enum { GAP_ACK = 16 }; /* packets between reports of one gap */

static void ack_soon(struct wf_udp_flow *f, uint64_t at)
{
    if (!f->ack_at || at < f->ack_at)
        f->ack_at = at ? at : 1;
}

/* Shift the map of what was seen. False: this packet came before. */
static bool mark(struct wf_udp_flow *f, uint64_t number)
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
            return true; /* too old to tell; its offset will */
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

static bool keep(struct wf_udp_flow *f, uint64_t offset, const uint8_t *data,
                 size_t n)
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
    *at = c;
    if (!c->next)
        f->early_last = c;
    return true;
}

/* How far the stream is here without a gap. */
static void measure(struct wf_udp_flow *f)
{
    const struct wf_udp_flow_chunk *c = f->early;

    if (f->whole < f->next)
        f->whole = f->next;
    for (; c && c->offset <= f->whole; c = c->next)
        if (c->offset + c->len > f->whole)
            f->whole = c->offset + c->len;
    f->gap = c != NULL;
}

/* Hand over data that begins at or before `next`; NULL: it was placed. */
static void take(struct wf_udp_flow *f, uint64_t offset, const uint8_t *data,
                 size_t n)
{
    uint64_t skip = f->next - offset;
    size_t used;

    if (skip >= n)
        return;
    used = f->deliver(f->ctx, data ? data + skip : NULL, n - (size_t)skip);
    f->next += used;
    f->paused = used < n - (size_t)skip;
}

static void take_early(struct wf_udp_flow *f)
{
    struct wf_udp_flow_chunk *c;

    while (!f->paused && (c = f->early) && c->offset <= f->next) {
        take(f, c->offset, c->placed ? NULL : c->data, c->len);
        if (c->offset + c->len > f->next)
            break;
        f->early = c->next;
        if (!f->early)
            f->early_last = NULL;
        free(c);
    }
    measure(f);
}

/* Room that the peer does not know of, when it knows of little. */
static void offer(struct wf_udp_flow *f, uint64_t now)
{
    if (f->next + f->cfg.window >= f->offered + f->cfg.window / 2)
        ack_soon(f, now);
}

/* False: not taken, and as if it had not come. */
static bool take_data(struct wf_udp_flow *f, uint64_t offset,
                      const uint8_t *data, size_t n)
{
    if (offset + n > f->next + f->cfg.window)
        return false;
    if (offset <= f->next && !f->paused) {
        take(f, offset, data, n);
        if (f->paused && !keep(f, offset, data, n))
            return false;
    } else if (!keep(f, offset, data, n)) {
        return false;
    }
    take_early(f);
    return true;
}

static void on_data(struct wf_udp_flow *f, uint64_t now,
                    const struct wf_udp_packet *k, const uint8_t *data,
                    size_t n)
{
    uint64_t number = wf_udp_flow_number(f, k->number);
    bool had_gap = f->gap, old = n > 0 && k->offset + n <= f->whole;

    if (k->offset > UINT64_MAX / 2)
        return;
    f->doubled = f->doubled || k->flags & UDP_PAD; /* name it */
    if (n > 0 && !old && !take_data(f, k->offset, data, n)) {
        ack_soon(f, now);
        return;
    }
    f->packets_twice += old;
    old = !mark(f, number) || old;
    f->doubled = f->doubled || old;
    f->ack_bytes += n;
    if (old || f->gap != had_gap || k->flags & UDP_ACK_NOW ||
        f->ack_bytes >= (f->gap ? GAP_ACK * n : f->cfg.window / 4))
        ack_soon(f, now);
    else
        ack_soon(f, now + f->cfg.ack_delay);
    offer(f, now);
}

void wf_udp_flow_input(struct wf_udp_flow *f, uint64_t now,
                       const struct wf_udp_packet *k, const uint8_t *data,
                       size_t n)
{
    wf_udp_flow_acked(f, now, k);
    if (k->type == UDP_DATA)
        on_data(f, now, k, data, k->flags & UDP_PAD ? 0 : n);
}

void wf_udp_flow_resume(struct wf_udp_flow *f, uint64_t now)
{
    f->paused = false;
    take_early(f);
    offer(f, now);
}
