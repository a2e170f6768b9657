/* This file listens and dials for --check-net: see probe.h. A process that
 * dials must receive the job's name and the rank that it meant, because the
 * same address may be on many hosts.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"

enum { DIAL_MS = 2000 };

/* ---- listening --------------------------------------------------------- */

static int bind_port(int family, int port)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
                              .sin6_port = htons((uint16_t)port)};
    struct sockaddr_in v4 = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port)};
    const void *at = family == AF_INET6 ? (const void *)&v6 : (const void *)&v4;
    socklen_t size = family == AF_INET6 ? sizeof v6 : sizeof v4;
    int on = 1, off = 0, error;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, at, size) == 0 && listen(fd, 1024) == 0)
        return fd;
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* Listen on one socket for both address families, where both exist. */
static int listen_on(struct probe *p, int port)
{
    struct sockaddr_in6 at = {.sin6_family = AF_INET6};
    socklen_t size = sizeof at;
    int fd = bind_port(AF_INET6, port);

    if (fd < 0 && errno != EADDRINUSE && errno != EACCES)
        fd = bind_port(AF_INET, port);
    if (fd < 0 || getsockname(fd, (struct sockaddr *)&at, &size) < 0) {
        fprintf(stderr, "mpirun: --check-net: host %s cannot listen on port "
                "%d: %s\n", p->own.name, port, strerror(errno));
        return -1;
    }
    p->listening[p->own.port_count] = (struct pollfd){fd, POLLIN, 0};
    /* sin_port and sin6_port are at the same place */
    p->own.ports[p->own.port_count++] = ntohs(at.sin6_port);
    return 0;
}

static void take_address(struct probe_host *h, const struct ifaddrs *i)
{
    const struct sockaddr *a = i->ifa_addr;
    const void *bytes;

    if (!a || h->address_count == PROBE_ADDRESSES || !(i->ifa_flags & IFF_UP) ||
        (i->ifa_flags & IFF_LOOPBACK))
        return;
    if (a->sa_family == AF_INET)
        bytes = &((const struct sockaddr_in *)(const void *)a)->sin_addr;
    else if (a->sa_family == AF_INET6)
        bytes = &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
    else
        return;
    if (a->sa_family == AF_INET6 &&
        IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)bytes))
        return;
    (void)inet_ntop(a->sa_family, bytes, h->addresses[h->address_count++],
                    INET6_ADDRSTRLEN);
}

int wf_probe_listen(struct probe *p, const char *ports)
{
    struct ifaddrs *all = NULL;
    const char *at = ports;

    (void)gethostname(p->own.name, sizeof p->own.name - 1);
    while (*at && p->own.port_count < PROBE_PORTS) {
        char *end;
        long first = strtol(at, &end, 10), last = first;
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        for (; first <= last && p->own.port_count < PROBE_PORTS; first++)
            if (listen_on(p, (int)first) < 0)
                return -1;
        at = *end == ',' ? end + 1 : "";
    }
    if (getifaddrs(&all) == 0) {
        for (const struct ifaddrs *i = all; i; i = i->ifa_next)
            take_address(&p->own, i);
        freeifaddrs(all);
    }
    return 0;
}

/* ---- answering --------------------------------------------------------- */

static int write_token(const struct probe *p, int rank, char *text, size_t size)
{
    return snprintf(text, size, "weft-net %s %d\n", p->job, rank);
}

static void answer_caller(struct probe *p, int listener)
{
    char text[128];
    int n = write_token(p, p->rank, text, sizeof text);
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return;
    (void)send(fd, text, (size_t)n, MSG_NOSIGNAL);
    (void)shutdown(fd, SHUT_WR);
    close(fd);
}

/* Wait once, also for `fd`; returns its events, 0 when the time is over. */
static short wait_and_answer(struct probe *p, int fd, short events, int ms)
{
    struct pollfd all[PROBE_PORTS + 1];
    int n = p->own.port_count;

    memcpy(all, p->listening, (size_t)n * sizeof *all);
    all[n] = (struct pollfd){fd, events, 0};
    if (poll(all, (nfds_t)n + 1, ms) <= 0)
        return 0;
    for (int i = 0; i < n; i++)
        if (all[i].revents)
            answer_caller(p, all[i].fd);
    return all[n].revents;
}

void wf_probe_serve(struct probe *p, int fd)
{
    while (!wait_and_answer(p, fd, POLLIN, 1000))
        ;
}

/* ---- dialling ---------------------------------------------------------- */

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int open_to(const char *address, int port)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
                              .sin6_port = htons((uint16_t)port)};
    struct sockaddr_in v4 = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port)};
    bool is6 = inet_pton(AF_INET6, address, &v6.sin6_addr) == 1;
    int fd, error;

    if (!is6 && inet_pton(AF_INET, address, &v4.sin_addr) != 1) {
        errno = EINVAL;
        return -1;
    }
    fd = socket(is6 ? AF_INET6 : AF_INET,
                SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 ||
        connect(fd, is6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4,
                is6 ? sizeof v6 : sizeof v4) == 0 || errno == EINPROGRESS)
        return fd;
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

static enum probe_result result_of(int error)
{
    return error == ECONNREFUSED ? PROBE_REFUSED
           : error == ETIMEDOUT  ? PROBE_TIMEOUT
                                 : PROBE_UNREACHABLE;
}

static enum probe_result listen_to(struct probe *p, int fd, int rank)
{
    char want[128], got[128];
    size_t n = (size_t)write_token(p, rank, want, sizeof want), have = 0;
    int64_t end = now_ms() + DIAL_MS;
    int error = 0;
    socklen_t size = sizeof error;

    while (!wait_and_answer(p, fd, POLLOUT, 50))
        if (now_ms() >= end)
            return PROBE_TIMEOUT;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error)
        return result_of(error);
    while (have < n && now_ms() < end) {
        ssize_t r;
        if (!wait_and_answer(p, fd, POLLIN, 50))
            continue;
        r = recv(fd, got + have, n - have, 0);
        if (r <= 0)
            break;
        have += (size_t)r;
    }
    return have == n && memcmp(got, want, n) == 0 ? PROBE_OPEN : PROBE_STRANGER;
}

enum probe_result wf_probe_dial(struct probe *p, int rank, const char *address,
                                int port)
{
    int fd = open_to(address, port);
    enum probe_result r;

    if (fd < 0)
        return result_of(errno);
    r = listen_to(p, fd, rank);
    close(fd);
    return r;
}
