/* Treats containers as bytes of a stream: finds header and payload of one that
 * is sent, from any byte on, and the memory where one that arrives must land.
 *
 * A transport over IP cuts the stream as the path requires, not where
 * containers or the program's segments end: so each function begins at an
 * offset.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "ip.h"

enum { PIECES = 32 };

/* Points v at the payload from byte off on, at most max segments. */
static int payload_pieces(weft_tx *tx, uint64_t off, struct iovec *v, int max)
{
    if (off >= tx->len || max <= 0)
        return 0;
    if (!tx->one.iov_base)
        return tx->seg(tx, off, v, max);
    v->iov_base = (char *)tx->one.iov_base + off;
    v->iov_len = tx->len - off;
    return 1;
}

int wf_ip_tx_pieces(weft_tx *tx, uint64_t off, struct iovec *v, int max)
{
    uint32_t hl = weft_hdr_len(tx->hdr);
    int n = 0;

    if (off < hl) {
        v[n].iov_base = (char *)tx->hdr + off;
        v[n++].iov_len = hl - off;
        off = hl;
    }
    return n + payload_pieces(tx, off - hl, v + n, max - n);
}

/* Tells whether the core copies the payload, for it has many small segments. */
static bool can_core_copy(const weft_tx *tx)
{
    return !tx->one.iov_base && tx->copy;
}

void wf_ip_tx_copy(weft_tx *tx, uint64_t off,
                   uint8_t *to, uint64_t n)
{
    uint64_t total = off + n;
    WEFT_ASSERT(n <= wf_ip_tx_bytes(tx) && off <= wf_ip_tx_bytes(tx) - n);
    uint32_t hl = weft_hdr_len(tx->hdr);

    if (can_core_copy(tx) && off < hl) {
        uint64_t head = hl - off < n ? hl - off : n;
        memcpy(to, (const char *)tx->hdr + off, head);
        to += head;
        off += head;
    }
    if (can_core_copy(tx)) {
        if (off < total)
            tx->copy(tx, off - hl, to, total - off);
        return;
    }
    while (off < total) {
        struct iovec v[PIECES];
        int got = wf_ip_tx_pieces(tx, off, v, PIECES);
        WEFT_ASSERT(got > 0);
        for (int i = 0; i < got && off < total; i++) {
            size_t len = v[i].iov_len;
            if (len > total - off)
                len = (size_t)(total - off);
            memcpy(to, v[i].iov_base, len);
            to += len;
            off += len;
        }
    }
}

int wf_ip_sink_pieces(weft_sink *s, uint64_t off, struct iovec *v, int max)
{
    uint64_t left = s->len - off;
    int n;

    WEFT_ASSERT(off <= s->len && max > 0);
    if (s->one.iov_len == s->len) {
        v[0].iov_base = (char *)s->one.iov_base + off;
        v[0].iov_len = (size_t)left;
        return 1;
    }
    n = s->seg(s, off, v, max);
    for (int i = 0; i < n; i++) {
        if (v[i].iov_len > left)
            v[i].iov_len = (size_t)left;
        left -= v[i].iov_len;
    }
    return n;
}

size_t wf_ip_sink_write(weft_sink *s, uint64_t off,
                      const uint8_t *data, size_t n)
{
    size_t done = 0;

    WEFT_ASSERT(off <= s->len);
    if (n > s->len - off)
        n = (size_t)(s->len - off);
    if (s->one.iov_len != s->len && s->fill) {
        s->fill(s, off, data, n);
        return n;
    }
    while (done < n) {
        struct iovec v[PIECES];
        int k = wf_ip_sink_pieces(s, off + done, v, PIECES);
        for (int i = 0; i < k && done < n; i++) {
            size_t len = v[i].iov_len < n - done ? v[i].iov_len : n - done;
            memcpy(v[i].iov_base, data + done, len);
            done += len;
        }
    }
    return n;
}
