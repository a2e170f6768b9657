/* Sending: straight from the user's memory, or through a staging buffer.
 *
 * DESIGN  The stream of a peer consists of the staging buffer ("stage"), then
 * one container that does not fit into it. A container is sent at once when
 * nothing is before it; what the socket does not take of a small one goes to
 * the stage, and so do small containers that come while that is not empty, or
 * with WEFT_TX_MORE. At most one is lent: the core queues the others.
 *
 * A container of many small segments passes through the stage part by part:
 * gathering 32 of them for a call costs more than copying as much for one.
 *
 * INVARIANT  While a container is half sent, the stage holds only its bytes,
 * from before p->tx_off.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "tcp.h"

enum { FLAGS = MSG_DONTWAIT | MSG_NOSIGNAL };

void wf_tcp_update_interest(weft_peer *p)
{
    bool in = !p->paused && !p->polled;
    bool out = p->blocked && !p->shortage_since;

    wf_tcp_conn_set_interest(p->conn, (in ? (uint32_t)EPOLLIN : 0) |
                                          (out ? (uint32_t)EPOLLOUT : 0));
}

static void set_blocked(weft_peer *p, bool blocked)
{
    if (p->blocked == blocked)
        return;
    WEFT_ASSERT(blocked || p->ep->waiting > 0);
    p->blocked = blocked;
    p->ep->waiting += blocked ? 1 : -1;
    if (p->conn)
        wf_tcp_update_interest(p);
}

/* Waits for memory of the system, by a timer: the socket has room, so epoll
 * would report it at once. Returns false when that has lasted too long. */
static bool wait_for_memory(weft_peer *p)
{
    uint64_t now = wf_tcp_now(p->ep);

    p->ep->memory_waiters += !p->shortage_since;
    p->ep->memory_retry_at = now + IP_SHORTAGE_RETRY_NS;
    return wf_ip_retry_shortage(&p->shortage_since, now);
}

static void end_memory_wait(weft_peer *p)
{
    if (!p->shortage_since)
        return;
    WEFT_ASSERT(p->ep->memory_waiters > 0);
    p->ep->memory_waiters--;
    p->shortage_since = 0;
    if (p->conn)
        wf_tcp_update_interest(p);
}

void wf_tcp_memory_tick(weft_ep *ep, uint64_t now)
{
    if (!ep->memory_waiters || ep->memory_retry_at > now)
        return;
    ep->memory_retry_at = now + IP_SHORTAGE_RETRY_NS;
    for (uint32_t i = 0; i < ep->ip.peers; i++)
        if (ep->ip.peer[i] && ep->ip.peer[i]->shortage_since &&
            ep->ip.peer[i]->ip.state == PEER_OPEN)
            wf_tcp_flush(ep->ip.peer[i]);
}

static uint32_t staged_bytes(const weft_peer *p)
{
    WEFT_ASSERT(p->stage_off <= p->stage_end &&
                p->stage_end <= TCP_PACKED + TCP_FRAME);
    return p->stage_end - p->stage_off;
}

static void consume_sent(weft_peer *p, uint64_t n)
{
    uint32_t first = staged_bytes(p) < n ? staged_bytes(p) : (uint32_t)n;
    p->stage_off += first;
    if (p->stage_off == p->stage_end)
        p->stage_off = p->stage_end = 0;
    WEFT_ASSERT(n == first ||
                (p->tx && n - first <= wf_ip_tx_bytes(p->tx) - p->tx_off));
    p->tx_off += n - first;
}

/* Makes room for n more bytes in the stage. Returns whether there is room. */
static bool has_stage_room(weft_peer *p, uint64_t n)
{
    if (!p->stage && !wf_tcp_make_stage(p))
        return false;
    if (p->stage_end + n <= TCP_STAGE)
        return true;
    if (staged_bytes(p) + n > TCP_STAGE)
        return false;
    memmove(p->stage, p->stage + p->stage_off, staged_bytes(p));
    p->stage_end = staged_bytes(p);
    p->stage_off = 0;
    return true;
}

/* Copies as much as fits of a container that only the core can read. */
static void stage_packed(weft_peer *p)
{
    uint64_t left = wf_ip_tx_bytes(p->tx) - p->tx_off;

    if (left == 0 || !has_stage_room(p, TCP_STAGE))
        return;
    if (left > TCP_PACKED - p->stage_end)
        left = TCP_PACKED - p->stage_end;
    WEFT_ASSERT(p->stage_end + left <= TCP_PACKED);
    wf_ip_tx_copy(p->tx, p->tx_off, p->stage + p->stage_end, left);
    p->stage_end += (uint32_t)left;
    p->tx_off += left;
}

