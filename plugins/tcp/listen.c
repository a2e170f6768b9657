/* Which interfaces to use, and accepting callers on them.
 *
 * DESIGN  We listen on each chosen address, never on the wildcard. `auto`
 * takes what could carry a job between machines: up, with carrier, not
 * loopback, not point-to-point, not a bridge or veth of a container engine,
 * not link-local. When the core says that the whole job is on one host,
 * loopback is all there is.
 *
 * Callers are cheap to refuse: at most TCP_PENDING_MAX of them may be
 * unauthenticated; beyond that the oldest makes room once it had a fair
 * chance, and until then new ones wait in the kernel's backlog.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* accept4 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tcp.h"

enum { BACKLOG = 4096, ACCEPTS = 32, REPORT = 1024 };
#define FAIR_CHANCE_NS 50000000u

static const char *container_device(const char *name)
{
    static const char *const prefixes[] = {
        "docker", "virbr", "veth", "br-", "cni", "podman",  "lxcbr",
        "lxdbr",  "vnet",  "tun",  "tap", "wg",  "flannel", "cali"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return "virtual device of a container engine, hypervisor or VPN";
    return NULL;
}

/* Why `auto` leaves an address out, or NULL. */
static const char *unfit(const weft_ep *ep, const struct ifaddrs *ifa,
                         const struct wf_tcp_addr *a)
{
    if (ep->one_host)
        return wf_tcp_loopback(a) ? NULL : "the job is on one host";
    if (ifa->ifa_flags & IFF_LOOPBACK)
        return "loopback";
    if (!(ifa->ifa_flags & IFF_RUNNING))
        return "no carrier";
    if (ifa->ifa_flags & IFF_POINTOPOINT)
        return "point-to-point";
    return container_device(ifa->ifa_name);
}

static bool parse_net(const char *word, struct wf_tcp_addr *net)
{
    char ip[64];
    const char *slash = strchr(word, '/');
    size_t n = slash ? (size_t)(slash - word) : strlen(word);
    char *end;
    long bits;

    if (n >= sizeof ip)
        return false;
    memset(net, 0, sizeof *net);
    memcpy(ip, word, n);
    ip[n] = '\0';
    if (inet_pton(AF_INET, ip, net->ip) == 1)
        net->family = 4;
    else if (inet_pton(AF_INET6, ip, net->ip) == 1)
        net->family = 6;
    else
        return false;
    net->prefix = net->family == 4 ? 32 : 128;
    if (!slash)
        return true;
    bits = strtol(slash + 1, &end, 10);
    if (end == slash + 1 || *end || bits < 0 || bits > net->prefix)
        return false;
    net->prefix = (uint8_t)bits;
    return true;
}

/* Is it in the list of names, addresses and subnets of the option? */
static bool listed(const char *list, const char *name,
                   const struct wf_tcp_addr *a)
{
    char word[64];
    for (const char *p = list; *p;) {
        size_t n = strcspn(p, ", ");
        struct wf_tcp_addr net;
        if (n > 0 && n < sizeof word) {
            memcpy(word, p, n);
            word[n] = '\0';
            if (strcmp(word, name) == 0 ||
                (parse_net(word, &net) && wf_tcp_same_subnet(&net, a)))
                return true;
        }
        p += n;
        p += strspn(p, ", ");
    }
    return false;
}

static uint8_t prefix_of(const struct sockaddr *mask, int family)
{
    const uint8_t *p;
    int n, bits = 0;
    if (!mask)
        return family == 4 ? 32 : 128;
    if (family == 4) {
        p = (const uint8_t *)&((const struct sockaddr_in *)mask)->sin_addr;
        n = 4;
    } else {
        p = (const uint8_t *)&((const struct sockaddr_in6 *)mask)->sin6_addr;
        n = 16;
    }
    for (int i = 0; i < n; i++)
        bits += __builtin_popcount(p[i]);
    return (uint8_t)bits;
}

