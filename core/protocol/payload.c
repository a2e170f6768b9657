/* User memory as plugins see it: outgoing payloads and incoming sinks that
 * cover a range of a request's packed stream, contiguous in memory or not.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/payload.h"

#include "datatype/move.h"
#include "datatype/segments.h"
#include "protocol/queues.h"

int wf_payload_segments(const struct wf_p2p *p, uint64_t off, uint64_t end,
                        struct iovec *v, int max)
{
    uint64_t left = end - off;
    int n;

    if (off >= end)
        return 0;
    WF_ASSERT(end <= p->bytes && max > 0);
    n = wf_type_list_segments(p->type, p->buf, p->count, off, v, max);
    for (int i = 0; i < n; i++) {
        if (v[i].iov_len >= left) {
            v[i].iov_len = left;
            return i + 1;
        }
        left -= v[i].iov_len;
    }
    return n;
}

static int send_segments(weft_tx *tx, uint64_t off, struct iovec *v, int max)
{
    struct wf_tx *t = wf_container(tx, struct wf_tx, tx);
    struct wf_p2p *p = wf_container(t, struct wf_p2p, tx);

    return wf_payload_segments(p, p->offset + off, p->offset + tx->len, v, max);
}

static int receive_segments(weft_sink *s, uint64_t off, struct iovec *v,
                            int max)
{
    struct wf_sink *sink = wf_container(s, struct wf_sink, sink);
    struct wf_p2p *p = wf_container(sink, struct wf_p2p, sink);

    return wf_payload_segments(p, p->offset + off, p->offset + s->len, v, max);
}

/* Pack or unpack for transports that copy: one walk over the datatype instead
 * of a list of segments. */
static void pack_payload(weft_tx *tx, uint64_t off, void *to, uint64_t n)
{
    struct wf_tx *t = wf_container(tx, struct wf_tx, tx);
    struct wf_p2p *p = wf_container(t, struct wf_p2p, tx);

    wf_type_pack(p->type, p->buf, p->count, p->offset + off, to, n);
}

static void unpack_payload(weft_sink *s, uint64_t off, const void *from,
                           uint64_t n)
{
    struct wf_sink *sink = wf_container(s, struct wf_sink, sink);
    struct wf_p2p *p = wf_container(sink, struct wf_p2p, sink);

    wf_type_unpack(p->type, p->buf, p->count, p->offset + off, from, n);
}

static struct iovec contiguous_range(const struct wf_p2p *p, uint64_t off,
                                     uint64_t n)
{
    return (struct iovec){(char *)p->block + off, n};
}

void wf_send_set_payload(struct wf_p2p *p, uint64_t offset, uint64_t n)
{
    weft_tx *tx = &p->tx.tx;

    WF_ASSERT(p->req.type == WF_REQ_SEND && n <= p->bytes &&
              offset <= p->bytes - n);
    memset(tx, 0, sizeof *tx);
    tx->size = sizeof *tx;
    p->offset = offset;
    tx->len = n;
    tx->seg = send_segments;
    if (p->type->flags & WF_TYPE_SMALL_SEGMENTS)
        tx->copy = pack_payload;
    if (n && wf_type_is_contiguous(p->type))
        tx->one = contiguous_range(p, offset, n);
}

weft_sink *wf_receive_set_sink(struct wf_p2p *p, uint64_t offset, uint64_t n,
                           void (*done)(struct wf_sink *, int))
{
    weft_sink *s = &p->sink.sink;

    WF_ASSERT(p->req.type == WF_REQ_RECV && !(p->req.flags & WF_REQ_LIGHT));
    WF_ASSERT(n <= p->bytes && offset <= p->bytes - n);
    memset(s, 0, sizeof *s);
    s->size = sizeof *s;
    p->offset = offset;
    p->sink.done = done;
    s->len = n;
    s->seg = receive_segments;
    if (p->type->flags & WF_TYPE_SMALL_SEGMENTS)
        s->fill = unpack_payload;
    if (wf_type_is_contiguous(p->type))
        s->one = contiguous_range(p, offset, n);
    return s;
}

/* ---- one block ----------------------------------------------------------- */

static int list_block(struct iovec block, uint64_t len, uint64_t off,
                      struct iovec *v, int max)
{
    if (off >= len || max < 1)
        return 0;
    *v = (struct iovec){(char *)block.iov_base + off, len - off};
    return 1;
}

static int send_block(weft_tx *tx, uint64_t off, struct iovec *v, int max)
{
    return list_block(tx->one, tx->len, off, v, max);
}

static int receive_block(weft_sink *s, uint64_t off, struct iovec *v, int max)
{
    return list_block(s->one, s->len, off, v, max);
}

void wf_tx_set_block(struct wf_tx *t, void *block, uint64_t n)
{
    t->tx.size = sizeof t->tx;
    t->tx.one = (struct iovec){n ? block : NULL, n};
    t->tx.seg = send_block;
    t->tx.len = n;
}

void wf_sink_set_block(struct wf_sink *s, void *block, uint64_t n,
                       void (*done)(struct wf_sink *, int status))
{
    memset(s, 0, sizeof *s);
    s->done = done;
    s->sink.size = sizeof s->sink;
    s->sink.len = n;
    s->sink.one = (struct iovec){block, n};
    s->sink.seg = receive_block;
}
