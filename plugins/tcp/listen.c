/* Accepting callers on the chosen interfaces.
 *
 * Callers are cheap to refuse: at most TCP_PENDING_MAX of them may be
 * unauthenticated; beyond that the oldest makes room once it had a fair
 * chance, and until then new ones wait in the kernel's backlog.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* accept4 */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tcp.h"

enum { BACKLOG = 4096, ACCEPTS = 32 };
#define FAIR_CHANCE_NS 50000000u

static void tune(void *ctx, int fd, int family)
{
    const weft_ep *ep = ctx;
    int on = 1;

    (void)family;
    if (ep->port)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
}

int wf_tcp_listen(weft_ep *ep)
{
    const struct wf_ip_sockets how = {.verb = "listen on",
                                      .type = SOCK_STREAM,
                                      .backlog = BACKLOG,
                                      .port = ep->port,
                                      .tune = tune,
                                      .ctx = ep};
    int fd[IP_ADDRS_MAX];
    int rc = wf_ip_open(&ep->ip, &how, fd);

    if (rc < 0)
        return rc;
    for (int i = 0; i < ep->ip.n; i++)
        ep->listener[i] =
            (struct wf_tcp_listener){.kind = TCP_IS_LISTENER, .fd = fd[i]};
    ep->deaf = true;
    wf_tcp_listen_pause(ep, false);
    return WEFT_OK;
}

void wf_tcp_listen_pause(weft_ep *ep, bool pause)
{
    if (ep->deaf == pause)
        return;
    ep->deaf = pause;
    if (pause)
        ep->deaf_until = wf_tcp_now(ep) + FAIR_CHANCE_NS;
    for (int i = 0; i < ep->ip.n; i++) {
        struct wf_tcp_listener *l = &ep->listener[i];
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = l};
        epoll_ctl(ep->epfd, pause ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, l->fd, &e);
    }
}

/* Room for one more stranger? May send the oldest away. */
static bool make_room(weft_ep *ep)
{
    struct wf_tcp_conn *oldest = NULL;
    if (ep->pending < TCP_PENDING_MAX)
        return true;
    for (struct wf_tcp_conn *c = ep->conns; c; c = c->next)
        if ((c->state == TCP_HELLO || c->state == TCP_PROOF) &&
            (!oldest || c->since < oldest->since))
            oldest = c;
    if (!oldest || wf_tcp_now(ep) - oldest->since < FAIR_CHANCE_NS)
        return false;
    wf_tcp_conn_close(oldest);
    return true;
}

int wf_tcp_accept(weft_ep *ep, struct wf_tcp_listener *l)
{
    for (int n = 0; n < ACCEPTS; n++) {
        struct sockaddr_storage sa;
        socklen_t len = sizeof sa;
        struct wf_ip_addr from;
        struct wf_tcp_conn *c;
        int fd;
        if (!make_room(ep)) {
            wf_tcp_listen_pause(ep, true); /* until a timer or a slot */
            return n;
        }
        fd = accept4(l->fd, (struct sockaddr *)&sa, &len,
                     SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            if (errno == EINTR || errno == ECONNABORTED)
                continue;
            if (errno != EAGAIN && errno != EWOULDBLOCK)
                wf_tcp_listen_pause(ep, true); /* EMFILE: do not spin */
            return n;
        }
        wf_ip_from_sockaddr((struct sockaddr *)&sa, &from);
        c = wf_tcp_conn_new(ep, fd, TCP_HELLO, &from);
        if (!c) {
            close(fd);
            return n;
        }
        ep->pending++;
        wf_tcp_conn_interest(c, EPOLLIN);
        wf_tcp_conn_event(c, EPOLLIN); /* the hello is often here already */
    }
    return ACCEPTS;
}
