/* Sockets of the kernel's SCTP; kernel.h.
 *
 * DESIGN  One-to-one sockets, which are like those of TCP: a listener, and one
 * descriptor per association, so that epoll tells which has something. All of
 * them are bound to the addresses that the transport uses, and call all of the
 * peer's at once: which path carries the packets is the kernel's business.
 *
 * TIMES  Those of stack.c: acknowledgements after 5 ms or two packets,
 * retransmission after 20 to 250 ms. A path is given up after two of them
 * without an answer, the association after SILENCE: other than in user space it
 * is the kernel that answers, also for a process that computes, so who is silent
 * for so long is a machine without power or without a cable.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* accept4, SO_SNDBUFFORCE */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h> /* linux/sctp.h lacks it */
#include <unistd.h>

#include <linux/sctp.h>

#include "kernel.h"

/* Younger than some headers. */
#ifndef SCTP_INTERLEAVING_SUPPORTED
#define SCTP_INTERLEAVING_SUPPORTED 125
#endif
#ifndef SCTP_STREAM_SCHEDULER
#define SCTP_STREAM_SCHEDULER       123
#define SCTP_STREAM_SCHEDULER_VALUE 124
struct sctp_stream_value {
    sctp_assoc_t assoc_id;
    uint16_t stream_id;
    uint16_t stream_value;
};
#endif

enum {
    MS = 1000000,
    SILENCE_MS = 30000,
    PATH_ATTEMPTS = 2,
    MINUTE_MS = 60000,
    BACKLOG = 256,
    BY_PRIORITY = 1 /* enum sctp_sched_type */
};

static int set(int fd, int option, const void *v, socklen_t n)
{
    return setsockopt(fd, IPPROTO_SCTP, option, v, n);
}

static int set_int(int fd, int option, int v)
{
    return set(fd, option, &v, sizeof v);
}

/* ---- options ------------------------------------------------------------- */

/* SCTP starts with more than the limit for those who ask for more. */
static bool may_grow(int fd, int want)
{
    FILE *f = fopen("/proc/sys/net/core/rmem_max", "re");
    int most = 0, now = 0;
    socklen_t n = sizeof now;

    if (f && fscanf(f, "%d", &most) != 1)
        most = 0;
    if (f)
        fclose(f);
    getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &now, &n);
    return (want < most ? want : most) > now / 2;
}

static void set_buffers(int fd, const struct wf_sctp_kernel_setup *s)
{
    int in = (int)s->window, out = (int)s->room;

    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &in, sizeof in) < 0 &&
        may_grow(fd, in))
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &in, sizeof in);
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &out, sizeof out) < 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &out, sizeof out);
}

static void set_paths(int fd, const struct wf_sctp_kernel_setup *s)
{
    struct sctp_paddrparams path = {.spp_hbinterval =
                                        (uint32_t)(s->heartbeat / MS),
                                    .spp_pathmaxrxt = PATH_ATTEMPTS,
                                    .spp_flags = SPP_HB_ENABLE};
    struct sctp_paddrparams packet = {.spp_pathmtu = s->packet,
                                      .spp_flags = SPP_PMTUD_DISABLE};

    set(fd, SCTP_PEER_ADDR_PARAMS, &path, sizeof path);
    if (s->packet)
        set(fd, SCTP_PEER_ADDR_PARAMS, &packet, sizeof packet);
}

/* What an older kernel lacks, or its administrator has switched off, is done
 * without. */
static void set_wishes(int fd, const struct wf_sctp_kernel_setup *s)
{
    struct sctp_rtoinfo rto = {.srto_initial = SCTP_RTO_INITIAL_MS,
                               .srto_max = SCTP_RTO_MAX_MS,
                               .srto_min = SCTP_RTO_MIN_MS};
    struct sctp_assocparams silence = {.sasoc_asocmaxrxt =
                                           SILENCE_MS / SCTP_RTO_MAX_MS};
    struct sctp_sack_info sack = {.sack_delay = SCTP_SACK_MS,
                                  .sack_freq = SCTP_SACK_PACKETS};
    struct sctp_assoc_value on = {.assoc_value = 1};

    set_int(fd, SCTP_I_WANT_MAPPED_V4_ADDR, 0);
    set(fd, SCTP_RTOINFO, &rto, sizeof rto);
    set(fd, SCTP_ASSOCINFO, &silence, sizeof silence);
    set(fd, SCTP_DELAYED_SACK, &sack, sizeof sack);
    set_paths(fd, s);
    set_buffers(fd, s);
    if (set_int(fd, SCTP_FRAGMENT_INTERLEAVE, 2) == 0)
        set(fd, SCTP_INTERLEAVING_SUPPORTED, &on, sizeof on);
}

