/* The functions that every endpoint over IP needs: endpoint.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "peer.h"

/* ---- the common part ----------------------------------------------------- */

/* Returns the port that mpi.ini tells the others to call; else the port by the
 * option; else 0: any. */
static uint16_t own_port(const weft_open *o, int64_t option)
{
    uint16_t port = 0;

    if (WEFT_HAS(o, weft_open, listen))
        port = wf_ip_port_of(o->listen);
    if (!port && option)
        port = (uint16_t)(option + o->local_index);
    return port;
}

void wf_ip_init_endpoint(struct wf_ip_endpoint *here, const weft_open *o,
                         const struct wf_ip_transport *transport,
                         const char *wanted, int64_t port)
{
    here->host = o->host;
    here->core = o->core;
    here->transport = transport;
    here->me = o->loc_id;
    if (WEFT_HAS(o, weft_open, start_ns))
        here->start = o->start_ns;
    here->port = own_port(o, port);
    here->epfd = -1;
    here->wanted = wanted;
    here->automatic = strcmp(wanted, "auto") == 0;
    here->one_host =
        WEFT_HAS(o, weft_open, flags) && o->flags & WEFT_OPEN_ONE_HOST;
    here->planned = WEFT_HAS(o, weft_open, flags) && o->flags & WEFT_OPEN_PLAN;
    here->machine = wf_ip_machine_hash();
    here->due_last = &here->due;
}

void wf_ip_free_peers(struct wf_ip_endpoint *here)
{
    for (uint32_t i = 0; i < here->peers; i++)
        if (here->peer[i])
            here->transport->free_peer(here->peer[i]);
    free(here->peer);
    here->peer = NULL;
    here->peers = 0;
}

void wf_ip_close_endpoint(struct wf_ip_endpoint *here)
{
    if (here->epfd >= 0)
        close(here->epfd);
}

/* ---- sockets ------------------------------------------------------------- */

static void reuse_address(int fd)
{
    int on = 1;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
}

/* Binds to the port: connections that an earlier listener has left there do not
 * prevent it, nor will those of this one prevent the next
 * (wf_ip_reopen_socket). */
static int bind_and_listen(int fd, const struct sockaddr_storage *sa,
                           socklen_t n, const struct wf_ip_sockets *how)
{
    if (how->backlog && how->port)
        reuse_address(fd);
    if (bind(fd, (const struct sockaddr *)sa, n) < 0)
        return -1;
    if (!how->backlog)
        return 0;
    reuse_address(fd);
    return listen(fd, how->backlog);
}

static int bind_address(struct wf_ip_addr *a, const struct wf_ip_sockets *how,
                        int fd)
{
    struct sockaddr_storage sa;
    struct wf_ip_addr bound;
    socklen_t n;
    int on = 1;

    a->port = how->port;
    n = wf_ip_to_sockaddr(a, &sa);
    if (a->family == 6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (how->tune)
        how->tune(how->ctx, fd, a->family);
    if (bind_and_listen(fd, &sa, n, how) < 0)
        return WEFT_ESYS;
    n = sizeof sa;
    if (getsockname(fd, (struct sockaddr *)&sa, &n) < 0)
        return WEFT_ESYS;
    wf_ip_from_sockaddr((struct sockaddr *)&sa, &bound);
    a->port = bound.port;
    return WEFT_OK;
}

static int open_socket(const struct wf_ip_addr *a,
                       const struct wf_ip_sockets *how)
{
    return socket(a->family == 4 ? AF_INET : AF_INET6,
                  how->type | SOCK_CLOEXEC | SOCK_NONBLOCK, how->protocol);
}

static void set_port_shared(int fd, int on)
{
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
}

/* Replaces fd by a socket that asks by number for the port that the system
 * chose for fd. A datagram socket that is ended from outside (ss -K) keeps a
 * port that it asked for, and goes on working; it loses a port that the system
 * chose. Returns fd itself where that is impossible. */
static int rebind_to_chosen_port(const struct wf_ip_addr *a,
                                 const struct wf_ip_sockets *how, int fd)
{
    struct wf_ip_sockets exact = *how;
    struct wf_ip_addr at = *a;
    int firm = open_socket(a, how);

    if (firm < 0)
        return fd;
    exact.port = a->port;
    set_port_shared(fd, 1); /* only now, so that no other process has it, too */
    set_port_shared(firm, 1);
    if (bind_address(&at, &exact, firm) < 0) {
        close(firm);
        firm = fd;
    } else {
        close(fd);
    }
    set_port_shared(firm, 0);
    return firm;
}

static int open_bound_socket(struct wf_ip_addr *a,
                             const struct wf_ip_sockets *how)
{
    int fd = open_socket(a, how);

    if (fd >= 0 && bind_address(a, how, fd) < 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    if (fd >= 0 && how->type == SOCK_DGRAM && !how->port)
        fd = rebind_to_chosen_port(a, how, fd);
    return fd;
}

int wf_ip_reopen_socket(const struct wf_ip_addr *here,
                        const struct wf_ip_sockets *how)
{
    struct wf_ip_sockets exact = *how;
    struct wf_ip_addr at = *here;

    exact.port = here->port;
    return open_bound_socket(&at, &exact);
}

/* Leaves out use[i], for which no socket could be opened. */
static void drop_interface(struct wf_ip_endpoint *here, int i)
{
    here->n--;
    memmove(&here->use[i], &here->use[i + 1],
            (size_t)(here->n - i) * sizeof here->use[0]);
}

int wf_ip_open_epoll(const struct wf_ip_endpoint *here)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);

    if (fd < 0)
        here->host->log(here->core, 0, "no epoll to wait with: %s",
                        wf_ip_error_text(errno));
    return fd;
}

