/* Sockets of the kernel's SCTP; see kernel.h.
 *
 * DESIGN  The sockets are one-to-one, like those of TCP: a listener, and one
 * descriptor per association, so that epoll tells which has something. All of
 * them are bound to the addresses that the transport uses, and connect to all
 * addresses of the peer at once: the kernel chooses the path that carries the
 * packets.
 *
 * TIMES  These are as in stack.c: acknowledgements after 5 ms or two packets,
 * retransmission after 20 to 250 ms. A path is given up after two
 * retransmissions without an answer, the association after SILENCE_MS. Unlike
 * in user space the kernel answers also for a process that computes, so a host
 * that is silent for so long has no power or no cable.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* accept4, SO_SNDBUFFORCE */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h> /* linux/sctp.h needs it */
#include <unistd.h>

#include <linux/sctp.h>

#include "kernel.h"

/* Some headers are older than these. */
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

static int set_option(int fd, int option, const void *v, socklen_t n)
{
    return setsockopt(fd, IPPROTO_SCTP, option, v, n);
}

static int set_int_option(int fd, int option, int v)
{
    return set_option(fd, option, &v, sizeof v);
}

/* ---- options ------------------------------------------------------------- */

/* Tells whether to set the receive buffer would make it larger: the default of
 * SCTP may be above the limit of setsockopt. */
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

static void set_buffers(int fd, const struct wf_sctp_kernel_settings *s)
{
    int in = (int)s->window, out = (int)s->room;

    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &in, sizeof in) < 0 &&
        may_grow(fd, in))
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &in, sizeof in);
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &out, sizeof out) < 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &out, sizeof out);
}

static void set_paths(int fd, const struct wf_sctp_kernel_settings *s)
{
    struct sctp_paddrparams path = {.spp_hbinterval =
                                        (uint32_t)(s->heartbeat / MS),
                                    .spp_pathmaxrxt = PATH_ATTEMPTS,
                                    .spp_flags = SPP_HB_ENABLE};
    struct sctp_paddrparams packet = {.spp_pathmtu = s->packet,
                                      .spp_flags = SPP_PMTUD_DISABLE};

    set_option(fd, SCTP_PEER_ADDR_PARAMS, &path, sizeof path);
    if (s->packet)
        set_option(fd, SCTP_PEER_ADDR_PARAMS, &packet, sizeof packet);
}

/* Sets options without which it works, too: an older kernel may lack them, or
 * its administrator may have switched them off. */
static void set_optional(int fd, const struct wf_sctp_kernel_settings *s)
{
    struct sctp_rtoinfo rto = {.srto_initial = SCTP_RTO_INITIAL_MS,
                               .srto_max = SCTP_RTO_MAX_MS,
                               .srto_min = SCTP_RTO_MIN_MS};
    struct sctp_assocparams silence = {.sasoc_asocmaxrxt =
                                           SILENCE_MS / SCTP_RTO_MAX_MS};
    struct sctp_sack_info sack = {.sack_delay = SCTP_SACK_MS,
                                  .sack_freq = SCTP_SACK_PACKETS};
    struct sctp_assoc_value on = {.assoc_value = 1};

    set_int_option(fd, SCTP_I_WANT_MAPPED_V4_ADDR, 0);
    set_option(fd, SCTP_RTOINFO, &rto, sizeof rto);
    set_option(fd, SCTP_ASSOCINFO, &silence, sizeof silence);
    set_option(fd, SCTP_DELAYED_SACK, &sack, sizeof sack);
    set_paths(fd, s);
    set_buffers(fd, s);
    if (set_int_option(fd, SCTP_FRAGMENT_INTERLEAVE, 2) == 0)
        set_option(fd, SCTP_INTERLEAVING_SUPPORTED, &on, sizeof on);
}

static int set_required(int fd)
{
    struct sctp_initmsg init = {.sinit_num_ostreams = SCTP_STREAMS,
                                .sinit_max_instreams = SCTP_STREAMS,
                                .sinit_max_attempts =
                                    MINUTE_MS / SCTP_RTO_MAX_MS,
                                .sinit_max_init_timeo = SCTP_RTO_MAX_MS};
    struct sctp_event_subscribe news = {.sctp_association_event = 1,
                                        .sctp_address_event = 1,
                                        .sctp_partial_delivery_event = 1};

    return set_int_option(fd, SCTP_NODELAY, 1) < 0 ||
                   set_int_option(fd, SCTP_RECVRCVINFO, 1) < 0 ||
                   set_option(fd, SCTP_INITMSG, &init, sizeof init) < 0 ||
                   set_option(fd, SCTP_EVENTS, &news, sizeof news) < 0
               ? -1
               : 0;
}