/* Copies as much as fits of the container into the stage, if its segments are
 * small. */
static void stage_fine(weft_peer *p)
{
    struct iovec v[TCP_IOV];
    size_t sum = 0;
    int n;

    if (!p->tx || p->tx->one.iov_base || staged_bytes(p))
        return;
    if (p->tx->copy) {
        stage_packed(p);
        return;
    }
    n = wf_ip_tx_pieces(p->tx, p->tx_off, v, TCP_IOV);
    for (int i = 0; i < n; i++)
        sum += v[i].iov_len;
    if (n < TCP_IOV || sum >= TCP_IOV * TCP_COPY_MAX ||
        !has_stage_room(p, TCP_STAGE))
        return;
    while (n > 0) {
        for (int i = 0; i < n; i++) {
            size_t room = TCP_PACKED - p->stage_end, len = v[i].iov_len;
            len = len < room ? len : room;
            WEFT_ASSERT(p->stage_end + len <= TCP_PACKED);
            memcpy(p->stage + p->stage_end, v[i].iov_base, len);
            p->stage_end += (uint32_t)len;
            p->tx_off += len;
        }
        if (p->stage_end == TCP_PACKED)
            return;
        n = wf_ip_tx_pieces(p->tx, p->tx_off, v, TCP_IOV);
    }
}

static void handle_send_error(weft_peer *p, int error)
{
    if (wf_ip_is_shortage(error) && wait_for_memory(p)) {
        set_blocked(p, true);
        wf_tcp_update_interest(p);
        return;
    }
    if (wf_ip_is_shortage(error))
        p->ep->ip.host->log(p->ep->ip.core, 1,
                            "sendmsg() to process %u has failed for 10 s: %s",
                            p->ip.id, wf_ip_error_text(error));
    /* these two do not break the link: arrived data is read first, by recv() */
    if (error != EPIPE && error != ECONNRESET)
        wf_ip_break_link(&p->ip, WEFT_ELINK, "connection to process %u: %s",
                         p->ip.id, wf_ip_error_text(error));
    set_blocked(p, true);
}

/* Writes until all is sent or the socket is full. Returns false if the link
 * broke. */
static bool write_socket(weft_peer *p)
{
    struct iovec v[TCP_IOV];
    for (;;) {
        struct msghdr m = {.msg_iov = v};
        size_t want = 0;
        ssize_t n;
        stage_fine(p);
        if (staged_bytes(p)) {
            v[0].iov_base = p->stage + p->stage_off;
            v[0].iov_len = staged_bytes(p);
            m.msg_iovlen = 1;
        }
        if (p->tx)
            m.msg_iovlen +=
                (size_t)wf_ip_tx_pieces(p->tx, p->tx_off, v + m.msg_iovlen,
                                        TCP_IOV - (int)m.msg_iovlen);
        if (m.msg_iovlen == 0)
            break;
        for (size_t i = 0; i < (size_t)m.msg_iovlen; i++)
            want += v[i].iov_len;
        /* one segment is the common case, and send() is cheaper */
        if (m.msg_iovlen == 1)
            n = send(p->conn->fd, v[0].iov_base, v[0].iov_len, FLAGS);
        else
            n = sendmsg(p->conn->fd, &m, FLAGS);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
            handle_send_error(p, errno);
            return p->ip.state == PEER_OPEN && p->shortage_since;
        }
        if (n > 0)
            consume_sent(p, (uint64_t)n);
        end_memory_wait(p);
        if (n < 0 || (size_t)n < want) {
            set_blocked(p, true);
            wf_tcp_watch_sent(p);
            return true;
        }
    }
    set_blocked(p, false);
    wf_tcp_watch_sent(p);
    return true;
}

static bool is_finished(const weft_peer *p)
{
    return p->tx && p->tx_off == wf_ip_tx_bytes(p->tx);
}

/* Copies the container from byte off on into the stage. */
static void stage_rest(weft_peer *p, weft_tx *tx, uint64_t off)
{
    WEFT_ASSERT(p->stage && off <= wf_ip_tx_bytes(tx));
    uint64_t n = wf_ip_tx_bytes(tx) - off;
    wf_ip_tx_copy(tx, off, p->stage + p->stage_end, n);
    p->stage_end += (uint32_t)n;
    p->ep->count.stage_copies++;
}

static int wait_for_ready(weft_peer *p)
{
    p->ip.want_ready = true;
    if (p->ip.state == PEER_OPEN && !p->stage && !p->tx)
        wf_ip_mark_due(
            &p->ip); /* no memory for the stage: only progress() retries */
    return WEFT_EAGAIN;
}