/* Closes the sockets that are open: the process lacks something that the other
 * addresses need, too. */
static void give_up_opening(struct wf_ip_endpoint *here,
                            const struct wf_ip_sockets *how, int *fd, int open,
                            int error)
{
    here->host->log(here->core, 0, "no socket to %s: %s", how->verb,
                    wf_ip_error_text(error));
    while (open > 0) {
        close(fd[--open]);
        fd[open] = -1;
    }
}

int wf_ip_open_sockets(struct wf_ip_endpoint *here,
                       const struct wf_ip_sockets *how, int *fd)
{
    char name[64] = "";
    int i = 0, error = 0;

    while (i < here->n) {
        struct wf_ip_interface *u = &here->use[i];
        fd[i] = open_bound_socket(&u->addr, how);
        if (fd[i] >= 0) {
            i++;
            continue;
        }
        error = errno;
        if (error == EMFILE || error == ENFILE || error == ENOMEM) {
            give_up_opening(here, how, fd, i, error);
            return error == ENOMEM ? WEFT_ENOMEM : WEFT_ESYS;
        }
        wf_ip_print_address(&u->addr, name, sizeof name);
        here->host->log(here->core, how->port ? 1 : 2, "cannot %s %s (%s): %s",
                        how->verb, name, u->name, wf_ip_error_text(error));
        drop_interface(here, i);
    }
    if (here->n > 0)
        return WEFT_OK;
    here->host->log(here->core, 0, "no address to %s; last: %s: %s%s",
                    how->verb, name, wf_ip_error_text(error),
                    error == EADDRINUSE ? "; choose another 'port' or port = 0"
                                        : "");
    return WEFT_ESYS;
}

/* ---- cost ---------------------------------------------------------------- */

static weft_cost cost_of(const struct wf_ip_costs *table, enum wf_ip_rank rank,
                         uint32_t mbs)
{
    weft_cost cost = {.size = sizeof cost,
                      .overhead_ns = table->overhead_ns};

    if (rank == IP_LOOPBACK) {
        cost.latency_ns = table->loopback_ns;
        cost.bandwidth_mbs = table->loopback_mbs;
        return cost;
    }
    cost.latency_ns = rank == IP_SUBNET ? table->subnet_ns : table->routed_ns;
    cost.bandwidth_mbs =
        (mbs ? mbs : table->usual_mbs) * table->link_percent / 100;
    return cost;
}

void wf_ip_describe_reach(const struct wf_ip_endpoint *here, weft_attr *a)
{
    bool loopback = wf_ip_is_loopback(&here->use[0].addr);

    a->caps = WEFT_CAP_LOCAL;
    if (!loopback)
        a->caps |= WEFT_CAP_REMOTE;
    a->cost = cost_of(&here->transport->costs,
                      loopback ? IP_LOOPBACK : IP_SUBNET, here->use[0].mbs);
}

int wf_ip_check_reach(weft_ep *ep, const void *addr, size_t len,
                      weft_cost *cost)
{
    const struct wf_ip_endpoint *here = (const struct wf_ip_endpoint *)ep;
    struct wf_ip_candidate c[IP_ADDRS_MAX];
    struct wf_ip_book book;
    int rc = wf_ip_unpack_book(addr, len, &book);

    if (rc < 0)
        return rc;
    if (wf_ip_find_candidates(here, &book, c) == 0) {
        char text[120];
        wf_ip_print_book(addr, len, text, sizeof text);
        here->host->log(here->core, 3, "no way from here to any of %s", text);
        return WEFT_EUNREACH;
    }
    if (cost)
        *cost = cost_of(&here->transport->costs,
                        book.machine == here->machine ? IP_LOOPBACK : c[0].rank,
                        c[0].local >= 0 ? here->use[c[0].local].mbs : 0);
    return WEFT_OK;
}

/* ---- other operations ---------------------------------------------------- */

int wf_ip_get_address(weft_ep *ep, void *buf, size_t *len)
{
    const struct wf_ip_endpoint *here = (const struct wf_ip_endpoint *)ep;
    struct wf_ip_book book = {.machine = here->machine, .n = here->n};

    for (int i = 0; i < here->n; i++)
        book.addr[i] = here->use[i].addr;
    return wf_ip_pack_book(&book, buf, len);
}

int wf_ip_get_event(weft_ep *ep, int *fd)
{
    *fd = ((const struct wf_ip_endpoint *)ep)->epfd;
    return WEFT_OK;
}

int wf_ip_read_counter(const struct wf_ip_counter *all, size_t n, int i,
                       const char **name, uint64_t *value)
{
    if (i < 0 || (size_t)i >= n)
        return WEFT_EINVAL;
    *name = all[i].name;
    *value = all[i].value;
    return WEFT_OK;
}
