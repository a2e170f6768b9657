/* Opening and closing ports, and dialling them.
 *
 * A port listens on a socket of its own, so that closing it turns callers away.
 * Its name has the addresses of all interfaces; where the job's transports
 * listen on loopback only, so does the port.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "meet/port.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <unistd.h>

#include "boot/auth_inside.h"
#include "object/error.h"
#include "protocol/endpoints.h"
#include "report/error.h"

/* ---- opening ------------------------------------------------------------- */

static int bind_any(int family, bool loopback)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int no = 0;
    bool four = family == AF_INET;

    if (fd < 0)
        return -1;
    v4.sin_addr.s_addr = htonl(loopback ? INADDR_LOOPBACK : INADDR_ANY);
    if (!four)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    if (bind(fd, four ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6,
             four ? sizeof v4 : sizeof v6) == 0)
        return fd;
    close(fd);
    return -1;
}

static void set_port(struct sockaddr_storage *at, in_port_t port)
{
    if (at->ss_family == AF_INET)
        ((struct sockaddr_in *)(void *)at)->sin_port = port;
    else
        ((struct sockaddr_in6 *)(void *)at)->sin6_port = port;
}

static void add_address(struct wf_port_name *is, const struct sockaddr *a,
                        in_port_t port)
{
    struct sockaddr_storage *at = &is->at[is->n];

    if (is->n == WF_PORT_ADDRESSES)
        return;
    memset(at, 0, sizeof *at);
    memcpy(at, a,
           a->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                   : sizeof(struct sockaddr_in6));
    set_port(at, port);
    is->n++;
}

static void add_loopback(struct wf_port_name *is, in_port_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET};

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    add_address(is, (struct sockaddr *)&a, port);
}

static bool is_usable(const struct ifaddrs *i, bool six)
{
    const struct sockaddr_in6 *v6 = (const void *)i->ifa_addr;

    if (!i->ifa_addr || !(i->ifa_flags & IFF_UP) || i->ifa_flags & IFF_LOOPBACK)
        return false;
    return i->ifa_addr->sa_family == AF_INET ||
           (six && i->ifa_addr->sa_family == AF_INET6 &&
            !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr));
}

static void add_interfaces(struct wf_port_name *is, in_port_t port, bool six)
{
    struct ifaddrs *all;

    if (getifaddrs(&all) != 0)
        return;
    for (struct ifaddrs *i = all; i; i = i->ifa_next)
        if (is_usable(i, six))
            add_address(is, i->ifa_addr, port);
    freeifaddrs(all);
}

/* Bind the socket, and note the addresses by which it is reached. */
static bool bind_port(struct wf_instance *wf, struct wf_port *port)
{
    bool loopback = wf_endpoints_are_local(wf->rank);
    struct sockaddr_storage at;
    socklen_t n = sizeof at;
    in_port_t number;

    port->fd = loopback ? -1 : bind_any(AF_INET6, false);
    if (port->fd < 0)
        port->fd = bind_any(AF_INET, loopback);
    if (port->fd < 0 || getsockname(port->fd, (void *)&at, &n) != 0)
        return false;
    number = at.ss_family == AF_INET
                 ? ((struct sockaddr_in *)(void *)&at)->sin_port
                 : ((struct sockaddr_in6 *)(void *)&at)->sin6_port;
    port->is.node = wf->rank->node;
    add_loopback(&port->is, number);
    if (!loopback)
        add_interfaces(&port->is, number, at.ss_family == AF_INET6);
    return true;
}

int wf_port_make(struct wf_meet_state *s, char name[MPI_MAX_PORT_NAME])
{
    struct wf_port *port = calloc(1, sizeof *port);

    if (!port)
        return wf_error(MPI_ERR_NO_MEM, "no memory for a port");
    wf_list_init(&port->link);
    port->fd = -1;
    if (wf_auth_fill_random(port->is.token, WF_TOKEN) == WEFT_OK &&
        bind_port(s->wf, port)) {
        wf_port_name_print(&port->is, port->name);
        if (wf_port_begin(s, port)) {
            memcpy(name, port->name, MPI_MAX_PORT_NAME);
            return MPI_SUCCESS;
        }
    }
    wf_error(MPI_ERR_OTHER, "a port cannot be opened: %s", strerror(errno));
    if (port->fd >= 0)
        close(port->fd);
    free(port);
    return MPI_ERR_OTHER;
}

int wf_port_fail_unknown(const char *name)
{
    char shown[WF_PORT_SHOWN];

    wf_port_name_show(name, shown);
    return wf_error(MPI_ERR_PORT, "this process has no open port '%s'", shown);
}

/* ---- dialling ------------------------------------------------------------ */

static bool is_loopback(const struct sockaddr_storage *at)
{
    const struct sockaddr_in *v4 = (const void *)at;
    const struct sockaddr_in6 *v6 = (const void *)at;

    return at->ss_family == AF_INET ? ntohl(v4->sin_addr.s_addr) >> 24 == 127
                                    : IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

/* Begin to call an address. NULL: it cannot be called. */
static struct wf_meet_link *call_address(struct wf_meet_state *s,
                                         const struct wf_port_name *is,
                                         const struct sockaddr_storage *at,
                                         uint64_t deadline)
{
    int fd =
        socket(at->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int yes = 1;
    socklen_t n = at->ss_family == AF_INET ? sizeof(struct sockaddr_in)
                                           : sizeof(struct sockaddr_in6);
    struct wf_meet_link *l;

    if (fd < 0)
        return NULL;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    l = connect(fd, (const void *)at, n) == 0 || errno == EINPROGRESS
            ? wf_link_create(fd, is->token, WF_LINK_CALLING)
            : NULL;
    if (!l) {
        close(fd);
        return NULL;
    }
    l->dialled = true;
    l->until = wf_now(s->wf) + WF_LINK_HANDSHAKE_NS;
    if (l->until > deadline)
        l->until = deadline;
    return wf_meet_add_link(s, l) ? l : NULL;
}

/* Says why a port could not be reached. The last failure is no help where the
 * port is of another host, and listens on loopback there. */
static const char *choose_cause(const struct wf_port_name *is, bool here,
                                const char *last)
{
    bool loopback = !here;

    for (int i = 0; i < is->n; i++)
        loopback = loopback && is_loopback(&is->at[i]);
    return loopback ? "it can be reached on its own host only; core.meet = "
                      "network in the job that opens it lets jobs of other "
                      "hosts connect"
                    : last;
}

/* Call one address after the other: those of loopback first where they are of
 * this host, else last. */
struct wf_meet_link *wf_port_dial(struct wf_meet_state *s,
                                  const struct wf_port_name *is,
                                  uint64_t deadline, const char **why)
{
    bool here = is->node == s->wf->rank->node;

    *why = "none of its addresses can be reached";
    for (int i = 0; i < 2 * is->n; i++) {
        const struct sockaddr_storage *at = &is->at[i % is->n];
        struct wf_meet_link *l = NULL;

        if (is_loopback(at) == (here == (i < is->n)) &&
            wf_now(s->wf) < deadline)
            l = call_address(s, is, at, deadline);
        if (!l)
            continue;
        wf_meet_serve_link(s, l);
        wf_meet_wait(s, wf_link_is_decided, l, deadline);
        if (l->state == WF_LINK_OPEN)
            return l;
        *why = l->state == WF_LINK_OVER ? l->why : "nobody answers there";
        wf_meet_end_link(s, l);
    }
    *why = choose_cause(is, here, *why);
    return NULL;
}
