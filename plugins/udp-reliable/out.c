/* Packets out.
 *
 * Small packets of one size that follow each other leave in one call
 * (UDP_SEGMENT): the kernel, or the card, cuts them again. They are put together
 * in a batch of the endpoint, which also keeps what the socket has no room for:
 * to the flow these packets are on their way. Large packets, as loopback has
 * them, leave one by one from where their data is.
 *
 * INVARIANT  The batch is empty when transmit() returns true.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>

#include "udp.h"

enum { FLAGS = MSG_DONTWAIT | MSG_NOSIGNAL };

static bool full(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK;
}

/* The socket for m; the hot one knows where to without a name. */
static int socket_for(const weft_ep *ep, const struct wf_ip_path *path,
                      struct msghdr *m)
{
    if (!ep->hot || !wf_ip_same_path(path, &ep->hot->path.way))
        return ep->fd[path->socket];
    m->msg_name = NULL;
    m->msg_namelen = 0;
    return ep->fd[UDP_HOT];
}

static ssize_t put(weft_ep *ep, const struct wf_ip_path *path,
                   const struct iovec *v, int n)
{
    struct msghdr m = {.msg_name = (void *)(uintptr_t)&path->to,
                       .msg_namelen = path->to_len,
                       .msg_iov = (struct iovec *)(uintptr_t)v,
                       .msg_iovlen = (size_t)n};
    int fd = socket_for(ep, path, &m);
    ssize_t rc = -1;

    /* an error may be about an earlier datagram to anybody: once more */
    for (int i = 0; i < 3 && rc < 0; i++) {
        rc = n == 1 ? sendto(fd, v->iov_base, v->iov_len, FLAGS, m.msg_name,
                             m.msg_namelen)
                    : sendmsg(fd, &m, FLAGS);
        if (rc >= 0 || full())
            break;
        ep->errors = true;
        if (errno == EMSGSIZE)
            break;
    }
    ep->count.packets_out += rc >= 0;
    return rc;
}

bool wf_udp_say(weft_ep *ep, const struct wf_ip_path *path,
                const struct iovec *v, int n)
{
    return put(ep, path, v, n) >= 0 || !full();
}

/* ---- batches --------------------------------------------------------------- */

/* All of the batch in one call. */
static ssize_t put_cut(weft_ep *ep, const struct wf_udp_batch *b)
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
    rc = sendmsg(socket_for(ep, &b->path.way, &m), &m, FLAGS);
    if (rc >= 0)
        ep->count.packets_out += b->n;
    return rc;
}

/* Packet by packet; what the socket does not take now stays. */
static bool put_each(weft_ep *ep, struct wf_udp_batch *b)
{
    uint32_t at = 0;

    while (at < b->used) {
        uint32_t left = b->used - at;
        struct iovec v = {.iov_base = b->bytes + at,
                          .iov_len = left < b->each ? left : b->each};
        if (put(ep, &b->path.way, &v, 1) < 0 && full())
            break; /* any other failure is a lost packet */
        at += (uint32_t)v.iov_len;
        b->n--;
    }
    memmove(b->bytes, b->bytes + at, b->used - at);
    b->used -= at;
    return b->used == 0;
}

/* False: the socket has no room, and the batch waits. */
static bool flush(weft_ep *ep)
{
    struct wf_udp_batch *b = &ep->batch;

    if (b->n > 1 && !ep->whole_only) {
        if (put_cut(ep, b) >= 0)
            b->used = 0;
        else if (full())
            return false;
        else if (errno == EIO || errno == EINVAL || errno == ENOPROTOOPT ||
                 errno == EOPNOTSUPP)
            ep->whole_only = true; /* this kernel, or this device, cannot */
    }
    if (b->used && !put_each(ep, b))
        return false;
    b->n = 0;
    b->closed = false;
    return true;
}