static uint32_t link_speed(const char *name)
{
    char path[80], text[16];
    ssize_t n;
    long mbit;
    int fd;
    snprintf(path, sizeof path, "/sys/class/net/%s/speed", name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    n = read(fd, text, sizeof text - 1); /* EINVAL where there is no speed */
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    mbit = strtol(text, NULL, 10); /* not scanf: 90 KB of a static program */
    return mbit > 0 && mbit <= INT32_MAX ? (uint32_t)mbit / 8 : 0;
}

static void take(weft_ep *ep, const struct ifaddrs *ifa,
                 const struct wf_tcp_addr *a)
{
    struct wf_tcp_listener *l = &ep->listener[ep->listeners++];
    memset(l, 0, sizeof *l);
    l->kind = TCP_IS_LISTENER;
    l->fd = -1;
    l->addr = *a;
    snprintf(l->ifname, sizeof l->ifname, "%s", ifa->ifa_name);
    l->mbs = link_speed(ifa->ifa_name);
}

/* One address: take it, or add the reason to the report. */
static void consider(weft_ep *ep, const struct ifaddrs *ifa, char *report)
{
    struct wf_tcp_addr a;
    const char *why;
    char ip[INET6_ADDRSTRLEN] = "?";
    size_t at = strlen(report);

    if (!ifa->ifa_addr || wf_tcp_from_sockaddr(ifa->ifa_addr, &a) < 0)
        return;
    a.prefix = prefix_of(ifa->ifa_netmask, a.family);
    if (ep->own_n < TCP_OWN_MAX)
        ep->own[ep->own_n++] = a;
    if (!(ifa->ifa_flags & IFF_UP))
        why = "down";
    else if (wf_tcp_link_local(&a))
        why = "link-local";
    else if (!ep->auto_if)
        why = listed(ep->cfg.interface, ifa->ifa_name, &a)
                  ? NULL
                  : "not in option 'interface'";
    else
        why = unfit(ep, ifa, &a);
    if (!why && ep->listeners == TCP_ADDRS_MAX)
        why = "enough others";
    if (!why) {
        take(ep, ifa, &a);
        return;
    }
    inet_ntop(a.family == 4 ? AF_INET : AF_INET6, a.ip, ip, sizeof ip);
    snprintf(report + at, REPORT - at, "%s%s %s: %s", at ? "; " : "",
             ifa->ifa_name, ip, why);
}

static int survey(weft_ep *ep, char *report)
{
    struct ifaddrs *all;
    report[0] = '\0';
    ep->own_n = 0;
    if (getifaddrs(&all) < 0) {
        snprintf(report, REPORT, "cannot list interfaces: %s", strerror(errno));
        return WEFT_ESYS;
    }
    for (struct ifaddrs *i = all; i; i = i->ifa_next)
        consider(ep, i, report);
    freeifaddrs(all);
    return WEFT_OK;
}

/* Fill ep->listener, without opening sockets. */
int wf_tcp_choose(weft_ep *ep)
{
    char report[REPORT];
    int rc = survey(ep, report);

    if (rc == WEFT_OK && ep->listeners == 0 && ep->auto_if && !ep->one_host) {
        ep->host->log(ep->core, 2,
                      "no interface leads to other machines (%s); using "
                      "loopback, which reaches this machine only",
                      report);
        ep->one_host = true;
        rc = survey(ep, report);
    }
    if (rc == WEFT_OK && ep->listeners == 0) {
        ep->host->log(ep->core, 0,
                      "no usable interface for interface = %s (%s)",
                      ep->cfg.interface, report);
        rc = WEFT_EUNREACH;
    }
    return rc;
}

static int open_listener(weft_ep *ep, struct wf_tcp_listener *l)
{
    struct sockaddr_storage sa;
    socklen_t n;
    int on = 1;

    l->addr.port = ep->port;
    n = wf_tcp_to_sockaddr(&l->addr, &sa);
    l->fd = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0)
        return WEFT_ESYS;
    if (ep->port)
        setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (l->addr.family == 6)
        setsockopt(l->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(l->fd, (struct sockaddr *)&sa, n) < 0 ||
        listen(l->fd, BACKLOG) < 0)
        return WEFT_ESYS;
    n = sizeof sa;
    if (getsockname(l->fd, (struct sockaddr *)&sa, &n) < 0)
        return WEFT_ESYS;
    l->addr.port =
        ntohs(l->addr.family == 4 ? ((struct sockaddr_in *)&sa)->sin_port
                                  : ((struct sockaddr_in6 *)&sa)->sin6_port);
    return WEFT_OK;
}

/* Open what was chosen; addresses that cannot be bound are left out unless
 * none is left. */
int wf_tcp_listen(weft_ep *ep)
{
    int kept = 0, error = 0;
    char name[64] = "";

    for (int i = 0; i < ep->listeners; i++) {
        struct wf_tcp_listener *l = &ep->listener[i];
        if (open_listener(ep, l) == WEFT_OK) {
            ep->listener[kept++] = *l;
            continue;
        }
        error = errno;
        wf_tcp_name(&l->addr, name, sizeof name);
        ep->host->log(ep->core, ep->port ? 1 : 2,
                      "cannot listen on %s (%s): %s", name, l->ifname,
                      strerror(error));
        if (l->fd >= 0)
            close(l->fd);
    }
    ep->listeners = kept;
    if (kept == 0) {
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
    for (int i = 0; i < ep->listeners; i++) {
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
        struct wf_tcp_addr from;
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
        wf_tcp_from_sockaddr((struct sockaddr *)&sa, &from);
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