static int dial_or_refuse(weft_peer *p)
{
    if (p->ip.state == PEER_IDLE)
        wf_tcp_dial(p);
    else if (p->ip.state == PEER_LEFT)
        wf_ip_break_link(&p->ip, WEFT_ELINK, "process %u has left", p->ip.id);
    if (p->ip.state == PEER_BROKEN && p->ip.reported)
        return WEFT_ELINK;
    return wait_for_ready(p);
}

static int send_directly(weft_peer *p, weft_tx *tx, bool small)
{
    WEFT_ASSERT(!p->tx && p->ip.state == PEER_OPEN);
    p->tx = tx;
    p->tx_off = 0;
    if (!p->blocked && !write_socket(p) && p->ip.state != PEER_OPEN)
        return WEFT_OK; /* tx_done returns it */
    if (is_finished(p)) {
        p->tx = NULL;
        return WEFT_DONE;
    }
    if (small && has_stage_room(p, wf_ip_tx_bytes(tx) - p->tx_off)) {
        p->tx = NULL;
        stage_rest(p, tx, p->tx_off);
        return WEFT_DONE;
    }
    return WEFT_OK;
}

/* Sends a container without the stage, for which there is no memory: from where
 * it is, unless only the core can read it. */
static int send_unstaged(weft_peer *p, weft_tx *tx)
{
    if (tx->one.iov_base || !tx->copy)
        return send_directly(p, tx, false);
    wf_ip_break_link(&p->ip, WEFT_ENOMEM, "out of memory");
    return wait_for_ready(p);
}

/* Copies a small container to the stage, behind others. */
static int join_stage(weft_peer *p, weft_tx *tx)
{
    if (!has_stage_room(p, wf_ip_tx_bytes(tx))) {
        if (!p->blocked)
            write_socket(p);
        if (p->ip.state != PEER_OPEN || !has_stage_room(p, wf_ip_tx_bytes(tx)))
            return p->stage ? wait_for_ready(p) : send_unstaged(p, tx);
    }
    stage_rest(p, tx, 0);
    if (!p->blocked)
        write_socket(p);
    return WEFT_DONE;
}

static int submit_container(weft_peer *p, weft_tx *tx)
{
    weft_ep *ep = p->ep;
    bool small = wf_ip_tx_bytes(tx) <= TCP_SHORT_MAX + WEFT_HDR;
    int rc;

    if (p->ip.state != PEER_OPEN)
        return dial_or_refuse(p);
    if (p->tx)
        return wait_for_ready(p);
    if (small && (staged_bytes(p) || wf_ip_tx_bytes(tx) <= TCP_COPY_MAX))
        rc = join_stage(p, tx);
    else
        rc = send_directly(p, tx, small);
    if (rc >= 0) {
        ep->count.tx_frames++;
        ep->count.tx_bytes += tx->len;
    }
    return rc;
}

int wf_tcp_send(weft_peer *p, weft_tx *tx)
{
    return submit_container(p, tx);
}

/* Keeps the end of a frame that the socket took only in part. */
static void keep_rest(weft_peer *p, const uint8_t *rest, size_t n)
{
    if (!has_stage_room(p, n)) {
        wf_ip_break_link(&p->ip, WEFT_ENOMEM, "out of memory");
        return;
    }
    WEFT_ASSERT(!p->tx && !staged_bytes(p));
    memcpy(p->stage + p->stage_end, rest, n);
    p->stage_end += (uint32_t)n;
    set_blocked(p, true);
}

/* The fast path, for a small message with nothing before it: header and payload
 * leave in one write. Returns false if nothing was written; the slow path
 * handles the cause. */
static bool send_tiny(weft_peer *p, const weft_hdr *hdr, const void *data,
                      size_t len)
{
    uint8_t frame[WEFT_HDR + TCP_COPY_MAX];
    size_t hl = weft_hdr_len(hdr), total = hl + len;
    ssize_t n;

    WEFT_ASSERT(total <= sizeof frame && !p->tx);
    memcpy(frame, hdr, hl);
    if (len)
        memcpy(frame + hl, data, len);
    n = send(p->conn->fd, frame, total, FLAGS);
    if (n <= 0)
        return false;
    if ((size_t)n < total)
        keep_rest(p, frame + n, total - (size_t)n);
    wf_tcp_watch_sent(p);
    p->ep->count.tx_frames++;
    p->ep->count.tx_bytes += len;
    return true;
}

