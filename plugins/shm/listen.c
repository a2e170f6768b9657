/* Accepting callers. connect.c describes the call.
 *
 * A process that lacks memory or descriptors stops listening for a moment,
 * instead of spinning. Callers are told what is lacking, and call again while
 * their limit allows it. For that there is a spare descriptor, which is closed
 * so that a caller can be accepted. If even that fails for SHM_SHORTAGE_MAX_MS,
 * all callers are disconnected.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "shm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    ACCEPT_PAUSE_MS = 50,
    CONNS_MAX = 1024 /* in the making; further callers stay in the backlog */
};

static void open_spare(weft_ep *ep)
{
    if (ep->spare < 0) /* it needs no file: there may be no /dev */
        ep->spare = eventfd(0, EFD_CLOEXEC);
}

int wf_shm_listen(weft_ep *ep)
{
    struct sockaddr_un sa;
    socklen_t len = wf_shm_socket_name(&ep->address, &sa);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    ep->listener = (struct shm_watch){SHM_LISTENER, fd};
    if (bind(fd, (struct sockaddr *)&sa, len) != 0 || listen(fd, 4096) != 0)
        return errno;
    open_spare(ep);
    return ep->spare < 0 ? errno
                         : wf_shm_watch_socket(ep, &ep->listener, EPOLLIN);
}

void wf_shm_stop_listening(weft_ep *ep)
{
    if (ep->listener.fd >= 0)
        close(ep->listener.fd);
    if (ep->spare >= 0)
        close(ep->spare);
    ep->listener.fd = ep->spare = -1;
}

void wf_shm_pause_accept(weft_ep *ep, const char *why)
{
    epoll_ctl(ep->epoll, EPOLL_CTL_DEL, ep->listener.fd, NULL);
    if (!ep->shortage_logged)
        ep->host->log(ep->core, 1, "shm: callers must wait: %s", why);
    ep->shortage_logged = true;
    ep->accept_at = ep->host->now_ns(ep->core) + ACCEPT_PAUSE_MS * SHM_MS;
}

/* Watches the listening socket again, or opens a new one. Returns false if that
 * fails. */
static bool restart_listening(weft_ep *ep)
{
    if (ep->listener.fd >= 0)
        return wf_shm_watch_socket(ep, &ep->listener, EPOLLIN) == 0;
    if (wf_shm_listen(ep) == 0)
        return true;
    if (ep->listener.fd >= 0)
        close(ep->listener.fd);
    ep->listener.fd = -1;
    return false;
}

void wf_shm_resume_accept(weft_ep *ep)
{
    if (ep->accept_at && ep->host->now_ns(ep->core) >= ep->accept_at &&
        restart_listening(ep)) {
        ep->accept_at = 0;
        wf_shm_request_ready(ep);
    }
}

static int accept_caller(weft_ep *ep)
{
    return accept4(ep->listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/* Disconnects all waiting callers by closing the listening socket, because no
 * refusal can be sent to them. Later callers find a new socket. */
static void drop_callers(weft_ep *ep)
{
    close(ep->listener.fd);
    ep->listener.fd = -1;
}

/* Says whether no caller could be accepted for SHM_SHORTAGE_MAX_MS, not even to
 * be told why. */
static bool is_hopeless(weft_ep *ep)
{
    uint64_t now = ep->host->now_ns(ep->core);

    if (!ep->full_since)
        ep->full_since = now;
    return now - ep->full_since >= SHM_SHORTAGE_MAX_MS * SHM_MS;
}

/* Refuses all waiting callers, with the reason. */
static void turn_callers_away(weft_ep *ep, int err)
{
    struct shm_maker maker;
    char why[128];
    int fd, n = 0;

    snprintf(why, sizeof why, "%s%s", strerror(err), wf_shm_remedy_of(err));
    if (ep->spare >= 0)
        close(ep->spare);
    ep->spare = -1;
    for (; (fd = accept_caller(ep)) >= 0; n++) {
        if (wf_shm_same_user(fd, &maker))
            wf_shm_refuse_on(fd, wf_shm_shortage_code(err), why);
        close(fd);
    }
    if (n > 0)
        ep->full_since = 0;
    else if (errno != EAGAIN && is_hopeless(ep))
        drop_callers(ep);
    open_spare(ep);
    wf_shm_pause_accept(ep, strerror(err));
}

int wf_shm_accept(weft_ep *ep)
{
    for (int n = 0;; n++) {
        if (ep->conns_made >= CONNS_MAX) {
            wf_shm_pause_accept(ep, "too many connections in the making");
            return n;
        }
        int fd = accept_caller(ep);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
            turn_callers_away(ep, errno);
            return n;
        }
        if (fd < 0) {
            if (errno != EINTR && errno != ECONNABORTED)
                return n;
            continue;
        }
        struct shm_maker maker;
        if (!wf_shm_same_user(fd, &maker)) {
            ep->refused_user = maker.user;
            ep->host->log(ep->core, 1,
                          "shm: refused a caller of user %u, because this "
                          "process is of user %u",
                          maker.user, geteuid());
            close(fd);
        } else if (!wf_shm_conn_new(ep, fd, false)) {
            wf_shm_refuse_on(fd, SHM_NO_MEMORY, strerror(ENOMEM));
            close(fd);
            wf_shm_pause_accept(ep, strerror(ENOMEM));
            return n;
        } else {
            ep->shortage_logged = false;
            ep->full_since = 0;
        }
    }
}
