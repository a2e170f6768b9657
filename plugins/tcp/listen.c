/* Accepting callers on the chosen interfaces.
 *
 * At most IP_PENDING_MAX callers may be unauthenticated. Beyond that the
 * oldest makes room once it had a fair chance, and until then new ones wait in
 * the kernel's backlog.
 *
 * LOBBY  Listeners and unknown callers have an epoll set of their own, which is
 * a member of that of the endpoint. So a poll of the endpoint finds all of them
 * or none. When they have used up their budget (budget.h) the set is taken out
 * for a pause.
 *
 * OPTIMIZE  size
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

enum { BACKLOG = 4096 };

static struct wf_ip_sockets listener_settings(const weft_ep *ep)
{
    return (struct wf_ip_sockets){.verb = "listen on",
                                  .type = SOCK_STREAM,
                                  .backlog = BACKLOG,
                                  .port = ep->ip.port};
}

static void open_lobby(weft_ep *ep)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = &ep->lobby_kind};

    ep->caller_budget.pause = 0;
    ep->lobby_kind = TCP_IS_LOBBY;
    epoll_ctl(ep->ip.epfd, EPOLL_CTL_ADD, ep->lobby, &e);
}

int wf_tcp_listen(weft_ep *ep)
{
    const struct wf_ip_sockets how = listener_settings(ep);
    int fd[IP_ADDRS_MAX];
    int rc = wf_ip_open_sockets(&ep->ip, &how, fd);

    if (rc < 0)
        return rc;
    for (int i = 0; i < ep->ip.n; i++)
        ep->listener[i] =
            (struct wf_tcp_listener){.kind = TCP_IS_LISTENER, .fd = fd[i]};
    ep->reserve = wf_ip_open_reserve();
    ep->accept_paused = true;
    wf_tcp_listen_pause(ep, false);
    open_lobby(ep);
    return WEFT_OK;
}

void wf_tcp_listen_pause(weft_ep *ep, bool pause)
{
    if (ep->accept_paused == pause)
        return;
    ep->accept_paused = pause;
    if (pause)
        ep->accept_paused_until = wf_tcp_now(ep) + IP_FAIR_CHANCE_NS;
    for (int i = 0; i < ep->ip.n; i++) {
        struct wf_tcp_listener *l = &ep->listener[i];
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = l};
        epoll_ctl(ep->lobby, pause ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, l->fd, &e);
    }
}

/* Makes room for one more unknown caller, if need be by closing the oldest.
 * Returns whether there is room. */
static bool make_room(weft_ep *ep)
{
    struct wf_tcp_conn *oldest = NULL;
    if (ep->pending < IP_PENDING_MAX)
        return true;
    for (struct wf_tcp_conn *c = ep->conns; c; c = c->next)
        if ((c->state == TCP_HELLO || c->state == TCP_PROOF) &&
            (!oldest || c->since < oldest->since))
            oldest = c;
    if (!oldest || wf_tcp_now(ep) - oldest->since < IP_FAIR_CHANCE_NS)
        return false;
    wf_tcp_conn_close(oldest);
    return true;
}

/* Opens a listening socket again, at the address that peers know. Returns false
 * if that fails now. */
static bool listen_again(weft_ep *ep, struct wf_tcp_listener *l)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = l};
    struct wf_ip_sockets how = listener_settings(ep);
    int fd = wf_ip_reopen_socket(&ep->ip.use[l - ep->listener].addr, &how);

    if (fd < 0)
        return false;
    if (l->fd >= 0)
        close(l->fd); /* that takes it out of the lobby, too */
    l->fd = fd;
    if (!ep->accept_paused)
        epoll_ctl(ep->lobby, EPOLL_CTL_ADD, fd, &e);
    return true;
}

/* ---- callers that cannot be accepted ------------------------------------ */

/* Tells a caller why it is refused. The bytes that it has sent are read first:
 * closing a socket with unread bytes is a reset, which could overtake the
 * frame. */
