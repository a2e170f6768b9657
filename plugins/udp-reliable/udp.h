/* What the files of the udp-reliable transport share.
 *
 *   udp.c      options, operations, progress    socket.c  datagrams in, errors
 *   out.c      packets out, in batches
 *   call.c     the handshake, both sides        link.c    a peer up and down
 *   tx.c       containers out                   rx.c      containers in
 *   flow*.c    the reliable stream, without I/O packet.c  bytes of a packet
 *   seal.c     what proves a packet
 *
 * Addresses and the choice of interfaces are in plugins/ip.
 *
 * THREADS  none of its own, no locks: the core serialises all calls.
 * INVARIANT  No call from the core except progress() calls back into the core.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_UDP_H
#define WF_UDP_H

#include "../ip/attention.h"
#include "../ip/datagram.h"
#include "flow.h"

enum {
    UDP_SHORT_MAX = 8 << 10, /* payload that is copied to the stage */
    UDP_PENDING_MAX = 64,    /* callers not yet authenticated */
    UDP_LINKS_MAX = 1 << 16, /* calls and links at one time */
    UDP_RBUF = 1 << 16,
    UDP_LINEAR = 2 << 10, /* smaller packets are sent from one buffer */
    BATCH_PACKETS = 64, /* the most that kernels cut */
    BATCH_BYTES = 64000,
    UDP_FRAME = 24,
    UDP_GOODBYE = 0xf2 /* frame: nothing follows */
};

struct wf_udp_cfg {
    const char *interface; /* auto, or a list of names, addresses, subnets */
    int64_t port;
    uint64_t window, packet, rcvbuf, eager;
    uint64_t connect_timeout, handshake_timeout, unreachable;
    int checksum, mac; /* enum wf_udp_checksum */
};

enum wf_udp_checksum { CHECKSUM_AUTO, CHECKSUM_ON, CHECKSUM_OFF };

/* Where datagrams of one link go, and what they carry. */
struct wf_udp_path {
    struct wf_ip_path way;
    bool check, mac; /* a checksum, a code */
};

enum wf_udp_call_state {
    CALL_HELLO,    /* dialler: hello sent, or to be sent */
    CALL_PROOF,    /* dialler: proof sent, waiting for ACCEPT */
    CALL_ANSWERED, /* listener: waiting for the proof */
    CALL_PARKED    /* listener: authentic; my own attempt goes first */
};

struct wf_udp_call {
    struct wf_udp_call *next;
    weft_peer *peer; /* NULL until the caller is known */
    enum wf_udp_call_state state;
    bool dialled, warned;
    struct wf_udp_path path;
    struct wf_ip_addr remote;
    uint32_t id, remote_id;
    uint32_t room; /* what the peer takes at first */
    weft_auth *auth;
    uint64_t since, say_at;
    unsigned tries, refusals;
    uint64_t salt; /* of the codes of this link */
    int local;                                 /* interface, or -1 */
    uint8_t said[PACKET_HEAD + WEFT_AUTH_MSG]; /* what is repeated */
    size_t said_n;
};

enum wf_udp_peer_state {
    UDP_IDLE,
    UDP_DIALLING,
    UDP_OPEN,
    UDP_BROKEN, /* peer_down is due, or was reported */
    UDP_LEFT    /* the peer said goodbye, and is gone */
};

struct weft_peer {
    weft_ep *ep;
    weft_loc *loc;
    uint32_t id; /* process */
    enum wf_udp_peer_state state;
    struct wf_ip_book *book;
    struct wf_udp_call *parked;
    int calls;      /* attempts under way */
    uint64_t until; /* an absent peer may appear before; 0: it is there */
    bool met;       /* was connected once */
    weft_peer *open_next;
    struct wf_ip_due due; /* for progress() to look at */
    bool want_ready, resumed, reported;
    bool said_goodbye, heard_goodbye;

    /* open */
    uint32_t link, remote_link;
    struct wf_udp_path path;
    uint64_t salt;
    bool dialled; /* by us */
    struct wf_udp_flow flow;
    uint64_t unreachable_since;

    /* receiving */
    weft_sink *sink;
    uint64_t rx_off, rx_len; /* of the payload that is coming in */
    uint8_t carry[WEFT_HDR]; /* of a header */
    uint32_t carry_n;

    int why_status;
    char *why;
};

struct wf_udp_id { /* by the low half of a link id */
    uint32_t id;
    struct wf_udp_call *call;
    weft_peer *peer;
};

struct wf_udp_counts {
    uint64_t connections, refused, tx_containers, tx_bytes, rx_containers,
        rx_bytes, packets_in, packets_out, strange, lost;
};

struct wf_udp_batch { /* packets of one size, the last may be shorter */
    struct wf_udp_path path;
    uint8_t *bytes; /* and room for one packet more */
    uint32_t used, each, n;
    bool closed;
};

