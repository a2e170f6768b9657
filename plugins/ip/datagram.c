/* Sends and receives datagrams, and reads the errors that the kernel reports
 * about them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* SO_RCVBUFFORCE */
#include <errno.h>
#include <time.h> /* linux/errqueue.h lacks it */

#include <linux/errqueue.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "datagram.h"

enum { ATTEMPTS = 3 };

bool wf_ip_is_same_path(const struct wf_ip_path *a, const struct wf_ip_path *b)
{
    return a->to_len == b->to_len && memcmp(&a->to, &b->to, a->to_len) == 0;
}

uint32_t wf_ip_mtu(int fd, const char *interface)
{
    struct ifreq r;

    memset(&r, 0, sizeof r);
    snprintf(r.ifr_name, sizeof r.ifr_name, "%s", interface);
    return ioctl(fd, SIOCGIFMTU, &r) == 0 && r.ifr_mtu > 0 ? (uint32_t)r.ifr_mtu
                                                           : 1500;
}

void wf_ip_datagram_tune(int fd, int family, size_t room)
{
    int on = 1, dont_fragment = IP_PMTUDISC_DO, n = (int)room;

    if (family == 6) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof on);
        setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &dont_fragment,
                   sizeof dont_fragment);
    } else {
        setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof on);
        setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &dont_fragment,
                   sizeof dont_fragment);
    }
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &n, sizeof n) < 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &n, sizeof n);
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &n, sizeof n) < 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &n, sizeof n);
}

bool wf_ip_datagram_send(int fd, const struct wf_ip_path *path,
                        const struct iovec *v, int n, bool *errors)
{
    struct msghdr m = {.msg_name = (void *)(uintptr_t)&path->to,
                       .msg_namelen = path->to_len,
                       .msg_iov = (struct iovec *)(uintptr_t)v,
                       .msg_iovlen = (size_t)n};

    for (int i = 0; i < ATTEMPTS; i++) {
        ssize_t rc = n == 1 ? sendto(fd, v->iov_base, v->iov_len,
                                     MSG_DONTWAIT | MSG_NOSIGNAL, m.msg_name,
                                     m.msg_namelen)
                            : sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (rc >= 0)
            return true;
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return false;
        if (errno == EMSGSIZE)
            return true; /* counts as lost */
        *errors = true;
    }
    return true;
}

ssize_t wf_ip_datagram_receive(int fd, void *buf, size_t room,
                           struct wf_ip_path *from)
{
    struct wf_ip_addr who;
    ssize_t n;

    do {
        from->to_len = sizeof from->to;
        n = recvfrom(fd, buf, room, MSG_DONTWAIT, (struct sockaddr *)&from->to,
                     &from->to_len);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -1;
    wf_ip_from_sockaddr((struct sockaddr *)&from->to, &who);
    from->to_len = wf_ip_to_sockaddr(&who, &from->to);
    return n;
}

/* Returns the errno in a message of the error queue, or 0. */
static int error_of(struct msghdr *m)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
        if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
            (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR)) {
            struct sock_extended_err e;
            memcpy(&e, CMSG_DATA(c), sizeof e);
            return (int)e.ee_errno;
        }
    return 0;
}

int wf_ip_datagram_error(int fd, struct wf_ip_path *to)
{
    for (;;) {
        uint8_t data[64], control[512];
        struct iovec v = {.iov_base = data, .iov_len = sizeof data};
        struct msghdr m = {.msg_name = &to->to,
                           .msg_namelen = sizeof to->to,
                           .msg_iov = &v,
                           .msg_iovlen = 1,
                           .msg_control = control,
                           .msg_controllen = sizeof control};
        struct wf_ip_addr who;
        int error;

        if (recvmsg(fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
            return 0;
        error = error_of(&m);
        if (!error || wf_ip_from_sockaddr((struct sockaddr *)&to->to, &who) < 0)
            continue;
        to->to_len = wf_ip_to_sockaddr(&who, &to->to);
        return error;
    }
}
