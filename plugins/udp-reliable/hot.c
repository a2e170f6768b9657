/* The peer who talks most has a socket of his own, connected to him: whom a
 * datagram is for and which way it takes is then known to the system before it
 * comes, which is worth 0.25 us for each.
 *
 *   fd[0..n-1]   one for each chosen address, for all peers and strangers
 *   fd[UDP_HOT]  the same address and port, for one peer; or -1
 *
 * Both are bound to one port by SO_REUSEPORT, which lets in sockets of the same
 * user only; it is set when the first is bound, so two processes still do not
 * get one port. Between bind and connect the new socket may catch datagrams of
 * anybody: they are read as all others are. What had come before is still in the
 * common socket, which is read first for some turns, so that nothing seems to
 * have been overtaken.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <limits.h>
#include <unistd.h>

#include "udp.h"

enum { IN_A_ROW = 32, IN_A_ROW_MAX = 1 << 20, SETTLE = 4 };

void wf_udp_hot_begin(weft_ep *ep)
{
    ep->fd[UDP_HOT] = -1;
    ep->row_wanted = IN_A_ROW;
    ep->patience = 1;
}

void wf_udp_hot_share(int fd)
{
    int on = 1;

    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
}

void wf_udp_hot_end(weft_ep *ep)
{
    if (ep->fd[UDP_HOT] >= 0)
        close(ep->fd[UDP_HOT]); /* and out of epoll */
    ep->fd[UDP_HOT] = -1;
    ep->hot = NULL;
    ep->watched[UDP_HOT] = ep->unread[UDP_HOT] = false;
    ep->paid[UDP_HOT] = 0;
    ep->patience = 1;
}

void wf_udp_hot_forget(weft_ep *ep, const weft_peer *p)
{
    if (ep->hot == p)
        wf_udp_hot_end(ep);
    if (ep->often == p)
        ep->often = NULL;
}

/* A packet of p was read from that socket. */
void wf_udp_hot_heard(weft_ep *ep, weft_peer *p, int socket)
{
    if (socket == UDP_HOT || p != ep->often) {
        ep->often = p;
        ep->row = 0;
    }
    if (socket == UDP_HOT)
        return;
    if (p != ep->hot)
        ep->patience = 1; /* the common socket is in use */
    ep->row++;
}

static int open_to(weft_ep *ep, const struct wf_ip_path *way)
{
    struct wf_ip_addr *here = &ep->ip.use[way->socket].addr;
    struct sockaddr_storage sa;
    socklen_t n = wf_ip_to_sockaddr(here, &sa);
    int on = 1;
    int fd = socket(sa.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    if (here->family == 6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    wf_udp_tune(ep, fd, here->family);
    wf_udp_hot_share(fd);
    if (bind(fd, (struct sockaddr *)&sa, n) == 0 &&
        connect(fd, (const struct sockaddr *)&way->to, way->to_len) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Is it time for another one? */
void wf_udp_hot_choose(weft_ep *ep)
{
    weft_peer *p = ep->often;

    if (ep->settling && (!ep->hot || !ep->unread[ep->hot->path.way.socket]))
        ep->settling = 0;
    ep->settling -= ep->settling > 0;
    if (ep->row < ep->row_wanted || !p || p == ep->hot)
        return;
    wf_udp_hot_end(ep);
    ep->fd[UDP_HOT] = open_to(ep, &p->path.way);
    ep->row = 0;
    ep->row_wanted =
        ep->row_wanted < IN_A_ROW_MAX ? ep->row_wanted * 2 : IN_A_ROW_MAX;
    if (ep->fd[UDP_HOT] < 0) {
        ep->row_wanted = UINT_MAX; /* this system does not have it */
        return;
    }
    ep->hot = p;
    ep->settling = SETTLE;
    ep->unread[p->path.way.socket] = true; /* to be known */
}