struct weft_ep {
    const weft_host *host;
    weft_core *core;
    struct wf_udp_cfg cfg;
    uint32_t me;
    uint64_t start; /* ns that a peer may take to appear */
    uint16_t port;
    struct wf_ip_place ip;
    int fd[IP_ADDRS_MAX]; /* on the interface of the same index in ip.use */
    uint32_t mtu[IP_ADDRS_MAX];
    unsigned paid[IP_ADDRS_MAX]; /* polls that found something since arm() */
    bool watched[IP_ADDRS_MAX];  /* by epoll */
    int epfd;
    weft_peer **peer; /* by process */
    uint32_t peers;
    weft_peer *open; /* list of all that are open */
    struct wf_udp_id *ids;
    uint32_t ids_n, ids_hint;
    struct wf_udp_call *calls;
    int pending;
    struct wf_ip_attention attention;
    bool said_auth;    /* the warning about wrong keys was given */
    bool errors;       /* the kernel has news about datagrams */
    uint64_t timer_at; /* not before this; 0: no timer runs */
    uint8_t *rbuf, *scratch;
    struct wf_udp_flow_out out;
    struct wf_udp_batch batch;
    bool whole_only; /* the kernel does not cut batches */
    bool merged;     /* the kernel hands out several packets at a time */
    struct wf_udp_counts count;
};

/* out.c */
/* Send, best effort: false only if there is no room now. */
bool wf_udp_say(weft_ep *, const struct wf_udp_path *, const struct iovec *,
                int n);
bool wf_udp_transmit(weft_peer *, uint64_t now);
void wf_udp_reset(weft_ep *, const struct wf_udp_path *, uint32_t id);

/* socket.c */
int wf_udp_listen(weft_ep *);
int wf_udp_read(weft_ep *, int socket, int budget);
int wf_udp_errors(weft_ep *);
bool wf_udp_wants_check(const weft_ep *, const struct wf_ip_addr *);
uint32_t wf_udp_packet_bytes(const weft_ep *, const struct wf_udp_path *);

/* seal.c */
bool wf_udp_wants_mac(const weft_ep *, const struct wf_ip_addr *);
uint64_t wf_udp_salt(weft_ep *, const void *hello, const void *answer);
void wf_udp_seal(weft_peer *, const struct iovec *, int n, uint8_t *code);
size_t wf_udp_open_packet(weft_peer *, const struct wf_udp_packet *,
                          uint8_t *bytes, size_t n);
void wf_udp_say_ids(weft_ep *, const struct wf_udp_path *,
                    struct wf_udp_packet *);
bool wf_udp_ids_proved(weft_ep *, const struct wf_udp_path *,
                       const uint8_t *bytes, size_t n);

/* call.c */
void wf_udp_dial(weft_peer *);
void wf_udp_dial_end(weft_peer *, const struct wf_udp_call *keep);
void wf_udp_call_free(weft_ep *, struct wf_udp_call *);
void wf_udp_call_failed(weft_ep *, struct wf_udp_call *, int status, int error,
                        const char *what);
void wf_udp_handshake(weft_ep *, const struct wf_udp_path *,
                      const struct wf_udp_packet *, const uint8_t *data,
                      size_t n);
void wf_udp_call_timers(weft_ep *, uint64_t now);
uint64_t wf_udp_call_deadline(const weft_ep *);
void wf_udp_accept(weft_ep *, const weft_peer *);

/* link.c */
struct wf_udp_id *wf_udp_id_new(weft_ep *);
struct wf_udp_id *wf_udp_id_find(weft_ep *, uint32_t id);
void wf_udp_attend(weft_peer *);
int wf_udp_attention(weft_ep *);
void wf_udp_link_up(weft_peer *, struct wf_udp_call *);
void wf_udp_link_break(weft_peer *, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* status: EPEER, the process has ended; ELINK, only the link. */
void wf_udp_gone(weft_peer *, int status, const char *what);
void wf_udp_unreachable(weft_peer *, int error);
void wf_udp_met(weft_ep *, struct wf_udp_call *, uint32_t id);
int wf_udp_peer_add(weft_ep *, weft_loc *, uint32_t loc_id, const void *addr,
                    size_t len, weft_peer **);
int wf_udp_peer_del(weft_peer *, int abrupt);
int wf_udp_drain(weft_ep *);
void wf_udp_peer_free(weft_peer *);
void wf_udp_link_timers(weft_ep *, uint64_t now);
uint64_t wf_udp_link_deadline(const weft_ep *);

/* tx.c */
int wf_udp_send(weft_peer *, weft_tx *);
int wf_udp_send_short(weft_peer *, const weft_hdr *, const void *data,
                      size_t len);
bool wf_udp_frame(weft_peer *, uint8_t type);
void wf_udp_flush(weft_peer *); /* from progress only: calls back */
void wf_udp_tx_cancel(weft_peer *, int status);

/* rx.c */
size_t wf_udp_deliver(void *peer, const uint8_t *data, size_t n);
void wf_udp_rx_cancel(weft_peer *, int status);
void wf_udp_rx_resume(weft_peer *);

static inline uint64_t wf_udp_now(weft_ep *ep)
{
    return ep->host->now_ns(ep->core);
}

#endif