static int set_needs(int fd)
{
    struct sctp_initmsg init = {.sinit_num_ostreams = SCTP_STREAMS,
                                .sinit_max_instreams = SCTP_STREAMS,
                                .sinit_max_attempts =
                                    MINUTE_MS / SCTP_RTO_MAX_MS,
                                .sinit_max_init_timeo = SCTP_RTO_MAX_MS};
    struct sctp_event_subscribe news = {.sctp_association_event = 1,
                                        .sctp_address_event = 1,
                                        .sctp_partial_delivery_event = 1};

    return set_int(fd, SCTP_NODELAY, 1) < 0 ||
                   set_int(fd, SCTP_RECVRCVINFO, 1) < 0 ||
                   set(fd, SCTP_INITMSG, &init, sizeof init) < 0 ||
                   set(fd, SCTP_EVENTS, &news, sizeof news) < 0
               ? -1
               : 0;
}

/* ---- sockets ------------------------------------------------------------- */

static int family(const struct wf_ip_place *ip)
{
    for (int i = 0; i < ip->n; i++)
        if (ip->use[i].addr.family == 6)
            return AF_INET6; /* takes the others as well */
    return AF_INET;
}

/* Those that cannot be had are left out, unless none is left. */
static int bind_all(int fd, const struct wf_ip_place *ip, uint16_t port)
{
    int bound = 0;

    for (int i = 0; i < ip->n; i++) {
        struct wf_ip_addr a = ip->use[i].addr;
        struct sockaddr_storage sa;
        socklen_t n;
        a.port = port;
        n = wf_ip_to_sockaddr(&a, &sa);
        if (bound ? set(fd, SCTP_SOCKOPT_BINDX_ADD, &sa, n) == 0
                  : bind(fd, (struct sockaddr *)&sa, n) == 0)
            bound++;
        else if (errno == EADDRINUSE)
            return -1;
    }
    return bound ? 0 : -1;
}

static int drop(int fd)
{
    int error = errno;

    close(fd);
    errno = error;
    return -1;
}

static int make(const struct wf_sctp_kernel_setup *s, uint16_t port)
{
    int off = 0,
        fd = socket(family(s->ip), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    IPPROTO_SCTP);

    if (fd < 0)
        return -1;
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (set_needs(fd) < 0)
        return drop(fd);
    set_wishes(fd, s);
    return bind_all(fd, s->ip, port) < 0 ? drop(fd) : fd;
}

bool wf_sctp_kernel_here(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_SCTP);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

int wf_sctp_kernel_listen(const struct wf_sctp_kernel_setup *s, uint16_t *port)
{
    struct sockaddr_storage sa;
    struct wf_ip_addr own;
    socklen_t n = sizeof sa;
    int fd = make(s, *port);

    if (fd < 0)
        return -1;
    if (listen(fd, BACKLOG) < 0 ||
        getsockname(fd, (struct sockaddr *)&sa, &n) < 0 ||
        wf_ip_from_sockaddr((struct sockaddr *)&sa, &own) < 0)
        return drop(fd);
    *port = own.port;
    return fd;
}

int wf_sctp_kernel_connect(const struct wf_sctp_kernel_setup *s,
                           const struct wf_ip_addr *to, int n)
{
    uint8_t packed[IP_ADDRS_MAX * sizeof(struct sockaddr_in6)];
    size_t bytes = 0;
    int fd = make(s, 0);

    if (fd < 0)
        return -1;
    for (int i = 0; i < n && i < IP_ADDRS_MAX; i++) {
        struct sockaddr_storage sa;
        socklen_t len = wf_ip_to_sockaddr(&to[i], &sa);
        memcpy(packed + bytes, &sa, len);
        bytes += len;
    }
    if (set(fd, SCTP_SOCKOPT_CONNECTX, packed, (socklen_t)bytes) < 0 &&
        errno != EINPROGRESS)
        return drop(fd);
    return fd;
}

int wf_sctp_kernel_accept(int listener, struct wf_ip_addr *from)
{
    struct sockaddr_storage sa;
    socklen_t n = sizeof sa;
    int fd = accept4(listener, (struct sockaddr *)&sa, &n,
                     SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd >= 0 && wf_ip_from_sockaddr((struct sockaddr *)&sa, from) < 0)
        memset(from, 0, sizeof *from); /* it has gone already */
    return fd;
}

void wf_sctp_kernel_abort(int fd)
{
    struct linger abrupt = {.l_onoff = 1};

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &abrupt, sizeof abrupt);
    close(fd);
}

/* Headers before payload: else payload would arrive that nobody announced. */
void wf_sctp_kernel_rank(struct wf_sctp_sock *s)
{
    struct sctp_assoc_value schedule = {.assoc_value = BY_PRIORITY};

    if (set(s->fd, SCTP_STREAM_SCHEDULER, &schedule, sizeof schedule) < 0)
        return;
    for (int i = SCTP_HEADERS; i < SCTP_STREAMS; i++) {
        struct sctp_stream_value v = {.stream_id = (uint16_t)i,
                                      .stream_value = 1};
        set(s->fd, SCTP_STREAM_SCHEDULER_VALUE, &v, sizeof v);
    }
}
