/* Accepting callers: see connect.c for the call.
 *
 * Out of descriptors: stop listening for a moment instead of spinning.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "shm.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    ACCEPT_PAUSE_MS = 50,
    CONNS_MOST = 1024 /* in the making; further callers stay in the backlog */
};

#define MS 1000000ull

int wf_shm_listen(weft_ep *ep)
{
    struct sockaddr_un sa;
    socklen_t len = wf_shm_name(&ep->address, &sa);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    ep->listener = (struct shm_watch){SHM_LISTENER, fd};
    if (bind(fd, (struct sockaddr *)&sa, len) != 0 || listen(fd, 4096) != 0)
        return errno;
    return wf_shm_watch(ep, &ep->listener, EPOLLIN);
}

void wf_shm_pause_accept(weft_ep *ep, const char *why)
{
    epoll_ctl(ep->epoll, EPOLL_CTL_DEL, ep->listener.fd, NULL);
    if (ep->accept_at == 0)
        ep->host->log(ep->core, 1, "shm: callers must wait: %s", why);
    ep->accept_at = ep->host->now_ns(ep->core) + ACCEPT_PAUSE_MS * MS;
}

void wf_shm_resume_accept(weft_ep *ep)
{
    if (ep->accept_at && ep->host->now_ns(ep->core) >= ep->accept_at &&
        wf_shm_watch(ep, &ep->listener, EPOLLIN) == 0) {
        ep->accept_at = 0;
        wf_shm_ask_again(ep);
    }
}

int wf_shm_accept(weft_ep *ep)
{
    for (int n = 0;; n++) {
        if (ep->conns_made >= CONNS_MOST) {
            wf_shm_pause_accept(ep, "too many connections in the making");
            return n;
        }
        int fd = accept4(ep->listener.fd, NULL, NULL,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
                wf_shm_pause_accept(ep, strerror(errno));
            if (errno != EINTR && errno != ECONNABORTED)
                return n;
            continue;
        }
        if (!wf_shm_same_user(fd)) {
            ep->host->log(ep->core, 1,
                          "shm: refused a caller that runs as another user");
            close(fd);
        } else if (!wf_shm_conn_new(ep, fd, false)) {
            close(fd);
        }
    }
}
