/* What the files of the udp-reliable transport share.
 *
 *   udp.c      options, operations, progress    socket.c  datagrams in, errors
 *   out.c      packets out, in batches
 *   call.c     words of the handshake           link.c    a peer up and down
 *   tx.c       containers out                   rx.c      containers in
 *   flow*.c    the reliable stream, without I/O packet.c  bytes of a packet
 *   alive.c    is a silent peer still there?    hot.c     a peer's own socket
 *   seal.c     what proves a packet             digest.c  a packet in few words
 *
 * Addresses, the choice of interfaces and the handshake are in plugins/ip.
 *
 * THREADS  none of its own, no locks: the core serialises all calls.
 * INVARIANT  No call from the core except progress() calls back into the core.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_UDP_H
#define WF_UDP_H

#include "../ip/alive.h"
#include "../ip/attention.h"
#include "../ip/call.h"
#include "digest.h"
#include "flow.h"

enum {
    UDP_SHORT_MAX = 8 << 10, /* payload that is copied to the stage */
    UDP_RBUF = 1 << 16,
    UDP_LINEAR = 2 << 10, /* smaller packets are sent from one buffer */
    BATCH_PACKETS = 64, /* the most that kernels cut */
    BATCH_BYTES = 64000,
    UDP_HOT = IP_ADDRS_MAX, /* the socket of one peer */
    UDP_SOCKETS,
    UDP_FRAME = 24,
    UDP_GOODBYE = 0xf2 /* frame: nothing follows */
};

struct wf_udp_cfg {
    const char *interface; /* auto, or a list of names, addresses, subnets */
    int64_t port;
    uint64_t window, packet, rcvbuf, eager;
    uint64_t connect_timeout, handshake_timeout, unreachable;
    uint64_t keepalive, vanished;
    int checksum, mac; /* enum wf_udp_checksum */
};

enum wf_udp_checksum { CHECKSUM_AUTO, CHECKSUM_ON, CHECKSUM_OFF };

/* Where datagrams of one link go, and what they carry. */
struct wf_udp_path {
    struct wf_ip_path way;
    bool check, mac; /* a checksum, a code */
};

struct weft_peer {
    struct wf_ip_party party;
    weft_ep *ep;
    weft_loc *loc;
    weft_peer *open_next;
    struct wf_ip_due due; /* for progress() to look at */
    bool want_ready, resumed, reported;
    bool said_goodbye;
    const char *gone; /* why nobody answers; judged when all is read */
    int gone_status;

    /* open */
    uint32_t link, remote_link;
    struct wf_udp_path path;
    uint64_t salt, digest_key[DIGEST_KEY]; /* of its codes */
    bool dialled; /* by us */
    struct wf_udp_flow flow;
    uint64_t unreachable_since;
    struct wf_ip_alive alive;
    uint64_t confirmed; /* the last packet of ours that is known to be there */
    uint64_t acked;     /* and how much of the stream */

    /* receiving */
    weft_sink *sink;
    uint64_t rx_off, rx_len; /* of the payload that is coming in */
    uint64_t rx_from, rx_at; /* in the stream: that payload, what is read */
    uint8_t carry[WEFT_HDR]; /* of a header */
    uint32_t carry_n;

    int why_status;
    char *why;
};

struct wf_udp_counts {
    uint64_t connections, tx_containers, tx_bytes, rx_containers, rx_bytes,
        packets_in, packets_out, lost;
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
    uint16_t port;
    struct wf_ip_place ip;
    struct wf_ip_calls calls;
    struct wf_ip_watch watch;
    int fd[UDP_SOCKETS]; /* on the interface of the same index in ip.use */
    uint32_t mtu[IP_ADDRS_MAX];
    unsigned paid[UDP_SOCKETS]; /* polls that found something since arm() */
    bool watched[UDP_SOCKETS];  /* by epoll */
    uint32_t links[IP_ADDRS_MAX]; /* that are open there */
    unsigned turn;               /* of progress() */
    bool unread[UDP_SOCKETS];    /* there may be more to read */
    bool drained; /* this call of progress() has found all sockets empty */
    weft_peer *hot, *often; /* has that socket; was heard most lately */
    unsigned row, row_wanted; /* packets of his; for a socket */
    unsigned settling;        /* turns in which the hot one is not read yet */
    unsigned patience;        /* turns between two looks at the others */
    int reading;              /* the socket */
    int epfd;
    weft_peer **peer; /* by process */
    uint32_t peers;
    weft_peer *open; /* list of all that are open */
    bool trusted;    /* nobody else is expected on the network */
    weft_peer *heard; /* whose packets are being read */
    uint64_t heard_at;
    struct wf_ip_attention attention;
    bool errors;       /* the kernel has news about datagrams */
    uint64_t timer_at; /* not before this; 0: no timer runs */
    struct sockaddr_storage raw; /* who sent last */
    socklen_t raw_len;
    struct wf_ip_path sender; /* the same, in the form that compares */
    uint8_t *rbuf, *scratch;
    struct wf_udp_flow_out out;
    struct wf_udp_batch batch;
    bool whole_only; /* the kernel does not cut batches */
    bool merged;     /* the kernel hands out several packets at a time */
    struct wf_udp_counts count;
};

