/* dgrams - a Weft transport over datagram sockets between the processes of a
 * host, made with weft_channel.h: a fabric that can send a packet and poll for
 * one. docs/transport-guide.md explains it.
 *
 *   cc -shared -fPIC -fvisibility=hidden -Wl,-z,defs dgrams.c -o weft_dgrams.so
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "weft_channel.h"

struct config {
    uint64_t packet;
};
static const weft_option options[] = {{"packet", WEFT_OPT_SIZE,
                                       offsetof(struct config, packet), "16K",
                                       "512..64K", "most bytes of a packet"},
                                      {0}};

static int open_socket(weft_channel *c, const weft_open *o)
{
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    enum { NAME = 17 }; /* a zero, and then bytes that nobody else draws */
    socklen_t n = offsetof(struct sockaddr_un, sun_path) + NAME;

    c->packet = ((const struct config *)c->cfg)->packet;
    c->caps = WEFT_CAP_LOCAL;
    c->cost = (weft_cost){
        .latency_ns = 4000, .overhead_ns = 1500, .bandwidth_mbs = 1500};
    c->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || getrandom(sa.sun_path + 1, NAME - 1, 0) != NAME - 1 ||
        bind(c->fd, (void *)&sa, n) != 0) {
        o->host->log(o->core, 0, "no socket: %s", strerror(errno));
        close(c->fd);
        return WEFT_ESYS;
    }
    memcpy(c->address, &sa, c->address_len = n);
    return WEFT_OK;
}

static void close_socket(weft_channel *c)
{
    close(c->fd);
}

static int send_packet(weft_channel *c, const void *to, size_t len,
                       const struct iovec *parts, int n)
{
    struct msghdr m = {.msg_name = (void *)(uintptr_t)to,
                       .msg_namelen = (socklen_t)len,
                       .msg_iov = (struct iovec *)(uintptr_t)parts,
                       .msg_iovlen = (size_t)n};

    if (sendmsg(c->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
        return WEFT_DONE;
    return errno == EAGAIN || errno == ENOBUFS ? WEFT_EAGAIN : WEFT_EPEER;
}

static size_t poll_packet(weft_channel *c, void *packet, size_t room)
{
    ssize_t n = recv(c->fd, packet, room, MSG_DONTWAIT);

    return n > 0 ? (size_t)n : 0;
}

static const weft_channel_ops ops = {.open = open_socket,
                                     .close = close_socket,
                                     .send = send_packet,
                                     .poll = poll_packet};

WEFT_CHANNEL(dgrams, "1.0", "datagrams between the processes of a host",
             options, struct config, ops);
