/* The declarations that the files of the udp-reliable transport share.
 *
 *   udp.c      options, operations, progress    socket.c  datagrams in, errors
 *   out.c      packets out, in batches          hot.c     a peer's own socket
 *   call.c     words of the handshake           link.c    a peer up and down
 *   tx.c       containers out                   rx.c      containers in
 *   flow*.c    the stream, without I/O          packet.c  bytes of a packet
 *   seal.c     authentication of packets        digest.c  digest of a packet
 *   alive.c    noticing a peer that is gone
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
#include "../ip/call.h"
#include "digest.h"
#include "flow.h"

enum {
    UDP_SHORT_MAX = 8 << 10, /* payload that is copied to the stage */
    UDP_RBUF = 1 << 16,      /* bytes of the read buffer */
    BATCH_PACKETS = 64,      /* the most that kernels cut */
    BATCH_BYTES = 64000,
    UDP_HOT = IP_ADDRS_MAX, /* index of the socket of one peer */
    UDP_SOCKETS,
    UDP_FRAME = 24,    /* bytes of the transport's own frames */
    UDP_GOODBYE = 0xf2 /* frame: nothing follows */
};

struct wf_udp_cfg {
    const char *interface; /* auto, or a list of names, addresses, subnets */
    int64_t port;
    uint64_t window, packet, rcvbuf, eager, coalesce;
    uint64_t connect_timeout, handshake_timeout, unreachable; /* ns */
    uint64_t keepalive, vanished;                             /* ns */
    int checksum, mac; /* enum wf_ip_checksum */
};

/* The way that the datagrams of one link take, and how they are protected. */
struct wf_udp_path {
    struct wf_ip_path way;
    bool check, mac; /* by a checksum, by a code */
};

struct weft_peer {
    struct wf_ip_peer ip;
    struct wf_ip_party party;
    weft_ep *ep;
    weft_peer *open_next;
    bool resumed;         /* the core accepts what comes in again */
    const char *gone; /* why nothing answers; judged when all is read */
    int gone_status;

    /* while the link is open */
    uint32_t link, remote_link;
    struct wf_udp_path path;
    uint64_t salt, digest_key[DIGEST_KEY]; /* of its codes */
    bool dialled;                          /* by this process */
    struct wf_udp_flow flow;
    uint64_t unreachable_since; /* ns; 0: it is not */
    struct wf_ip_alive alive;
    uint64_t confirmed; /* the last packet that is known to be there */
    uint64_t acked;     /* stream bytes that were acknowledged by then */

    /* receiving */
    weft_sink *sink;
    uint64_t rx_off, rx_len; /* of the payload that is coming in */
    uint64_t rx_from, rx_at; /* in the stream: that payload; the next byte */
    uint8_t carry[WEFT_HDR]; /* a header that is not complete */
    uint32_t carry_n;
};

struct wf_udp_counts {
    uint64_t connections, tx_containers, tx_bytes, rx_containers, rx_bytes,
        packets_in, packets_out;
    uint64_t lost, again, timeouts; /* of links that are closed */
};

/* Packets of one size, which leave together; the last may be shorter. */
struct wf_udp_batch {
    struct wf_udp_path path;
    uint8_t *bytes; /* with room for one packet more */
    uint32_t used, each, n;
    bool closed; /* the last packet is shorter: no other fits */
};

struct weft_ep {
    struct wf_ip_endpoint ip;
    struct wf_udp_cfg cfg;
    struct wf_ip_calls calls;
    struct wf_ip_watch watch;
    int fd[UDP_SOCKETS]; /* on the interface of the same index in ip.use */
    uint32_t mtu[IP_ADDRS_MAX];
    unsigned productive_polls[UDP_SOCKETS]; /* since arm() */
    bool watched[UDP_SOCKETS];              /* by epoll */
    uint32_t links[IP_ADDRS_MAX];           /* that are open there */
    unsigned poll_round;                    /* counts calls of progress() */
    bool unread[UDP_SOCKETS];               /* there may be more to read */
    bool drained; /* this call of progress() has found all sockets empty */
    weft_peer *hot, *frequent;   /* has that socket; sent the last packets */
    unsigned packets_in_row;     /* by that peer, in the common sockets */
    unsigned row_threshold;      /* so many give it the hot socket */
    unsigned drain_first_rounds; /* the hot socket is not read until then */
    unsigned others_interval;    /* poll rounds between the other sockets' */
    int reading;                 /* the socket */
    weft_peer *open;         /* list of all that are open */
    bool trusted;            /* security = none */
    weft_peer *reading_peer; /* whose packets are being read */
    uint64_t read_at;        /* ns, when its first one was */
    bool errors;       /* the kernel has news about datagrams */
    uint64_t timer_at; /* ns: no timer ends before; 0: none is set */
    struct sockaddr_storage last_from; /* the last sender */
    socklen_t last_from_len;
    struct wf_ip_path sender; /* the same, in normal form */
    uint8_t *rbuf, *scratch;
    struct wf_udp_flow_out out;
    struct wf_udp_batch batch;
    bool whole_only; /* the kernel does not cut batches */
    bool merged;     /* the kernel returns several packets at a time */
    struct wf_udp_counts count;
};

/* out.c */
/* Sends a datagram, best effort. Returns false only if the socket has no room
 * now. */
