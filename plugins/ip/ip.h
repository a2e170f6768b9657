/* What the transports over IP share: addresses, the blob by which a process
 * publishes them, which interfaces carry a job, and containers as bytes.
 *
 *   addr.c        text, blobs, which of a peer's addresses are worth trying
 *   interfaces.c  which of our own to use
 *   endpoint.c    sockets on these, what a peer costs, the table of peers
 *   stream.c      containers as bytes of a stream
 *   datagram.h    datagram sockets whose errors are told
 *   call.h        the handshake over datagrams
 *
 * Compiled once, linked into each transport that needs it. Like a transport it
 * includes weft_transport.h and libc, and nothing else.
 *
 * THREADS  no state of its own.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IP_H
#define WF_IP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "weft_transport.h"

enum {
    IP_ADDRS_MAX = 16, /* addresses one endpoint uses */
    IP_OWN_MAX = 64,
    IP_BLOB_HEAD = 12, /* version, count, spare, machine */
    IP_BLOB_MAX = IP_BLOB_HEAD + IP_ADDRS_MAX * 20
};

struct wf_ip_addr {
    uint8_t family; /* 4 or 6 */
    uint8_t prefix; /* bits of the subnet */
    uint16_t port;  /* host order */
    uint8_t ip[16];
};

struct wf_ip_book {   /* a decoded blob */
    uint64_t machine; /* 0: unknown (address written by hand) */
    int n;
    struct wf_ip_addr addr[IP_ADDRS_MAX];
};

struct wf_ip_interface { /* one address of ours that is in use */
    struct wf_ip_addr addr;
    char name[16];
    uint32_t mbs; /* link speed in MB/s, 0 unknown */
};

/* Where this process is. The caller sets the first part, wf_ip_choose() the
 * second. */
struct wf_ip_place {
    const weft_host *host;
    weft_core *core;
    const char *wanted; /* auto, or a list of names, addresses, subnets */
    bool one_host;
    bool automatic;   /* wanted is auto */
    uint64_t machine; /* wf_ip_machine() */

    int n;
    struct wf_ip_interface use[IP_ADDRS_MAX];
    int own_n; /* every address of this machine, chosen or not */
    struct wf_ip_addr own[IP_OWN_MAX];
};

enum wf_ip_rank { /* of a peer's address; lower is tried first */
    IP_LOOPBACK,
    IP_SUBNET,
    IP_ROUTED,
    IP_USELESS
};

struct wf_ip_candidate {
    struct wf_ip_addr to;
    int local; /* index of our interface in the same subnet or -1 */
    enum wf_ip_rank rank;
};

/* addr.c */
socklen_t wf_ip_to_sockaddr(const struct wf_ip_addr *,
                            struct sockaddr_storage *);
int wf_ip_from_sockaddr(const struct sockaddr *, struct wf_ip_addr *);
void wf_ip_name(const struct wf_ip_addr *, char *text, size_t n);
/* What an errno says, and what can be done about it. */
const char *wf_ip_error(int error);
bool wf_ip_same(const struct wf_ip_addr *, const struct wf_ip_addr *);
bool wf_ip_same_subnet(const struct wf_ip_addr *net, const struct wf_ip_addr *);
bool wf_ip_loopback(const struct wf_ip_addr *);
bool wf_ip_link_local(const struct wf_ip_addr *);
uint64_t wf_ip_machine(void);
int wf_ip_pack(const struct wf_ip_book *, void *buf, size_t *len);
int wf_ip_unpack(const void *buf, size_t len, struct wf_ip_book *);
int wf_ip_candidates(const struct wf_ip_place *, const struct wf_ip_book *,
                     struct wf_ip_candidate *);
int wf_ip_parse(const struct wf_ip_place *, const char *text, void *buf,
                size_t *len);
uint16_t wf_ip_port(const char *text);
int wf_ip_print(const void *addr, size_t len, char *text, size_t n);

/* interfaces.c */
void wf_ip_place(struct wf_ip_place *, const weft_open *, const char *wanted);
int wf_ip_choose(struct wf_ip_place *);
int wf_ip_address(const struct wf_ip_place *, void *buf, size_t *len);
/* The port that others are told to call, what the options say, or 0: any. */
uint16_t wf_ip_own_port(const weft_open *, int64_t option);

/* shortage.c */
#define IP_SHORT_NS 10000000000u  /* so long is a shortage waited for */
#define IP_SHORT_AGAIN_NS 20000000u /* between two tries */
/* The system lacks what it may have again soon. */
bool wf_ip_short(int error);
/* The status of a link that is lost for it. */
int wf_ip_short_status(int error);
/* A descriptor to be closed when another is needed most, or -1. */
int wf_ip_reserve(void);
/* Is it worth another try? `since` is 0 before the first failure in a row. */
bool wf_ip_short_again(uint64_t *since, uint64_t now);

/* endpoint.c */
struct wf_ip_sockets {
    const char *verb;            /* "listen on": for the log */
    int type, protocol, backlog; /* backlog 0: does not listen */
    uint16_t port;               /* 0: any */
    void (*tune)(void *ctx, int fd, int family); /* before it is bound; NULL */
    void *ctx;
};
/* As epoll_create1(); an error is told. */
int wf_ip_epoll(const struct wf_ip_place *);
/* A nonblocking socket on each address of use[], which learns its port;
 * addresses that cannot be had are left out unless none is left. */
int wf_ip_open(struct wf_ip_place *, const struct wf_ip_sockets *, int *fd);
/* Another socket for an address and port of before, or -1 and errno. */
int wf_ip_reopen(const struct wf_ip_addr *, const struct wf_ip_sockets *);

struct wf_ip_costs { /* of a transport, by how a peer is reached */
    uint32_t overhead_ns, poll_ns;
    uint32_t loopback_ns, subnet_ns, routed_ns; /* latency */
    uint32_t loopback_mbs, usual_mbs; /* usual: the link's speed is unknown */
    uint32_t link_percent;            /* of the link's speed */
};
bool wf_ip_local(const struct wf_ip_place *); /* loopback is all we use */
weft_cost wf_ip_cost(const struct wf_ip_place *, const struct wf_ip_costs *);
int wf_ip_reach(const struct wf_ip_place *, const struct wf_ip_costs *,
                const void *addr, size_t len, weft_cost *);
/* Makes the table long enough for process id. EINVAL: the place is taken. */
int wf_ip_peer_slot(weft_peer ***peer, uint32_t *peers, uint32_t id);
const char *wf_ip_refusal(int rc); /* of auth_step(), in words */

/* stream.c */
static inline uint64_t wf_ip_tx_bytes(const weft_tx *tx)
{
    return weft_hdr_len(tx->hdr) + tx->len;
}
/* What remains of the container from byte off, header included: at most max
 * pieces, the last of which may reach beyond its end. */
int wf_ip_tx_pieces(weft_tx *, uint64_t off, struct iovec *v, int max);
/* The n bytes of the container from byte off on. host: NULL if unknown. */
void wf_ip_tx_copy(const weft_host *, weft_tx *, uint64_t off, uint8_t *to,
                   uint64_t n);
/* Where the payload from byte off on must land; ends where the sink ends. */
int wf_ip_sink_pieces(weft_sink *, uint64_t off, struct iovec *v, int max);
/* Put bytes there; returns how many of them the sink wants. */
size_t wf_ip_sink_put(const weft_host *, weft_sink *, uint64_t off,
                      const uint8_t *, size_t n);

static inline void wf_ip_sooner(uint64_t *first, uint64_t at)
{
    if (at && (!*first || at < *first))
        *first = at;
}

#endif
