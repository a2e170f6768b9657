/* Receives: divides the stream into containers again.
 *
 * Data that comes early, because something before it was lost, is copied at
 * once to its place in the receiver's memory if that is known, as it is while a
 * large payload comes in.
 *
 * INVARIANT  carry holds the first bytes of a header only while neither a sink
 * is open nor payload is skipped.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "udp.h"

static void finish_sink(weft_peer *p, int status)
{
    weft_sink *s = p->sink;

    p->sink = NULL;
    p->ep->ip.host->rx_done(p->ep->ip.core, s, status);
}

/* Delivers bytes of the payload in progress; data is NULL if they are in their
 * place. Returns how many were used. */
static size_t take_payload(weft_peer *p, const uint8_t *data, size_t n)
{
    uint64_t end = p->sink ? p->sink->len : p->rx_len;

    if (n > end - p->rx_off)
        n = (size_t)(end - p->rx_off);
    if (p->sink && data)
        wf_ip_sink_write(p->sink, p->rx_off, data, n);
    p->rx_off += n;
    if (p->sink && p->rx_off == end)
        finish_sink(p, WEFT_OK);
    return n;
}

static void handle_own_frame(weft_peer *p, const uint8_t *frame)
{
    if (frame[0] == UDP_GOODBYE && weft_hdr_len(frame) == UDP_FRAME &&
        weft_hdr_plen(frame) == 0)
        p->ip.leaving = true;
    else
        wf_ip_break_link(&p->ip, WEFT_EPROTO,
                         "process %u sent a frame of unknown type 0x%02x",
                         p->ip.id, frame[0]);
}

/* Passes one container to the core; *used is the bytes of its payload. Returns
 * false if the core has no memory now. */
static bool show_container(weft_peer *p, const uint8_t *head, uint32_t hl,
                           const uint8_t *data, size_t n, size_t *used)
{
    weft_ep *ep = p->ep;
    weft_hdr hdr; /* aligned */
    uint32_t plen = weft_hdr_plen(head);
    weft_sink *sink = NULL;
    int rc;

    memcpy(&hdr, head, hl);
    *used = n < plen ? n : plen;
    rc = ep->ip.host->rx(ep->ip.core, p->ip.loc, &hdr, data, *used, &sink);
    if (rc == WEFT_EAGAIN)
        return false;
    ep->count.rx_containers++;
    ep->count.rx_bytes += plen;
    p->rx_len = plen;
    p->rx_off = *used;
    if (rc == WEFT_OK && sink) {
        p->sink = sink;
        if (sink->len > plen || sink->len <= *used)
            finish_sink(p, sink->len > plen ? WEFT_EPROTO : WEFT_OK);
    }
    return true;
}

/* Gathers a header. Returns its first byte when it is complete, else NULL;
 * *from is the number of bytes of data that were used. */
static const uint8_t *gather_header(weft_peer *p, const uint8_t *data, size_t n,
                                    size_t *from)
{
    uint32_t want = WEFT_HDR_MIN;

    *from = 0;
    if (p->carry_n == 0 && n >= WEFT_HDR_MIN && n >= weft_hdr_len(data)) {
        *from = weft_hdr_len(data);
        return data;
    }
    for (;;) {
        if (p->carry_n >= WEFT_HDR_MIN)
            want = weft_hdr_len(p->carry);
        if (p->carry_n >= want)
            return p->carry;
        if (*from == n)
            return NULL;
        p->carry[p->carry_n++] = data[(*from)++];
    }
}

/* Takes one header and payload that follows it. Returns the bytes used; 0: the
 * core has no memory now. */
static size_t take_container(weft_peer *p, const uint8_t *data, size_t n)
{
    uint32_t carried = p->carry_n;
    size_t from, used = 0;
    const uint8_t *head = gather_header(p, data, n, &from);

    if (!head)
        return from;
    if (head[0] >= 0xf0) {
        handle_own_frame(p, head);
    } else if (!show_container(p, head, weft_hdr_len(head), data + from,
                               n - from, &used)) {
        p->carry_n = carried; /* all of data comes again */
        return 0;
    }
    p->carry_n = 0;
    p->rx_from = p->rx_at + from;
    return from + used;
}

size_t wf_udp_deliver_stream(void *peer, const uint8_t *data, size_t n)
{
    weft_peer *p = peer;
    size_t at = 0;

    while (at < n && p->ip.state == PEER_OPEN) {
        size_t used;
        p->rx_at = p->flow.next + at;
        if (p->sink || p->rx_off < p->rx_len)
            used = take_payload(p, data ? data + at : NULL, n - at);
        else
            used = take_container(p, data + at, n - at);
        if (!used)
            return at;
        at += used;
    }
    return n;
}

/* Only payload that is coming in can be placed, and only if its memory is one
 * piece. */
bool wf_udp_place_early(void *peer, uint64_t offset, const uint8_t *data,
                        size_t n)
{
    weft_peer *p = peer;
    const weft_sink *s = p->sink;

    if (!s || s->one.iov_len != s->len || offset < p->rx_from ||
        offset - p->rx_from > s->len || n > s->len - (offset - p->rx_from))
        return false;
    memcpy((char *)s->one.iov_base + (offset - p->rx_from), data, n);
    return true;
}

void wf_udp_rx_resume(weft_peer *p)
{
    p->resumed = true;
    wf_ip_mark_due(&p->ip);
}

void wf_udp_rx_cancel(weft_peer *p, int status)
{
    p->rx_off = p->rx_len = 0;
    p->carry_n = 0;
    p->resumed = false;
    if (p->sink)
        finish_sink(p, status);
}