bool wf_udp_send_datagram(weft_ep *, const struct wf_ip_path *,
                          const struct iovec *, int n);
/* Sends all packets of the flow that may be sent now. Returns false if the
 * socket has no room for them; progress() goes on then. */
bool wf_udp_transmit(weft_peer *, uint64_t now);

/* socket.c */
int wf_udp_open_sockets(weft_ep *);
/* Reads datagrams, until budget or the socket is empty. Returns how many. */
int wf_udp_read_socket(weft_ep *, int socket, int budget);
/* Handles errors that the kernel reports about datagrams that were sent; from
 * progress() only. Returns how many. */
int wf_udp_read_errors(weft_ep *);
/* Sets the options of a socket before it is bound. */
void wf_udp_tune_socket(weft_ep *, int fd, int family);
/* Returns the data bytes of the largest packet that the interface carries. */
uint32_t wf_udp_packet_bytes(const weft_ep *, const struct wf_ip_path *);

/* hot.c */
void wf_udp_hot_init(weft_ep *);
/* Allows several sockets on the port of fd; the first is bound by then. */
void wf_udp_hot_share_port(int fd);
void wf_udp_hot_close(weft_ep *);
void wf_udp_hot_forget_peer(weft_ep *, const weft_peer *);
/* Records that a packet of the peer was read from that socket. */
void wf_udp_hot_count_packet(weft_ep *, weft_peer *, int socket);
/* Gives the hot socket to another peer if that one sends most. */
void wf_udp_hot_choose_peer(weft_ep *);

/* seal.c */
/* Tells whether this process wants a code in each packet. */
bool wf_udp_wants_code(const weft_ep *);
/* Derives the key of the digest from the salt of the link. */
void wf_udp_make_digest_key(weft_peer *);
/* Writes the code of the packet that the flow sends next. */
void wf_udp_write_code(weft_peer *, const struct iovec *, int n, uint8_t *code);
/* Checks the code or the checksum of a packet. Returns its bytes without the
 * code; 0: the packet is forged or damaged. */
size_t wf_udp_check_packet(weft_peer *, const struct wf_udp_packet *,
                           uint8_t *bytes, size_t n);
/* Append and check the code of an ACCEPT or a RESET. bytes has room for a code
 * behind its n bytes; the new length is returned. */
size_t wf_udp_append_code_of_ids(weft_ep *, weft_loc *, uint8_t *bytes,
                                 size_t n);
bool wf_udp_are_ids_proved(weft_ep *, weft_loc *, const uint8_t *bytes,
                           size_t n);

/* call.c */
void wf_udp_send_word(weft_ep *, const struct wf_ip_path *,
                      const struct wf_ip_word *, const void *body, size_t n);
/* Handles a packet that is neither DATA nor ACK, n bytes with its header. */
void wf_udp_take_word(weft_ep *, const struct wf_ip_path *,
                      const struct wf_udp_packet *, uint8_t *bytes, size_t n);

/* link.c */
extern const struct wf_ip_call_ops wf_udp_call_ops;
extern const struct wf_ip_transport wf_udp_transport;
/* Handles that nothing answers to this link any more: the process has ended
 * (status EPEER), or only the link (ELINK). From progress() only. */
void wf_udp_handle_gone(weft_peer *, int status, const char *what);
/* Handles that the kernel knows no way to the peer. */
void wf_udp_note_unreachable(weft_peer *, int error);
void wf_udp_run_link_timers(weft_ep *, uint64_t now);
/* Returns when they have something to do; 0: never. */
uint64_t wf_udp_links_deadline(const weft_ep *);

/* alive.c */
void wf_udp_alive_begin(weft_peer *, uint64_t now);
uint64_t wf_udp_alive_deadline(const weft_peer *);
/* Asks the peer if that is due; breaks the link if the peer is gone. */
void wf_udp_alive_check(weft_peer *, uint64_t now);
/* Records that a packet of the peer was read. drained: the peer had found its
 * sockets empty before it sent the packet. */
void wf_udp_alive_note_packet(weft_peer *, bool drained, uint64_t now);
/* Implements weft_ops.silent. */
uint64_t wf_udp_alive_silent_ns(weft_peer *, uint64_t within);

/* tx.c */
int wf_udp_send(weft_peer *, weft_tx *);
int wf_udp_send_short(weft_peer *, const weft_hdr *, const void *data,
                      size_t len, unsigned flags);
/* Queues a frame of the transport's own. Returns false if there is no room. */
bool wf_udp_queue_frame(weft_peer *, uint8_t type);
/* Returns acknowledged containers to the core, and tells it that there is room;
 * from progress() only, for it calls back. */
void wf_udp_return_acknowledged(weft_peer *);
/* Returns all containers to the core. */
void wf_udp_tx_cancel(weft_peer *, int status);

/* rx.c */
/* Implement deliver() and place() of the flow. */
size_t wf_udp_deliver_stream(void *peer, const uint8_t *data, size_t n);
bool wf_udp_place_early(void *peer, uint64_t offset, const uint8_t *data,
                        size_t n);
void wf_udp_rx_cancel(weft_peer *, int status);
void wf_udp_rx_resume(weft_peer *);

static inline uint64_t wf_udp_now(weft_ep *ep)
{
    return ep->ip.host->now_ns(ep->ip.core);
}

#endif
