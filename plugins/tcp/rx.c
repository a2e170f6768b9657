/* Receiving: headers go through a buffer, large payloads straight to where the
 * core wants them.
 *
 * DESIGN  There is one read buffer for the whole endpoint. A read takes the
 * rest of the payload in progress (into the sink's memory) and a window of
 * bytes after it (into the buffer), which is parsed at once; the few bytes of
 * an incomplete header are carried over. After a large payload the window
 * shrinks, so that little of the next one lands in the buffer.
 *
 * A sink of many small segments is filled from the buffer: reading straight
 * into 31 of them would cost a call for every few hundred bytes.
 *
 * INVARIANT  While a sink is open, or payload is being skipped, the buffer
 * holds nothing: a payload that is not complete has used it up.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#include "tcp.h"

enum { READS = 16 }; /* the most reads of one call */

static void finish_sink(weft_peer *p, int status)
{
    WEFT_ASSERT(p->sink);
    weft_sink *s = p->sink;
    p->sink = NULL;
    p->ep->ip.host->rx_done(p->ep->ip.core, s, status);
}

/* Keeps bytes for the next read. Returns false without memory. */
static bool carry_over(weft_peer *p, const uint8_t *data, uint32_t n)
{
    uint8_t *at = p->carry_small;
    if (n > sizeof p->carry_small && !(at = malloc(n))) {
        wf_ip_break_link(&p->ip, WEFT_ENOMEM, "out of memory");
        return false;
    }
    memmove(at, data, n);
    WEFT_ASSERT(!p->carry && n <= TCP_RBUF + WEFT_HDR);
    p->carry = at;
    p->carry_n = n;
    return true;
}

static void drop_carry(weft_peer *p)
{
    if (p->carry != p->carry_small)
        free(p->carry);
    p->carry = NULL;
    p->carry_n = 0;
}

/* Has the kernel acknowledge at once what it has received. The peer waits for
 * that before it closes the connection, and nothing goes to it any more that
 * could carry it: the kernel would wait 40 ms for such. */
