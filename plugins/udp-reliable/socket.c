/* Opens the sockets, reads datagrams, and handles the errors that the kernel
 * reports about datagrams that were sent.
 *
 * There is one socket for each chosen address; all links share it, except one
 * that may have its own (hot.c). The kernel reports ICMP errors with the
 * address that they are about (IP_RECVERR): the end of a process is noticed at
 * once, without a timer. SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/uio.h>

#include "udp.h"

enum {
    IP_UDP_BYTES = 48, /* of the headers, with IPv6 */
    ERRORS = 64        /* the most that are handled in one round */
};

/* ---- sockets ------------------------------------------------------------- */

void wf_udp_tune_socket(weft_ep *ep, int fd, int family)
{
    int on = 1;

    wf_ip_datagram_tune(fd, family, ep->cfg.rcvbuf);
    /* packets of loopback are as large as merged ones would be */
    if (!ep->ip.one_host &&
        setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on) == 0)
        ep->merged = true;
}

static void tune_socket(void *ctx, int fd, int family)
{
    wf_udp_tune_socket(ctx, fd, family);
}

int wf_udp_open_sockets(weft_ep *ep)
{
    const struct wf_ip_sockets how = {.verb = "receive on",
                                      .type = SOCK_DGRAM,
                                      .port = ep->ip.port,
                                      .tune = tune_socket,
                                      .ctx = ep};
    int rc = wf_ip_open_sockets(&ep->ip, &how, ep->fd);

    for (int i = 0; i < ep->ip.n && rc == WEFT_OK; i++) {
        ep->mtu[i] = wf_ip_mtu(ep->fd[i], ep->ip.use[i].name);
        wf_udp_hot_share_port(ep->fd[i]);
    }
    return rc;
}

uint32_t wf_udp_packet_bytes(const weft_ep *ep, const struct wf_ip_path *path)
{
    uint32_t mtu = ep->mtu[path->socket];
    uint32_t around = IP_UDP_BYTES + PACKET_MAX + PACKET_MAC;
    uint32_t fits =
        mtu > around + FLOW_PACKET_MIN ? mtu - around : FLOW_PACKET_MIN;

    if (ep->cfg.packet && ep->cfg.packet < fits)
        fits = (uint32_t)ep->cfg.packet;
    return fits < FLOW_PACKET_MAX ? fits : FLOW_PACKET_MAX;
}

/* ---- datagrams ----------------------------------------------------------- */

/* Ends reading the packets of a peer: answers, and continues to send, once for
 * all packets that came together. */
static void finish_heard(weft_ep *ep)
{
    weft_peer *p = ep->reading_peer;

    ep->reading_peer = NULL;
    if (!p || p->ip.state != PEER_OPEN)
        return;
    wf_udp_transmit(p, ep->read_at);
    wf_udp_return_acknowledged(p);
}

static void handle_stream_packet(weft_ep *ep, const struct wf_ip_path *from,
                                 const struct wf_udp_packet *k, uint8_t *bytes,
                                 size_t head, size_t n)
{
    struct wf_ip_id *s = wf_ip_find_id(&ep->calls, k->to);
    weft_peer *p = s && s->party ? s->party->peer : NULL;

    if (p && p->ip.state == PEER_OPEN && wf_ip_is_same_path(&p->path.way, from))
        n = wf_udp_check_packet(p, k, bytes, n);
    else
        n = 0;
    if (n < head) {
        ep->calls.foreign_packets++;
        if (!s && k->type == UDP_DATA)
            wf_ip_send_reset(&ep->calls, from, 0, k->to);
        return;
    }
    wf_udp_hot_count_packet(ep, p, ep->reading);
    if (ep->reading_peer != p)
        finish_heard(ep);
    if (!ep->reading_peer)
        ep->read_at = wf_udp_now(ep);
    ep->reading_peer = p;
    p->unreachable_since = 0;
    wf_udp_flow_take_packet(&p->flow, ep->read_at, k, bytes + head, n - head);
    wf_udp_alive_note_packet(p, k->flags & UDP_DRAINED, ep->read_at);
}

static void handle_datagram(weft_ep *ep, const struct wf_ip_path *from,
                            uint8_t *bytes, size_t n)
{
    struct wf_udp_packet k;
    size_t head = wf_udp_packet_unpack(&k, bytes, n);

    ep->count.packets_in++;
    if (!head)
        ep->calls.foreign_packets++;
    else if (k.type == UDP_DATA || k.type == UDP_ACK)
        handle_stream_packet(ep, from, &k, bytes, head, n);
    else
        wf_udp_take_word(ep, from, &k, bytes, n);
}

/* Receives packets of one peer that the kernel has merged: all have the size
 * *each, except the last, which may be shorter. */