/* The packet of n bytes behind the batch joins it. */
static void join(struct wf_udp_batch *b, uint32_t n)
{
    if (b->n++ == 0)
        b->each = n;
    b->closed = n < b->each; /* the last may be shorter */
    b->used += n;
}

static bool fits(const struct wf_udp_batch *b, uint32_t n)
{
    return b->n == 0 || (!b->closed && n <= b->each && b->n < BATCH_PACKETS &&
                         b->used + n <= BATCH_BYTES);
}

/* ---- packets --------------------------------------------------------------- */

static size_t head(weft_peer *p, struct wf_udp_flow_out *o, uint8_t *bytes)
{
    size_t n;

    o->head.to = p->remote_link;
    o->head.flags |= p->path.mac ? UDP_MAC : 0;
    o->head.flags |= p->ep->drained ? UDP_DRAINED : 0;
    n = wf_udp_packet_pack(&o->head, bytes);
    if (p->path.check && !p->path.mac)
        wf_udp_packet_seal(bytes, n, o->v, o->n);
    return n;
}

/* In one piece; returns its bytes. */
static uint32_t assemble(weft_peer *p, struct wf_udp_flow_out *o,
                         uint8_t *bytes)
{
    struct iovec v = {.iov_base = bytes, .iov_len = head(p, o, bytes)};

    for (int i = 0; i < o->n; i++) {
        memcpy(bytes + v.iov_len, o->v[i].iov_base, o->v[i].iov_len);
        v.iov_len += o->v[i].iov_len;
    }
    if (p->path.mac) {
        wf_udp_seal(p, &v, 1, bytes + v.iov_len);
        v.iov_len += PACKET_MAC;
    }
    return (uint32_t)v.iov_len;
}

static bool send_large(weft_peer *p, struct wf_udp_flow_out *o)
{
    uint8_t bytes[PACKET_MAX], code[PACKET_MAC];
    struct iovec v[1 + FLOW_IOV + 1];
    int n = 1 + o->n;

    v[0] = (struct iovec){.iov_base = bytes, .iov_len = head(p, o, bytes)};
    memcpy(v + 1, o->v, (size_t)o->n * sizeof *v);
    if (p->path.mac) {
        wf_udp_seal(p, v, n, code);
        v[n++] = (struct iovec){.iov_base = code, .iov_len = sizeof code};
    }
    return put(p->ep, &p->path.way, v, n) >= 0;
}

/* False: no room in the socket. */
static bool send_small(weft_peer *p, struct wf_udp_flow_out *o)
{
    struct wf_udp_batch *b = &p->ep->batch;
    uint32_t at = b->used, n = assemble(p, o, b->bytes + at);

    if (!fits(b, n)) {
        if (!flush(p->ep))
            return false;
        memmove(b->bytes, b->bytes + at, n);
    }
    if (b->n == 0)
        b->path = p->path;
    join(b, n);
    return true;
}

static bool send_one(weft_peer *p, struct wf_udp_flow_out *o)
{
    if (o->len + o->pad <= UDP_LINEAR)
        return send_small(p, o);
    if (!flush(p->ep))
        return false;
    if (send_large(p, o))
        return true;
    if (errno == EMSGSIZE && !o->pad)
        wf_udp_flow_too_large(&p->flow);
    return !full(); /* any other failure is a lost packet */
}

/* Send all that may be sent now. */
bool wf_udp_transmit(weft_peer *p, uint64_t now)
{
    weft_ep *ep = p->ep;
    struct wf_udp_flow_out *o = &ep->out;
    bool room = flush(ep);

    o->scratch = ep->scratch;
    while (room && p->party.state == PARTY_OPEN &&
           wf_udp_flow_output(&p->flow, now, o)) {
        room = send_one(p, o);
        if (room)
            wf_udp_flow_sent(&p->flow, now, o);
    }
    room = flush(ep) && room;
    wf_ip_sooner(&ep->timer_at, wf_udp_flow_deadline(&p->flow));
    if (!room)
        wf_udp_attend(p);
    return room;
}