static void acknowledge_now(const weft_peer *p)
{
    int on = 1;

    setsockopt(p->conn->fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
}

static bool handle_own_frame(weft_peer *p, const uint8_t *frame)
{
    if (frame[0] == TCP_GOODBYE && weft_hdr_len(frame) == TCP_FRAME &&
        weft_hdr_plen(frame) == 0) {
        p->ip.leaving = true;
        acknowledge_now(p);
        return true;
    }
    wf_ip_break_link(&p->ip, WEFT_EPROTO,
                     "process %u sent a frame of unknown type 0x%02x", p->ip.id,
                     frame[0]);
    return false;
}

/* Shows one container to the core. Returns the payload bytes used, or -1 when
 * it must wait. */
static int64_t deliver_container(weft_peer *p, const uint8_t *at, uint32_t hl,
                                 uint32_t avail)
{
    weft_ep *ep = p->ep;
    weft_hdr aligned;
    const weft_hdr *hdr = (const void *)at;
    uint32_t plen = weft_hdr_plen(at);
    uint32_t have = avail < plen ? avail : plen;
    weft_sink *sink = NULL;
    int rc;

    if ((uintptr_t)at % _Alignof(weft_hdr) != 0)
        hdr = memcpy(&aligned, at, hl);
    rc = ep->ip.host->rx(ep->ip.core, p->ip.loc, hdr, at + hl, have, &sink);
    if (rc == WEFT_EAGAIN)
        return -1;
    ep->count.rx_frames++;
    ep->count.rx_bytes += plen;
    WEFT_ASSERT(!p->sink && have <= plen);
    p->rx_len = plen;
    p->rx_off = have;
    if (plen >= TCP_BULK_MIN)
        p->window = TCP_WINDOW_BULK;
    if (rc == WEFT_OK && sink) {
        p->sink = sink;
        if (sink->len > plen || sink->len <= have)
            finish_sink(p, sink->len > plen ? WEFT_EPROTO : WEFT_OK);
    }
    return have;
}

/* Parses the bytes in the buffer. Returns the number of containers
 * delivered. */
static int parse_buffer(weft_peer *p, const uint8_t *buf, uint32_t n)
{
    uint32_t pos = 0;
    int frames = 0;

    while (p->ip.state == PEER_OPEN) {
        uint32_t hl;
        int64_t used;
        uint64_t skip;
        if (p->sink && pos < n) {
            uint32_t put = (uint32_t)wf_ip_sink_write(p->sink, p->rx_off,
                                                      buf + pos, n - pos);
            WEFT_ASSERT(put <= n - pos && p->rx_off + put <= p->rx_len);
            p->rx_off += put;
            pos += put;
            if (p->rx_off < p->sink->len)
                break;
            finish_sink(p, WEFT_OK);
            frames++;
            continue; /* the callback may have closed the link */
        }
        skip = p->rx_len - p->rx_off;
        if (skip > 0 && !p->sink) {
            if (skip > n - pos)
                skip = n - pos;
            p->rx_off += skip;
            pos += (uint32_t)skip;
        }
        if (n - pos < WEFT_HDR_MIN || p->rx_off < p->rx_len)
            break;
        hl = weft_hdr_len(buf + pos);
        if (n - pos < hl)
            break;
        if (buf[pos] >= 0xf0) {
            if (!handle_own_frame(p, buf + pos))
                break;
            pos += hl;
            continue;
        }
        used = deliver_container(p, buf + pos, hl, n - pos - hl);
        if (used < 0) {
            p->paused = true;
            wf_tcp_update_interest(p);
            break;
        }
        pos += hl + (uint32_t)used;
        frames++;
    }
    if (pos < n && p->ip.state == PEER_OPEN)
        carry_over(p, buf + pos, n - pos);
    return frames;
}

/* Sets up the next read: into the sink, then into the window. Returns its size;
 * *direct is the part that goes to the sink. */
static size_t aim_read(weft_peer *p, struct msghdr *m, size_t *direct)
{
    weft_ep *ep = p->ep;
    struct iovec *v = m->msg_iov;
    uint32_t kept = p->carry_n;
    bool fine = p->sink && p->sink->fill;
    int n = 0;

    *direct = 0;
    if (p->sink && !fine)
        n = wf_ip_sink_pieces(p->sink, p->rx_off, v, TCP_IOV - 1);
    for (int i = 0; i < n; i++)
        *direct += v[i].iov_len;
    if (n == TCP_IOV - 1 && *direct < (size_t)n * TCP_COPY_MAX) {
        fine = true;
        n = 0;
        *direct = 0;
    }
    /* The window is not read yet if more segments, or a tail to skip, come
     * first. */
    if (kept) {
        memcpy(ep->rbuf, p->carry, kept);
        drop_carry(p);
    }
    WEFT_ASSERT(n < TCP_IOV && kept < WEFT_HDR);
    m->msg_iovlen = (size_t)n;
    if (p->sink && !fine && p->rx_off + *direct < p->sink->len)
        return *direct;
    v[n].iov_base = ep->rbuf + kept;
    v[n].iov_len = p->rx_len > p->rx_off + *direct ? TCP_RBUF : p->window;
    m->msg_iovlen++;
    return *direct + v[n].iov_len;
}

/* Handles bytes that have arrived. The first of them belong to the sink. */
static int consume_arrived(weft_peer *p, size_t got, size_t direct,
                           uint32_t kept)
{
    int frames = 0;
    if (p->sink) {
        size_t mine = got < direct ? got : direct;
        WEFT_ASSERT(mine <= p->sink->len - p->rx_off);
        p->rx_off += mine;
        got -= mine;
        if (p->rx_off == p->sink->len) {
            finish_sink(p, WEFT_OK);
            frames++;
        }
    }
    if (kept + got > 0)
        frames += parse_buffer(p, p->ep->rbuf, kept + (uint32_t)got);
    return frames;
}

/* Reads into the sink and the window, or into the buffer after the bytes
 * carried over. */
static ssize_t read_aimed(weft_peer *p, size_t *want, size_t *direct)
{
    struct iovec v[TCP_IOV];
    struct msghdr m = {.msg_iov = v};

    *want = aim_read(p, &m, direct);
    if (m.msg_iovlen == 1)
        return recv(p->conn->fd, v[0].iov_base, v[0].iov_len, MSG_DONTWAIT);
    return recvmsg(p->conn->fd, &m, MSG_DONTWAIT);
}

/* Reads between two containers, into the buffer only. */
static ssize_t read_fresh(weft_peer *p, size_t *want)
{
    *want = p->window;
    return recv(p->conn->fd, p->ep->rbuf, *want, MSG_DONTWAIT);
}

/* Reads what there is, by at most READS calls. Returns the events handled. */
int wf_tcp_recv(weft_peer *p)
{
    int events = 0;

    for (int i = 0; i < READS && p->ip.state == PEER_OPEN && !p->paused; i++) {
        uint32_t kept = p->carry_n;
        bool fresh = !kept && !p->sink && p->rx_off == p->rx_len;
        size_t direct = 0, want;
        ssize_t n;

        n = fresh ? read_fresh(p, &want) : read_aimed(p, &want, &direct);
        if (n <= 0) {
            int error = n < 0 ? errno : 0;
            if (kept && !carry_over(p, p->ep->rbuf, kept))
                return events;
            if (error == EAGAIN || error == EWOULDBLOCK || error == EINTR)
                return events;
            if (wf_ip_is_shortage(error) &&
                wf_ip_retry_shortage(&p->unread_since, wf_tcp_now(p->ep)))
                return events; /* epoll reports it again */
            wf_tcp_link_eof(p, error);
            return events + 1;
        }
        p->unread_since = 0;
        events++;
        events += consume_arrived(p, (size_t)n, direct, kept);
        if ((size_t)n < want)
            break; /* drained */
        if (p->window < TCP_RBUF && !p->sink && p->rx_off == p->rx_len)
            p->window *= 2; /* many small ones: read further ahead */
    }
    return events;
}

void wf_tcp_rx_resume(weft_peer *p)
{
    p->resumed = true;
    wf_ip_mark_due(&p->ip);
}

/* Goes on with a peer for which the core has room again, first with the bytes
 * that were read already. */
int wf_tcp_unpause(weft_peer *p)
{
    uint8_t *data = p->carry, small[WEFT_HDR];
    uint32_t n = p->carry_n;
    int frames;

    p->resumed = false;
    if (!p->paused)
        return 0;
    p->paused = false;
    p->carry = NULL;
    p->carry_n = 0;
    if (data == p->carry_small)
        memcpy(small, data, n);
    frames = n ? parse_buffer(p, data == p->carry_small ? small : data, n) : 0;
    if (data != p->carry_small)
        free(data);
    if (p->ip.state == PEER_OPEN)
        wf_tcp_update_interest(p);
    return frames;
}

void wf_tcp_rx_cancel(weft_peer *p, int status)
{
    drop_carry(p);
    p->rx_off = p->rx_len = 0;
    p->paused = p->resumed = false;
    p->window = TCP_RBUF;
    if (p->sink)
        finish_sink(p, status);
}