static ssize_t receive_merged(weft_ep *ep, struct wf_ip_path *from,
                              size_t *each)
{
    union {
        struct cmsghdr align;
        uint8_t bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec v = {.iov_base = ep->rbuf, .iov_len = UDP_RBUF};
    struct msghdr m = {.msg_name = &from->to,
                       .msg_namelen = from->to_len,
                       .msg_iov = &v,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    ssize_t n = recvmsg(ep->fd[ep->reading], &m, MSG_DONTWAIT);
    int size = 0;

    from->to_len = m.msg_namelen;
    for (struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL; c;
         c = CMSG_NXTHDR(&m, c))
        if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO)
            memcpy(&size, CMSG_DATA(c), sizeof size);
    *each = size > 0 ? (size_t)size : n > 0 ? (size_t)n : 1;
    return n;
}

static ssize_t receive_datagram(weft_ep *ep, struct wf_ip_path *from,
                                size_t *each)
{
    ssize_t n;

    from->to_len = sizeof from->to;
    if (ep->merged)
        return receive_merged(ep, from, each);
    n = recvfrom(ep->fd[ep->reading], ep->rbuf, UDP_RBUF, MSG_DONTWAIT,
                 (struct sockaddr *)&from->to, &from->to_len);
    *each = n > 0 ? (size_t)n : 1;
    return n;
}

/* Converts the sender's address to normal form, so that it can be compared. The
 * last result is kept. */
static void normalise_sender(weft_ep *ep, struct wf_ip_path *from)
{
    struct wf_ip_addr who;

    if (from->to_len != ep->last_from_len ||
        memcmp(&from->to, &ep->last_from, from->to_len) != 0) {
        ep->last_from_len = from->to_len;
        memcpy(&ep->last_from, &from->to, from->to_len);
        wf_ip_from_sockaddr((struct sockaddr *)&from->to, &who);
        ep->sender.to_len = wf_ip_to_sockaddr(&who, &ep->sender.to);
    }
    from->to_len = ep->sender.to_len;
    memcpy(&from->to, &ep->sender.to, from->to_len);
}

int wf_udp_read_socket(weft_ep *ep, int socket, int budget)
{
    struct wf_ip_path from; /* not cleared: most polls find nothing */
    int events = 0;

    from.socket = socket == UDP_HOT ? ep->hot->path.way.socket : socket;
    ep->reading = socket;
    ep->unread[socket] = true;
    while (events < budget && ep->fd[socket] >= 0) {
        uint64_t before = ep->count.rx_containers;
        size_t each = 0;
        ssize_t n = receive_datagram(ep, &from, &each);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == ECONNABORTED && socket == UDP_HOT) {
            wf_udp_hot_close(ep); /* disconnected from outside (ss -K) */
            break;
        }
        if (n < 0) {
            ep->errors =
                ep->errors || (errno != EAGAIN && errno != EWOULDBLOCK);
            ep->unread[socket] = false;
            break;
        }
        events++;
        normalise_sender(ep, &from);
        for (size_t at = 0; at < (size_t)n; at += each)
            handle_datagram(ep, &from, ep->rbuf + at,
                            (size_t)n - at < each ? (size_t)n - at : each);
        finish_heard(ep);
        if (n < UDP_LINEAR && ep->count.rx_containers != before)
            break; /* this may be the container that the core waits for */
    }
    return events;
}

/* ---- errors -------------------------------------------------------------- */

static void handle_error(weft_ep *ep, const struct wf_ip_path *to, int error)
{
    if (wf_ip_call_handle_error(&ep->calls, to, error))
        return;
    for (weft_peer *p = ep->open; p; p = p->open_next) {
        if (!wf_ip_is_same_path(&p->path.way, to))
            continue;
        if (error == ECONNREFUSED)
            wf_udp_handle_gone(p, WEFT_EPEER, "nobody receives there");
        else if (error == EMSGSIZE)
            wf_udp_flow_reduce_size(&p->flow);
        else
            wf_udp_note_unreachable(p, error);
        return;
    }
}

static int read_errors(weft_ep *ep, int socket)
{
    struct wf_ip_path to = {
        .socket = socket == UDP_HOT ? ep->hot->path.way.socket : socket};
    int events = 0, error;

    while (events < ERRORS &&
           (error = wf_ip_datagram_error(ep->fd[socket], &to)) != 0) {
        handle_error(ep, &to, error);
        events++;
    }
    return events;
}

int wf_udp_read_errors(weft_ep *ep)
{
    int events = 0;

    ep->errors = false;
    for (int i = 0; i < ep->ip.n; i++)
        events += read_errors(ep, i);
    if (ep->hot)
        events += read_errors(ep, UDP_HOT);
    return events;
}
