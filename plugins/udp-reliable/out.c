/* Sends packets, in batches where that is faster.
 *
 * Small packets of one size that follow each other leave in one call
 * (UDP_SEGMENT): the kernel, or the network card, cuts them again. They are
 * assembled in a batch of the endpoint, which also keeps packets that the
 * socket has no room for: to the flow these are under way. Large packets, as
 * loopback has them, leave one by one from where their data is.
 *
 * INVARIANT  The batch is empty when wf_udp_transmit() returns true.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>

#include "udp.h"

enum { FLAGS = MSG_DONTWAIT | MSG_NOSIGNAL };

static bool is_socket_full(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK;
}

/* Returns the socket for m. The hot one is connected: m needs no address. */
static int choose_socket(const weft_ep *ep, const struct wf_ip_path *path,
                         struct msghdr *m)
{
    if (!ep->hot || !wf_ip_is_same_path(path, &ep->hot->path.way))
        return ep->fd[path->socket];
    m->msg_name = NULL;
    m->msg_namelen = 0;
    return ep->fd[UDP_HOT];
}

static ssize_t send_vector(weft_ep *ep, const struct wf_ip_path *path,
                           const struct iovec *v, int n)
{
    struct msghdr m = {.msg_name = (void *)(uintptr_t)&path->to,
                       .msg_namelen = path->to_len,
                       .msg_iov = (struct iovec *)(uintptr_t)v,
                       .msg_iovlen = (size_t)n};
    int fd = choose_socket(ep, path, &m);
    ssize_t rc = -1;

    /* an error may be about an earlier datagram to any peer: try again */
    for (int i = 0; i < 3 && rc < 0; i++) {
        rc = n == 1 ? sendto(fd, v->iov_base, v->iov_len, FLAGS, m.msg_name,
                             m.msg_namelen)
                    : sendmsg(fd, &m, FLAGS);
        if (rc >= 0 || is_socket_full())
            break;
        ep->errors = true;
        if (errno == EMSGSIZE)
            break;
    }
    ep->count.packets_out += rc >= 0;
    return rc;
}

bool wf_udp_send_datagram(weft_ep *ep, const struct wf_ip_path *path,
                          const struct iovec *v, int n)
{
    return send_vector(ep, path, v, n) >= 0 || !is_socket_full();
}

/* ---- batches ------------------------------------------------------------- */

