/* The stream that is to be sent consists of containers, copied or lent.
 *
 * INVARIANT  Items are in stream order without gaps, from `una` (or before it,
 * if only a part of the first is acknowledged) to `end`.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "../ip/ip.h"
#include "flow.h"

static struct wf_udp_flow_item *item_at(const struct wf_udp_flow *f, uint32_t i)
{
    return &f->item[(f->item_first + i) % FLOW_ITEMS];
}

/* Finds a place for n bytes in one piece, at the end of the stage or at its
 * start again. NULL: it is full. */
static uint8_t *find_stage_room(const struct wf_udp_flow *f, uint32_t n)
{
    uint32_t limit = f->stage_wrapped ? f->stage_first : FLOW_STAGE;

    if (f->stage_end + n <= limit)
        return f->stage + f->stage_end;
    return f->stage_wrapped || n > f->stage_first ? NULL : f->stage;
}

static void copy_container(weft_tx *tx, const void *data, uint8_t *to)
{
    uint32_t hl = weft_hdr_len(tx->hdr);

    if (!data) {
        wf_ip_tx_copy(tx, 0, to, wf_ip_tx_bytes(tx));
        return;
    }
    memcpy(to, tx->hdr, hl);
    memcpy(to + hl, data, tx->len);
}

/* Adds the container that was copied to `to` to the stream. */
static void add_staged(struct wf_udp_flow *f, const uint8_t *to, uint32_t n)
{
    struct wf_udp_flow_item *last =
        f->item_n ? item_at(f, f->item_n - 1) : NULL;
    uint32_t at = (uint32_t)(to - f->stage), left_out = 0;

    WEFT_ASSERT(f->item_n < FLOW_ITEMS && at + n <= FLOW_STAGE);
    if (at != f->stage_end) {
        left_out = FLOW_STAGE - f->stage_end;
        f->stage_wrapped = true;
    } else if (last && !last->tx && last->end - last->start + n <= FLOW_MERGE) {
        last->end += n;
        last->bytes += n;
        n = 0;
    }
    if (n)
        *item_at(f, f->item_n++) =
            (struct wf_udp_flow_item){.start = f->end,
                                      .end = f->end + n,
                                      .at = at,
                                      .bytes = n + left_out};
}

bool wf_udp_flow_copy(struct wf_udp_flow *f, weft_tx *tx, const void *data)
{
    uint32_t n = (uint32_t)wf_ip_tx_bytes(tx);
    uint8_t *to;

    if (f->item_n == FLOW_ITEMS || !(to = find_stage_room(f, n)))
        return false;
    copy_container(tx, data, to);
    add_staged(f, to, n);
    f->stage_end = (uint32_t)(to - f->stage) + n;
    f->end += n;
    return true;
}

bool wf_udp_flow_lend(struct wf_udp_flow *f, weft_tx *tx)
{
    if (f->item_n == FLOW_ITEMS)
        return false;
    *item_at(f, f->item_n++) = (struct wf_udp_flow_item){
        .start = f->end, .end = f->end + wf_ip_tx_bytes(tx), .tx = tx};
    f->end += wf_ip_tx_bytes(tx);
    return true;
}

/* Frees the place of the oldest item in the stage. */
static void free_staged(struct wf_udp_flow *f,
                        const struct wf_udp_flow_item *it)
{
    WEFT_ASSERT(!it->tx && it->bytes >= it->end - it->start);
    f->stage_first += it->bytes;
    if (f->stage_wrapped && f->stage_first >= FLOW_STAGE) {
        f->stage_first -= FLOW_STAGE;
        f->stage_wrapped = false;
    }
    if (f->stage_first == f->stage_end && !f->stage_wrapped)
        f->stage_first = f->stage_end = 0;
}

weft_tx *wf_udp_flow_return_lent(struct wf_udp_flow *f, bool all)
{
    while (f->item_n > 0) {
        struct wf_udp_flow_item *it = item_at(f, 0);
        weft_tx *tx = it->tx;
        WEFT_ASSERT(it->start < it->end && it->end <= f->end);
        if (!all && it->end > f->una)
            return NULL;
        f->item_first = (f->item_first + 1) % FLOW_ITEMS;
        f->item_n--;
        if (tx)
            return tx;
        free_staged(f, it);
    }
    return NULL;
}

/* Returns the index of the item that holds this byte of the stream. */
static uint32_t find_item(const struct wf_udp_flow *f, uint64_t offset)
{
    uint32_t low = 0, high = f->item_n;

    while (high - low > 1) {
        uint32_t mid = low + (high - low) / 2;
        if (item_at(f, mid)->start <= offset)
            low = mid;
        else
            high = mid;
    }
    return low;
}

/* Points v at the item from byte `offset` of the stream on. */
static int item_pieces(struct wf_udp_flow *f, const struct wf_udp_flow_item *it,
                       uint64_t offset, struct iovec *v, int max)
{
    uint64_t off = offset - it->start;

    WEFT_ASSERT(offset >= it->start && offset < it->end);
    if (it->tx)
        return wf_ip_tx_pieces(it->tx, off, v, max);
    v[0].iov_base = f->stage + it->at + off;
    v[0].iov_len = (size_t)(it->end - offset);
    return 1;
}

/* Points v at the stream from offset to end, as far as the vector of one packet
 * allows: *got bytes. Returns its entries. */
static int fill_vector(struct wf_udp_flow *f, uint64_t offset, uint64_t end,
                       struct iovec *v, uint32_t *got)
{
    uint32_t i = find_item(f, offset);
    uint64_t at = offset;
    int n = 0;

    while (at < end && n < FLOW_IOV) {
        const struct wf_udp_flow_item *it = item_at(f, i);
        int k = item_pieces(f, it, at, v + n, FLOW_IOV - n);
        for (; k > 0 && at < end; k--, n++) {
            if (v[n].iov_len > end - at)
                v[n].iov_len = (size_t)(end - at);
            at += v[n].iov_len;
        }
        if (at >= it->end)
            i++;
    }
    *got = (uint32_t)(at - offset);
    return n;
}

int wf_udp_flow_gather(struct wf_udp_flow *f, uint64_t offset, uint32_t *len,
                       struct wf_udp_flow_out *o)
{
    uint32_t got, all = 0;

    o->n = fill_vector(f, offset, offset + *len, o->v, &got);
    if (got == *len || got >= FLOW_MERGE || !o->scratch) {
        *len = got;
        return o->n;
    }
    for (;;) {
        for (int i = 0; i < o->n; i++) {
            memcpy(o->scratch + all, o->v[i].iov_base, o->v[i].iov_len);
            all += (uint32_t)o->v[i].iov_len;
        }
        if (all >= *len)
            break;
        o->n = fill_vector(f, offset + all, offset + *len, o->v, &got);
    }
    o->v[0] = (struct iovec){.iov_base = o->scratch, .iov_len = all};
    *len = all;
    return o->n = 1;
}
