/* A connected socket for the busiest peer. It saves the kernel the lookup of
 * socket and route for each datagram, which takes 0.25 us.
 *
 *   fd[0..n-1]   one for each chosen address, for all peers and unknown callers
 *   fd[UDP_HOT]  the same address and port, for one peer; or -1
 *
 * Both are bound to one port by SO_REUSEPORT, which admits sockets of the same
 * user only; it is set when the first one has been bound, so two processes
 * still do not get one port. Between bind and connect the new socket may
 * receive datagrams of any sender: they are read as all others are. Datagrams
 * that had come before are still in the common socket, which is read first for
 * some rounds, so that nothing seems to have been overtaken.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <limits.h>
#include <unistd.h>

#include "udp.h"

enum { DRAIN_ROUNDS = 4 }; /* poll rounds that read the common socket first */

void wf_udp_hot_init(weft_ep *ep)
{
    ep->fd[UDP_HOT] = -1;
    ep->row_threshold = UDP_IN_A_ROW;
    ep->others_interval = 1;
}

void wf_udp_hot_share_port(int fd)
{
    int on = 1;

    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
}

void wf_udp_hot_close(weft_ep *ep)
{
    if (ep->fd[UDP_HOT] >= 0)
        close(ep->fd[UDP_HOT]); /* and out of epoll */
    ep->fd[UDP_HOT] = -1;
    ep->hot = NULL;
    ep->watched[UDP_HOT] = ep->unread[UDP_HOT] = false;
    ep->productive_polls[UDP_HOT] = 0;
    ep->others_interval = 1;
}

void wf_udp_hot_forget_peer(weft_ep *ep, const weft_peer *p)
{
    if (ep->hot == p)
        wf_udp_hot_close(ep);
    if (ep->frequent == p)
        ep->frequent = NULL;
}

void wf_udp_hot_count_packet(weft_ep *ep, weft_peer *p, int socket)
{
    if (socket == UDP_HOT || p != ep->frequent) {
        ep->frequent = p;
        ep->packets_in_row = 0;
    }
    if (socket == UDP_HOT)
        return;
    if (p != ep->hot)
        ep->others_interval = 1; /* the common socket is in use */
    ep->packets_in_row++;
}

static int open_connected(weft_ep *ep, const struct wf_ip_path *way)
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
    wf_udp_tune_socket(ep, fd, here->family);
    wf_udp_hot_share_port(fd);
    if (bind(fd, (struct sockaddr *)&sa, n) == 0 &&
        connect(fd, (const struct sockaddr *)&way->to, way->to_len) == 0)
        return fd;
    close(fd);
    return -1;
}

void wf_udp_hot_choose_peer(weft_ep *ep)
{
    weft_peer *p = ep->frequent;

    if (ep->drain_first_rounds &&
        (!ep->hot || !ep->unread[ep->hot->path.way.socket]))
        ep->drain_first_rounds = 0;
    ep->drain_first_rounds -= ep->drain_first_rounds > 0;
    if (ep->packets_in_row < ep->row_threshold || !p || p == ep->hot)
        return;
    wf_udp_hot_close(ep);
    ep->fd[UDP_HOT] = open_connected(ep, &p->path.way);
    ep->packets_in_row = 0;
    ep->row_threshold = ep->row_threshold < UDP_IN_A_ROW_MAX
                            ? ep->row_threshold * 2
                            : UDP_IN_A_ROW_MAX;
    if (ep->fd[UDP_HOT] < 0) {
        ep->row_threshold = UINT_MAX; /* this system cannot: never again */
        return;
    }
    ep->hot = p;
    ep->drain_first_rounds = DRAIN_ROUNDS;
    ep->unread[p->path.way.socket] = true; /* until it was read empty */
}