/* Sends the whole batch in one call, which the kernel cuts. */
static ssize_t send_batch_cut(weft_ep *ep, const struct wf_udp_batch *b)
{
    union {
        struct cmsghdr align;
        uint8_t bytes[CMSG_SPACE(sizeof(uint16_t))];
    } control = {.bytes = {0}};
    struct iovec v = {.iov_base = b->bytes, .iov_len = b->used};
    struct msghdr m = {.msg_name = (void *)(uintptr_t)&b->path.way.to,
                       .msg_namelen = b->path.way.to_len,
                       .msg_iov = &v,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    uint16_t size = (uint16_t)b->each;
    ssize_t rc;

    c->cmsg_level = IPPROTO_UDP;
    c->cmsg_type = UDP_SEGMENT;
    c->cmsg_len = CMSG_LEN(sizeof size);
    memcpy(CMSG_DATA(c), &size, sizeof size);
    rc = sendmsg(choose_socket(ep, &b->path.way, &m), &m, FLAGS);
    if (rc >= 0)
        ep->count.packets_out += b->n;
    return rc;
}

/* Sends the batch packet by packet. Packets that the socket has no room for
 * stay; returns false if there are such. */
static bool send_batch_singly(weft_ep *ep, struct wf_udp_batch *b)
{
    uint32_t at = 0;

    while (at < b->used) {
        uint32_t left = b->used - at;
        struct iovec v = {.iov_base = b->bytes + at,
                          .iov_len = left < b->each ? left : b->each};
        if (send_vector(ep, &b->path.way, &v, 1) < 0 && is_socket_full())
            break; /* any other failure is a lost packet */
        at += (uint32_t)v.iov_len;
        b->n--;
    }
    memmove(b->bytes, b->bytes + at, b->used - at);
    b->used -= at;
    return b->used == 0;
}

/* Sends the batch. Returns false if the socket has no room: the batch waits. */
static bool flush_batch(weft_ep *ep)
{
    struct wf_udp_batch *b = &ep->batch;

    if (b->n > 1 && !ep->whole_only) {
        if (send_batch_cut(ep, b) >= 0)
            b->used = 0;
        else if (is_socket_full())
            return false;
        else if (errno == EIO || errno == EINVAL || errno == ENOPROTOOPT ||
                 errno == EOPNOTSUPP)
            ep->whole_only = true; /* this kernel, or this device, cannot */
    }
    if (b->used && !send_batch_singly(ep, b))
        return false;
    b->n = 0;
    b->closed = false;
    return true;
}

/* Adds the packet of n bytes that was assembled behind the batch. */
static void add_to_batch(struct wf_udp_batch *b, uint32_t n)
{
    if (b->n++ == 0)
        b->each = n;
    b->closed = n < b->each; /* the last may be shorter */
    b->used += n;
}

static bool fits_batch(const struct wf_udp_batch *b, uint32_t n)
{
    return b->n == 0 || (!b->closed && n <= b->each && b->n < BATCH_PACKETS &&
                         b->used + n <= BATCH_BYTES);
}

/* ---- packets ------------------------------------------------------------- */

static size_t write_header(weft_peer *p, struct wf_udp_flow_out *o,
                           uint8_t *bytes)
{
    size_t n;

    o->head.to = p->remote_link;
    o->head.flags |= p->path.mac ? UDP_MAC : 0;
    o->head.flags |= p->ep->drained ? UDP_DRAINED : 0;
    n = wf_udp_packet_pack(&o->head, bytes);
    if (p->path.check && !p->path.mac)
        wf_udp_packet_set_checksum(bytes, n, o->v, o->n);
    return n;
}

/* Writes the whole packet in one piece; returns its bytes. */
static uint32_t assemble_packet(weft_peer *p, struct wf_udp_flow_out *o,
                                uint8_t *bytes)
{
    struct iovec v = {.iov_base = bytes, .iov_len = write_header(p, o, bytes)};

    for (int i = 0; i < o->n; i++) {
        memcpy(bytes + v.iov_len, o->v[i].iov_base, o->v[i].iov_len);
        v.iov_len += o->v[i].iov_len;
    }
    if (p->path.mac) {
        wf_udp_write_code(p, &v, 1, bytes + v.iov_len);
        v.iov_len += PACKET_MAC;
    }
    return (uint32_t)v.iov_len;
}

static bool send_large(weft_peer *p, struct wf_udp_flow_out *o)
{
    uint8_t bytes[PACKET_MAX], code[PACKET_MAC];
    struct iovec v[1 + FLOW_IOV + 1];
    int n = 1 + o->n;

    v[0] =
        (struct iovec){.iov_base = bytes, .iov_len = write_header(p, o, bytes)};
    memcpy(v + 1, o->v, (size_t)o->n * sizeof *v);
    if (p->path.mac) {
        wf_udp_write_code(p, v, n, code);
        v[n++] = (struct iovec){.iov_base = code, .iov_len = sizeof code};
    }
    return send_vector(p->ep, &p->path.way, v, n) >= 0;
}

/* Adds the packet to the batch. Returns false if the batch is full, and the
 * socket has no room for it. */
static bool send_small(weft_peer *p, struct wf_udp_flow_out *o)
{
    struct wf_udp_batch *b = &p->ep->batch;
    uint32_t at = b->used, n = assemble_packet(p, o, b->bytes + at);

    if (!fits_batch(b, n)) {
        if (!flush_batch(p->ep))
            return false;
        memmove(b->bytes, b->bytes + at, n);
    }
    if (b->n == 0)
        b->path = p->path;
    add_to_batch(b, n);
    return true;
}

static bool send_packet(weft_peer *p, struct wf_udp_flow_out *o)
{
    if (o->len + o->pad <= UDP_LINEAR)
        return send_small(p, o);
    if (!flush_batch(p->ep))
        return false;
    if (send_large(p, o))
        return true;
    if (errno == EMSGSIZE && !o->pad)
        wf_udp_flow_reduce_size(&p->flow);
    return !is_socket_full(); /* any other failure is a lost packet */
}

bool wf_udp_transmit(weft_peer *p, uint64_t now)
{
    weft_ep *ep = p->ep;
    struct wf_udp_flow_out *o = &ep->out;
    bool room = flush_batch(ep);

    o->scratch = ep->scratch;
    while (room && p->ip.state == PEER_OPEN &&
           wf_udp_flow_next_packet(&p->flow, now, o)) {
        room = send_packet(p, o);
        if (room)
            wf_udp_flow_sent(&p->flow, now, o);
    }
    room = flush_batch(ep) && room;
    wf_ip_set_sooner(&ep->timer_at, wf_udp_flow_deadline(&p->flow));
    if (!room)
        wf_ip_mark_due(&p->ip);
    return room;
}