static int send_small(weft_peer *p, const weft_hdr *hdr, const void *data,
                      size_t len)
{
    weft_tx tx = {.hdr = (weft_hdr *)(uintptr_t)hdr,
                  .one = {(void *)(uintptr_t)data, len},
                  .len = len};
    int rc;

    if (len <= TCP_COPY_MAX && p->ip.state == PEER_OPEN && !p->tx &&
        !staged_bytes(p) && !p->blocked && send_tiny(p, hdr, data, len))
        return WEFT_DONE;
    if (len > TCP_SHORT_MAX)
        return WEFT_EINVAL;
    if (p->ip.state == PEER_OPEN && !has_stage_room(p, wf_ip_tx_bytes(&tx)))
        return wait_for_ready(p); /* so that send_directly never keeps tx */
    rc = submit_container(p, &tx);
    if (p->tx == &tx)
        p->tx = NULL; /* the link broke meanwhile */
    return rc == WEFT_OK ? WEFT_DONE : rc;
}

/* Says whether a message is not coalesced: it is the first since the last poll,
 * is too large, or the link or the socket is not ready. */
static bool goes_alone(const weft_peer *p, size_t len)
{
    return p->ip.burst == 1 || len > p->ep->cfg.coalesce ||
           p->ip.state != PEER_OPEN || p->tx || p->blocked;
}

/* Sends one of a window of small messages. The stage leaves with some of them,
 * and when it is half full. */
static int send_one_of_many(weft_peer *p, const weft_hdr *hdr, const void *data,
                            size_t len)
{
    bool leaves = wf_ip_leaves_now(&p->ip, p->ep->poll_round);
    size_t hl = weft_hdr_len(hdr);
    uint8_t *at;

    if (goes_alone(p, len) || !has_stage_room(p, hl + len))
        return send_small(p, hdr, data, len);
    at = p->stage + p->stage_end;
    memcpy(at, hdr, hl);
    if (len)
        memcpy(at + hl, data, len);
    p->stage_end += (uint32_t)(hl + len);
    p->ep->count.tx_frames++;
    p->ep->count.tx_bytes += len;
    p->ep->count.stage_copies++;
    if (leaves || staged_bytes(p) > IP_HELD_MOST) {
        write_socket(p);
        return WEFT_DONE;
    }
    wf_ip_mark_due(&p->ip); /* flushed by progress() at the latest */
    return WEFT_OK;
}

int wf_tcp_send_short(weft_peer *p, const weft_hdr *hdr, const void *data,
                      size_t len, unsigned flags)
{
    return flags & WEFT_TX_MORE ? send_one_of_many(p, hdr, data, len)
                                : send_small(p, hdr, data, len);
}

/* Puts one of the transport's own frames into the stage. WEFT_EAGAIN while a
 * container is half sent. */
int wf_tcp_send_frame(weft_peer *p, enum wf_tcp_frame type)
{
    uint8_t frame[TCP_FRAME] = {
        [0] = (uint8_t)type, [1] = 1, [3] = WEFT_HDR_SHORT >> 8};
    if (p->tx)
        return WEFT_EAGAIN;
    if (!has_stage_room(p, sizeof frame))
        return WEFT_ENOMEM;
    memcpy(p->stage + p->stage_end, frame, sizeof frame);
    p->stage_end += sizeof frame;
    return WEFT_OK;
}

/* Says whether nothing is left to write, after one try to write it. It never
 * calls back. */
bool wf_tcp_tx_idle(weft_peer *p)
{
    if (p->tx)
        return false;
    if (staged_bytes(p) && !p->blocked)
        write_socket(p);
    return !staged_bytes(p);
}

/* Continues to send, and tells the core what has changed. */
void wf_tcp_flush(weft_peer *p)
{
    weft_ep *ep = p->ep;
    WEFT_ASSERT(p->ip.state == PEER_OPEN && p->conn);
    if (staged_bytes(p) || p->tx)
        write_socket(p);
    else
        set_blocked(p, false);
    if (is_finished(p)) {
        weft_tx *tx = p->tx;
        p->tx = NULL;
        ep->ip.host->tx_done(ep->ip.core, tx, WEFT_OK);
    }
    if (p->ip.state == PEER_OPEN && p->ip.want_ready && !p->tx &&
        staged_bytes(p) <= TCP_STAGE / 2) {
        p->ip.want_ready = false;
        ep->ip.host->tx_ready(ep->ip.core, p->ip.loc);
    }
}

void wf_tcp_tx_cancel(weft_peer *p, int status)
{
    weft_tx *tx = p->tx;
    set_blocked(p, false);
    end_memory_wait(p);
    p->stage_off = p->stage_end = 0;
    p->tx = NULL;
    if (tx)
        p->ep->ip.host->tx_done(p->ep->ip.core, tx, status);
}