/* ---- sockets ------------------------------------------------------------- */

static int choose_family(const struct wf_ip_endpoint *ip)
{
    for (int i = 0; i < ip->n; i++)
        if (ip->use[i].addr.family == 6)
            return AF_INET6; /* takes IPv4 as well */
    return AF_INET;
}

/* Binds to all addresses. Those that fail are left out, unless all do. */
static int bind_all(int fd, const struct wf_ip_endpoint *ip, uint16_t port)
{
    int bound = 0;

    for (int i = 0; i < ip->n; i++) {
        struct wf_ip_addr a = ip->use[i].addr;
        struct sockaddr_storage sa;
        socklen_t n;
        a.port = port;
        n = wf_ip_to_sockaddr(&a, &sa);
        if (bound ? set_option(fd, SCTP_SOCKOPT_BINDX_ADD, &sa, n) == 0
                  : bind(fd, (struct sockaddr *)&sa, n) == 0)
            bound++;
        else if (errno == EADDRINUSE)
            return -1;
    }
    return bound ? 0 : -1;
}

static int close_keeping_errno(int fd)
{
    int error = errno;

    close(fd);
    errno = error;
    return -1;
}

static int make_socket(const struct wf_sctp_kernel_settings *s, uint16_t port)
{
    int off = 0,
        fd = socket(choose_family(s->ip),
                    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_SCTP);

    if (fd < 0)
        return -1;
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (set_required(fd) < 0)
        return close_keeping_errno(fd);
    set_optional(fd, s);
    return bind_all(fd, s->ip, port) < 0 ? close_keeping_errno(fd) : fd;
}

bool wf_sctp_kernel_exists(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_SCTP);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

int wf_sctp_kernel_listen(const struct wf_sctp_kernel_settings *s,
                          uint16_t *port)
{
    struct sockaddr_storage sa;
    struct wf_ip_addr own;
    socklen_t n = sizeof sa;
    int fd = make_socket(s, *port);

    if (fd < 0)
        return -1;
    if (listen(fd, BACKLOG) < 0 ||
        getsockname(fd, (struct sockaddr *)&sa, &n) < 0 ||
        wf_ip_from_sockaddr((struct sockaddr *)&sa, &own) < 0)
        return close_keeping_errno(fd);
    *port = own.port;
    return fd;
}

int wf_sctp_kernel_connect(const struct wf_sctp_kernel_settings *s,
                           const struct wf_ip_addr *to, int n)
{
    uint8_t packed[IP_ADDRS_MAX * sizeof(struct sockaddr_in6)];
    size_t bytes = 0;
    int fd = make_socket(s, 0);

    if (fd < 0)
        return -1;
    for (int i = 0; i < n && i < IP_ADDRS_MAX; i++) {
        struct sockaddr_storage sa;
        socklen_t len = wf_ip_to_sockaddr(&to[i], &sa);
        memcpy(packed + bytes, &sa, len);
        bytes += len;
    }
    if (set_option(fd, SCTP_SOCKOPT_CONNECTX, packed, (socklen_t)bytes) < 0 &&
        errno != EINPROGRESS)
        return close_keeping_errno(fd);
    return fd;
}

int wf_sctp_kernel_accept(int listener, struct wf_ip_addr *from)
{
    struct sockaddr_storage sa;
    socklen_t n = sizeof sa;
    int fd = accept4(listener, (struct sockaddr *)&sa, &n,
                     SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd >= 0 && wf_ip_from_sockaddr((struct sockaddr *)&sa, from) < 0)
        memset(from, 0, sizeof *from); /* the peer has gone already */
    return fd;
}

void wf_sctp_kernel_abort(int fd)
{
    struct linger abrupt = {.l_onoff = 1};

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &abrupt, sizeof abrupt);
    close(fd);
}

/* Headers go before payload: else payload would arrive before its
 * announcement. */
void wf_sctp_kernel_rank_streams(struct wf_sctp_sock *s)
{
    struct sctp_assoc_value schedule = {.assoc_value = BY_PRIORITY};

    if (set_option(s->fd, SCTP_STREAM_SCHEDULER, &schedule, sizeof schedule) <
        0)
        return;
    for (int i = SCTP_HEADERS; i < SCTP_STREAMS; i++) {
        struct sctp_stream_value v = {.stream_id = (uint16_t)i,
                                      .stream_value = 1};
        set_option(s->fd, SCTP_STREAM_SCHEDULER_VALUE, &v, sizeof v);
    }
}
