/* The code that the transports over IP share: addresses, the blob by which a
 * process publishes them, the choice of the interfaces that carry a job, and
 * containers as bytes.
 *
 *   addr.c        text, blobs, the choice among a peer's addresses
 *   interfaces.c  the choice among this machine's interfaces
 *   stream.c      containers as bytes of a stream
 *   shortage.c    errors that pass, for want of memory or descriptors
 *   endpoint.h    sockets on these, costs, what all endpoints over IP answer
 *   peer.h        the table of peers; links that break, peers that part
 *   datagram.h    datagram sockets that report errors
 *   call.h        the handshake over datagrams
 *   alive.h       whether a silent peer still exists
 *   budget.h      the limit on the time that unknown callers cost
 *   tuning.h      the numbers that were measured
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

#include "weft_assert.h"
#include "weft_transport.h"

enum {
    IP_ADDRS_MAX = 16, /* addresses one endpoint uses */
    IP_OWN_MAX = 64,   /* addresses of the machine that are remembered */
    IP_BLOB_HEAD = 12, /* version, count, spare, machine */
    IP_BLOB_MAX = IP_BLOB_HEAD + IP_ADDRS_MAX * 20
};

struct wf_ip_addr {
    uint8_t family; /* 4 or 6 */
    uint8_t prefix; /* bits of the subnet */
    uint16_t port;  /* host order */
    uint8_t ip[16];
};

/* The addresses of an endpoint: a decoded blob. */
struct wf_ip_book {
    uint64_t machine; /* 0: unknown (address written by hand) */
    int n;
    struct wf_ip_addr addr[IP_ADDRS_MAX];
};

/* One address of this machine that is in use. */
struct wf_ip_interface {
    struct wf_ip_addr addr;
    char name[16];
    uint32_t mbs; /* link speed in MB/s; 0: unknown */
};

/* The part that all endpoints over IP have in common: the first member, `ip`,
 * of their weft_ep. wf_ip_init_endpoint() sets all but the addresses, which
 * wf_ip_choose_interfaces() finds. */
struct wf_ip_endpoint {
    const weft_host *host;
    weft_core *core;
    const struct wf_ip_transport *transport;
    uint32_t me;        /* own process */
    uint64_t start;     /* ns that a peer may take to start */
    uint16_t port;      /* own; 0: any */
    int epfd;           /* epoll set, or -1 */
    const char *wanted; /* auto, or a list of names, addresses, subnets */
    bool one_host;      /* the whole job is on this machine */
    bool planned;       /* WEFT_OPEN_PLAN: for another machine */
    bool automatic;     /* wanted is auto */
    uint64_t machine;   /* wf_ip_machine_hash() */

    weft_peer **peer; /* by process */
    uint32_t peers;
    struct wf_ip_peer *due, **due_last; /* list that progress() must serve */

    int n;
    struct wf_ip_interface use[IP_ADDRS_MAX];
    int own_n; /* every address of this machine, chosen or not */
    struct wf_ip_addr own[IP_OWN_MAX];
};

/* How good an address of a peer is; a lower one is tried first. */
enum wf_ip_rank { IP_LOOPBACK, IP_SUBNET, IP_ROUTED, IP_USELESS };

struct wf_ip_candidate {
    struct wf_ip_addr to;
    int local; /* index of the own interface in the same subnet, or -1 */
    enum wf_ip_rank rank;
};

/* addr.c */
socklen_t wf_ip_to_sockaddr(const struct wf_ip_addr *,
                            struct sockaddr_storage *);
int wf_ip_from_sockaddr(const struct sockaddr *, struct wf_ip_addr *);
/* Writes one address as text, with its port. */
void wf_ip_print_address(const struct wf_ip_addr *, char *text, size_t n);
/* Returns the text of an errno, with the remedy where there is one. */
const char *wf_ip_error_text(int error);
/* Compares family and address, not prefix or port. */
bool wf_ip_is_same(const struct wf_ip_addr *, const struct wf_ip_addr *);
bool wf_ip_is_same_subnet(const struct wf_ip_addr *net,
                          const struct wf_ip_addr *);
bool wf_ip_is_loopback(const struct wf_ip_addr *);
bool wf_ip_is_link_local(const struct wf_ip_addr *);
/* Returns a number for this boot of this kernel and the network namespace: two
 * processes with the same number share their loopback device. Returns 0, and
 * sets errno, if memory or descriptors are too short to read it. */
uint64_t wf_ip_machine_hash(void);
/* Convert between addresses and the blob that is published. */
int wf_ip_pack_book(const struct wf_ip_book *, void *buf, size_t *len);
int wf_ip_unpack_book(const void *buf, size_t len, struct wf_ip_book *);
/* Writes the usable addresses of the peer, best first; returns how many. */
int wf_ip_find_candidates(const struct wf_ip_endpoint *,
                          const struct wf_ip_book *, struct wf_ip_candidate *);
/* Implements weft_ops.addr_parse: converts "10.0.0.2:7000", "[::1]:7000" or
 * "host:7000" to a blob. */
int wf_ip_parse_address(weft_ep *, const char *text, void *buf, size_t *len);
/* Returns the port in an address text; 0: it is no address text. */
uint16_t wf_ip_port_of(const char *text);
/* Writes the addresses of a blob as text, separated by commas. */
int wf_ip_print_book(const void *addr, size_t len, char *text, size_t n);

/* interfaces.c */
/* Chooses the interfaces; opens no socket. */
int wf_ip_choose_interfaces(struct wf_ip_endpoint *);

#define IP_STAGGER_NS 150000000u /* between calls to addresses of a peer */

/* shortage.c */
/* A shortage is an error after the first; the second is between two tries. */
#define IP_SHORTAGE_NS       10000000000u
#define IP_SHORTAGE_RETRY_NS 20000000u
/* Tells whether the system lacks something that it may have again soon. */
bool wf_ip_is_shortage(int error);
/* Returns the status of a link that is lost because of such an error. */
int wf_ip_shortage_status(int error);
/* Opens a descriptor that can be closed when another is needed most; -1: there
 * is none. */
int wf_ip_open_reserve(void);
/* Tells whether another try is worth it. *since is when the failures began; the
 * caller sets it to 0 after a success. */
bool wf_ip_retry_shortage(uint64_t *since, uint64_t now);

/* stream.c */
static inline uint64_t wf_ip_tx_bytes(const weft_tx *tx)
{
    return weft_hdr_len(tx->hdr) + tx->len;
}
/* Points v at the rest of the container from byte off on, header included: at
 * most max pieces, the last of which may reach beyond its end. */
int wf_ip_tx_pieces(weft_tx *, uint64_t off, struct iovec *v, int max);
/* Copies n bytes of the container from byte off on. host may be NULL: then the
 * core does not help to copy scattered payload. */
void wf_ip_tx_copy(weft_tx *, uint64_t off, uint8_t *to,
                   uint64_t n);
/* Points v at the memory where the payload from byte off on must land; it ends
 * where the sink ends. */
int wf_ip_sink_pieces(weft_sink *, uint64_t off, struct iovec *v, int max);
/* Copies payload bytes to the sink; returns how many of them it wants. */
size_t wf_ip_sink_write(weft_sink *, uint64_t off,
                      const uint8_t *, size_t n);

/* Sets *first to `at` if that is earlier; 0 means never in both. */
static inline void wf_ip_set_sooner(uint64_t *first, uint64_t at)
{
    if (at && (!*first || at < *first))
        *first = at;
}

#endif