/* out.c */
/* Send, best effort: false only if there is no room now. */
bool wf_udp_say(weft_ep *, const struct wf_ip_path *, const struct iovec *,
                int n);
bool wf_udp_transmit(weft_peer *, uint64_t now);

/* socket.c */
int wf_udp_listen(weft_ep *);
int wf_udp_read(weft_ep *, int socket, int budget);
int wf_udp_errors(weft_ep *);
void wf_udp_tune(weft_ep *, int fd, int family);
bool wf_udp_wants_check(const weft_ep *, const struct wf_ip_addr *);
uint32_t wf_udp_packet_bytes(const weft_ep *, const struct wf_ip_path *);

/* hot.c */
void wf_udp_hot_begin(weft_ep *);
void wf_udp_hot_share(int fd); /* once it is bound */
void wf_udp_hot_end(weft_ep *);
void wf_udp_hot_forget(weft_ep *, const weft_peer *);
void wf_udp_hot_heard(weft_ep *, weft_peer *, int socket);
void wf_udp_hot_choose(weft_ep *);

/* seal.c */
bool wf_udp_wants_code(const weft_ep *);
void wf_udp_make_key(weft_peer *);
void wf_udp_seal(weft_peer *, const struct iovec *, int n, uint8_t *code);
size_t wf_udp_open_packet(weft_peer *, const struct wf_udp_packet *,
                          uint8_t *bytes, size_t n);
/* ACCEPT and RESET, n bytes, with room for a code behind them. */
size_t wf_udp_seal_ids(weft_ep *, uint8_t *bytes, size_t n);
bool wf_udp_ids_proved(weft_ep *, const uint8_t *bytes, size_t n);

/* call.c */
void wf_udp_say_word(weft_ep *, const struct wf_ip_path *,
                     const struct wf_ip_word *, const void *body, size_t n);
/* A packet that is neither DATA nor ACK, n bytes with its header. */
void wf_udp_hear(weft_ep *, const struct wf_ip_path *,
                 const struct wf_udp_packet *, uint8_t *bytes, size_t n);

/* link.c */
extern const struct wf_ip_call_ops wf_udp_call_ops;
void wf_udp_attend(weft_peer *);
int wf_udp_attention(weft_ep *);
void wf_udp_link_break(weft_peer *, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* status: EPEER, the process has ended; ELINK, only the link. */
void wf_udp_gone(weft_peer *, int status, const char *what);
void wf_udp_unreachable(weft_peer *, int error);
int wf_udp_peer_add(weft_ep *, weft_loc *, uint32_t loc_id, const void *addr,
                    size_t len, weft_peer **);
int wf_udp_peer_del(weft_peer *, int abrupt);
int wf_udp_drain(weft_ep *);
void wf_udp_peer_free(weft_peer *);
void wf_udp_link_timers(weft_ep *, uint64_t now);
uint64_t wf_udp_link_deadline(const weft_ep *);

/* alive.c */
void wf_udp_alive_begin(weft_peer *, uint64_t now);
uint64_t wf_udp_alive_deadline(const weft_peer *);
void wf_udp_alive_turn(weft_peer *, uint64_t now);
/* news: it had data that had not come before. */
void wf_udp_alive_heard(weft_peer *, bool drained, uint64_t now);
uint64_t wf_udp_alive_silent(weft_peer *, uint64_t within);

/* tx.c */
int wf_udp_send(weft_peer *, weft_tx *);
int wf_udp_send_short(weft_peer *, const weft_hdr *, const void *data,
                      size_t len);
bool wf_udp_frame(weft_peer *, uint8_t type);
void wf_udp_flush(weft_peer *); /* from progress only: calls back */
void wf_udp_tx_cancel(weft_peer *, int status);

/* rx.c */
size_t wf_udp_deliver(void *peer, const uint8_t *data, size_t n);
bool wf_udp_place(void *peer, uint64_t offset, const uint8_t *data, size_t n);
void wf_udp_rx_cancel(weft_peer *, int status);
void wf_udp_rx_resume(weft_peer *);

static inline uint64_t wf_udp_now(weft_ep *ep)
{
    return ep->host->now_ns(ep->core);
}

#endif
