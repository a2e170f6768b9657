/* An endpoint over IP: its sockets, its costs, and the operations that are the
 * same in all transports over IP.
 *
 *   weft_ep    ip    the common part, always first
 *              ...   that of the transport
 *
 * The operations of weft_ops take a weft_ep, whose first member is a struct
 * wf_ip_endpoint, and may stand in the table of each transport.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IP_ENDPOINT_H
#define WF_IP_ENDPOINT_H

#include "ip.h"
#include "tuning.h"

/* The costs of a transport, by the way to a peer. */
struct wf_ip_costs {
    uint32_t overhead_ns;
    uint32_t loopback_ns, subnet_ns, routed_ns; /* latency */
    uint32_t loopback_mbs, usual_mbs; /* usual: the link's speed is unknown */
    uint32_t link_percent;            /* of the link's speed */
};

/* The description of a transport; peer.h says what its functions do. */
struct wf_ip_transport {
    struct wf_ip_costs costs;
    size_t peer_bytes; /* of its weft_peer */
    void (*init_peer)(weft_ep *, weft_peer *);
    void (*free_peer)(weft_peer *);
    void (*serve_peer)(weft_peer *);
    bool (*has_parted)(weft_peer *);
};

/* Makes an option of a member of the structure `cfg`. */
/* clang-format off */
#define WF_IP_OPTION(cfg, member, type, dflt, range, help)                     \
    {#member, type, offsetof(cfg, member), dflt, range, help}
/* The options of all transports over IP: OPTION(member, type, default, range,
 * help) makes one. */
#define WF_IP_PLACE_OPTIONS(OPTION, PORT)                                      \
    OPTION(interface, WEFT_OPT_LIST, "auto", NULL,                             \
           "auto, or interfaces to use: names, addresses or subnets"),         \
    OPTION(port, WEFT_OPT_INT, "0", "0..65535",                                \
           PORT " of the first process of a node, the next takes port+1; "     \
           "0: any")
/* The options of the transports over datagrams, beside WF_IP_TIME_OPTIONS. */
#define WF_IP_BUFFER_OPTIONS(OPTION)                                           \
    OPTION(rcvbuf, WEFT_OPT_SIZE, "4M", "64K..1G",                             \
           "socket buffers, as far as the system allows"),                     \
    OPTION(eager, WEFT_OPT_SIZE, "32K", "0..1G",                               \
           "messages up to this size are sent without asking")
/* That of those which let small messages wait for each other. */
#define WF_IP_COALESCE_OPTIONS(OPTION)                                         \
    OPTION(coalesce, WEFT_OPT_SIZE, "8K", "0..8K",                             \
           "nonblocking sends up to this size may wait for each other until "  \
           "the next MPI call that waits or tests; 0: never")
/* clang-format on */

/* When packets carry a checksum, or a code. */
enum wf_ip_checksum { CHECKSUM_AUTO, CHECKSUM_ON, CHECKSUM_OFF };
/* Tells whether packets to that address have a checksum. Loopback damages
 * nothing; a network may, in ways that UDP's own checksum does not detect. */
static inline bool wf_ip_wants_checksum(int setting,
                                        const struct wf_ip_addr *to)
{
    return setting == CHECKSUM_ON ||
           (setting == CHECKSUM_AUTO && !wf_ip_is_loopback(to));
}

/* Sets the common part from the parameters of open(), which has cleared it. */
void wf_ip_init_endpoint(struct wf_ip_endpoint *, const weft_open *,
                         const struct wf_ip_transport *, const char *wanted,
                         int64_t port);
/* Frees what the common part holds; the peers before all else. */
void wf_ip_free_peers(struct wf_ip_endpoint *);
void wf_ip_close_endpoint(struct wf_ip_endpoint *);

/* The kind of sockets that wf_ip_open_sockets() opens. */
struct wf_ip_sockets {
    const char *verb;            /* "listen on": for the log */
    int type, protocol, backlog; /* backlog 0: does not listen */
    uint16_t port;               /* 0: any */
    void (*tune)(void *ctx, int fd, int family); /* before bind(); or NULL */
    void *ctx;
};
/* Creates an epoll set, as epoll_create1() does; logs an error. */
int wf_ip_open_epoll(const struct wf_ip_endpoint *);
/* Opens a nonblocking socket on each address of use[], and writes its port
 * there. Addresses that cannot be bound are left out unless none is left. */
int wf_ip_open_sockets(struct wf_ip_endpoint *, const struct wf_ip_sockets *,
                       int *fd);
/* Opens another socket for the address and port of one that was open before.
 * Returns -1 with errno if it cannot. */
int wf_ip_reopen_socket(const struct wf_ip_addr *,
                        const struct wf_ip_sockets *);

/* Writes which peers the endpoint reaches, and at what cost. */
void wf_ip_describe_reach(const struct wf_ip_endpoint *, weft_attr *);

/* A counter, for wf_ip_read_counter(). */
struct wf_ip_counter {
    const char *name;
    uint64_t value;
};
/* Returns counter i of n; EINVAL: there is none. */
int wf_ip_read_counter(const struct wf_ip_counter *, size_t n, int i,
                       const char **name, uint64_t *value);

/* Implement operations of weft_ops. */
int wf_ip_get_address(weft_ep *, void *buf, size_t *len);
int wf_ip_check_reach(weft_ep *, const void *addr, size_t len, weft_cost *);
int wf_ip_get_event(weft_ep *, int *fd);

#endif
