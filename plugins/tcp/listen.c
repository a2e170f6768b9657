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

static int open_listener(weft_ep *ep, struct wf_tcp_listener *l,
                         struct wf_ip_addr *a)
{
    struct sockaddr_storage sa;
    struct wf_ip_addr bound;
    socklen_t n;
    int on = 1;

    a->port = ep->port;
    n = wf_ip_to_sockaddr(a, &sa);
    l->kind = TCP_IS_LISTENER;
    l->fd = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0)
        return WEFT_ESYS;
    if (ep->port)
        setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (a->family == 6)
        setsockopt(l->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(l->fd, (struct sockaddr *)&sa, n) < 0 ||
        listen(l->fd, BACKLOG) < 0)
        return WEFT_ESYS;
    n = sizeof sa;
    if (getsockname(l->fd, (struct sockaddr *)&sa, &n) < 0)
        return WEFT_ESYS;
    wf_ip_from_sockaddr((struct sockaddr *)&sa, &bound);
    a->port = bound.port;
    return WEFT_OK;
}

/* Open what was chosen; addresses that cannot be bound are left out unless
 * none is left. */
int wf_tcp_listen(weft_ep *ep)
{
    int i = 0, error = 0;
    char name[64] = "";

    while (i < ep->ip.n) {
        struct wf_ip_interface *u = &ep->ip.use[i];
        struct wf_tcp_listener *l = &ep->listener[i];
        if (open_listener(ep, l, &u->addr) == WEFT_OK) {
            i++;
            continue;
        }
        error = errno;
        wf_ip_name(&u->addr, name, sizeof name);
        ep->host->log(ep->core, ep->port ? 1 : 2,
                      "cannot listen on %s (%s): %s", name, u->name,
                      strerror(error));
        if (l->fd >= 0)
            close(l->fd);
        l->fd = -1;
        wf_ip_drop(&ep->ip, i);
    }
    if (ep->ip.n == 0) {
        ep->host->log(
            ep->core, 0, "no address to listen on; last: %s: %s%s", name,
            strerror(error),
            error == EADDRINUSE ? "; choose another 'port' or port = 0" : "");
        return WEFT_ESYS;
    }
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