void wf_tcp_send_shortage(int fd, enum wf_tcp_shortage shortage)
{
    uint8_t unread[WEFT_AUTH_MSG],
        frame[TCP_FRAME] = {TCP_SHORTAGE, (uint8_t)shortage};

    while (recv(fd, unread, sizeof unread, MSG_DONTWAIT) > 0)
        ;
    (void)!send(fd, frame, sizeof frame, MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
}

/* Disconnects all callers that wait at this socket, because they cannot be told
 * why. */
static void drop_callers(weft_ep *ep, struct wf_tcp_listener *l)
{
    close(l->fd);
    l->fd = -1;
    listen_again(ep, l);
}

/* Refuses one caller, using the descriptor in reserve, because no caller could
 * be accepted for IP_SHORTAGE_NS for want of descriptors or memory. */
static void turn_caller_away(weft_ep *ep, struct wf_tcp_listener *l, int error)
{
    int fd;

    if (ep->reserve >= 0)
        close(ep->reserve);
    fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        wf_tcp_send_shortage(fd, wf_ip_shortage_status(error) == WEFT_ENOMEM
                                     ? TCP_NO_MEMORY
                                     : TCP_NO_FILES);
        close(fd);
    }
    ep->reserve = wf_ip_open_reserve();
    if (fd < 0 && wf_ip_is_shortage(errno))
        drop_callers(ep, l);
}

/* Handles an error of accept(). After EMFILE and the like accepting pauses, so
 * that progress() does not spin. */
static void handle_accept_error(weft_ep *ep, struct wf_tcp_listener *l,
                                int error)
{
    if (error == EINVAL && listen_again(ep, l)) {
        ep->ip.host->log(ep->ip.core, 1,
                         "a listening socket was ended from outside, "
                         "and is open again");
        return;
    }
    if (!ep->full_warned)
        ep->ip.host->log(ep->ip.core, 1, "callers have to wait: %s",
                         wf_ip_error_text(error));
    ep->full_warned = true;
    if (wf_ip_is_shortage(error) &&
        !wf_ip_retry_shortage(&ep->full_since, wf_tcp_now(ep)))
        turn_caller_away(ep, l, error);
    else
        wf_tcp_listen_pause(ep, true);
}

/* Accepts up to `most` callers. Returns their number. */
static int accept_some(weft_ep *ep, struct wf_tcp_listener *l, int most)
{
    for (int n = 0; n < most; n++) {
        struct sockaddr_storage sa;
        socklen_t len = sizeof sa;
        struct wf_ip_addr from;
        struct wf_tcp_conn *c;
        int fd;
        if (!make_room(ep)) {
            wf_tcp_listen_pause(ep, true); /* until a timer ends it, or room */
            return n;
        }
        fd = accept4(l->fd, (struct sockaddr *)&sa, &len,
                     SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            if (errno == EINTR || errno == ECONNABORTED)
                continue;
            if (errno != EAGAIN && errno != EWOULDBLOCK)
                handle_accept_error(ep, l, errno);
            else
                ep->full_since = 0;
            return n;
        }
        ep->full_since = 0;
        wf_ip_from_sockaddr((struct sockaddr *)&sa, &from);
        c = wf_tcp_conn_new(ep, fd, TCP_HELLO, &from);
        if (!c) {
            wf_tcp_send_shortage(fd, TCP_NO_MEMORY);
            close(fd);
            return n;
        }
        ep->pending++;
        wf_tcp_conn_set_interest(c, EPOLLIN);
        wf_tcp_conn_event(c, EPOLLIN); /* the hello is often here already */
    }
    return most;
}

int wf_tcp_poll_lobby(weft_ep *ep)
{
    struct epoll_event e[IP_BUNDLE];
    int n = epoll_wait(ep->lobby, e, IP_BUNDLE, 0), heard = 0;

    for (int i = 0; i < n && heard < IP_BUNDLE; i++) {
        struct wf_tcp_conn *c = e[i].data.ptr;
        if (*(enum wf_tcp_kind *)e[i].data.ptr == TCP_IS_LISTENER) {
            heard += accept_some(ep, e[i].data.ptr, IP_BUNDLE - heard);
        } else if (c->state != TCP_DEAD) {
            wf_tcp_conn_event(c, e[i].events);
            heard++;
        }
    }
    if (wf_ip_budget_spend(&ep->caller_budget, wf_tcp_now(ep), (unsigned)heard))
        epoll_ctl(ep->ip.epfd, EPOLL_CTL_DEL, ep->lobby, NULL);
    return heard;
}

void wf_tcp_lobby_timers(weft_ep *ep, uint64_t now)
{
    if (ep->accept_paused && ep->accept_paused_until <= now) {
        for (int i = 0; i < ep->ip.n; i++)
            if (ep->listener[i].fd < 0)
                listen_again(ep, &ep->listener[i]);
        wf_tcp_listen_pause(ep, false); /* accept_some() may pause again */
    }
    if (ep->caller_budget.pause && ep->caller_budget.pause <= now)
        open_lobby(ep);
}

uint64_t wf_tcp_lobby_deadline(const weft_ep *ep)
{
    uint64_t first = ep->caller_budget.pause;

    wf_ip_set_sooner(&first, ep->accept_paused ? ep->accept_paused_until : 0);
    return first;
}
