/* Declarations shared by the files of the sctp transport.
 *
 *   sctp.c          options, operations, progress
 *   link.c          a peer: link made, broken, closed
 *   tx.c, rx.c      containers out and in
 *   wire.c          datagrams: bytes, out, in
 *   part.c          packets in parts, where large datagrams do not arrive
 *   path.c          several paths to a peer
 *   alive.c         whether a silent peer is still there
 *   agree.c         which stack carries a link
 *   association.c   the associations of a peer
 *   association_setup.c   associations of the kernel find their link
 *   assoc_token.c   the tokens by which they prove it
 *   spread.c        when a peer gets further associations
 *   stack.c         the protocol in user space, process-wide
 *   user_assoc.c, user_packet.c   its associations and their packets
 *   library.c       the library that it comes from
 *   kernel.c, kernel_data.c   the protocol of the kernel
 *
 * Addresses, sockets and the handshake are in plugins/ip.
 *
 * THREADS  The transport has no thread of its own. The core serialises all
 * calls of an endpoint; the user-space stack is shared by all endpoints of the
 * process and has a lock (stack.h).
 * INVARIANT  No call from the core except progress() calls back into the core.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SCTP_H
#define WF_SCTP_H

#include "../ip/alive.h"
#include "../ip/call.h"
#include "kernel.h"
#include "part.h"
#include "stack.h"

enum {
    SCTP_SHORT_MAX = 8 << 10, /* payload that travels with its header */
    SCTP_RBUF = 1 << 16,
    SCTP_EARLY_MAX = 8 << 20, /* payload kept until its header has come */
    SCTP_IOV = 64,
    SCTP_SEND_ROOM = 4 << 20, /* of all associations of a peer */
    SCTP_SEND_MIN = 512 << 10,
    SCTP_FRAME = 24,
    SCTP_TOKEN = 24,
    SCTP_GOODBYE = 0xf2 /* container type: the last container */
};

/* Streams. Headers are in order on ORDER, urgent ones on URGENT; the payload of
 * a long container has one of the others to itself. */
enum {
    STREAM_ORDER,
    STREAM_URGENT,
    STREAM_BULK = SCTP_HEADERS,
    BULK_STREAMS = SCTP_STREAMS - SCTP_HEADERS
};

/* Associations of a peer. Headers travel on the first, which has FIRST_STREAMS
 * streams for payload; each of the others has EACH_STREAMS. CALLERS_MAX is the
 * number of accepted associations whose link is not known yet. */
enum {
    ASSOCS_MAX = 16,
    FIRST_STREAMS = 16,
    EACH_STREAMS = 4,
    CALLERS_MAX = 64
};
_Static_assert(BULK_STREAMS == FIRST_STREAMS + (ASSOCS_MAX - 1) * EACH_STREAMS,
               "streams");

/* The kind of a message: the payload protocol identifier of its chunks. */
enum wf_sctp_kind {
    KIND_WHOLE = 1, /* header and payload */
    KIND_PAYLOAD,   /* more payload of the container of this stream */
    KIND_IDENTIFY,  /* the setup of an association of the kernel */
    KIND_ACCEPT,
    KIND_START,
    KIND_ANNOUNCE = 0x100 /* header; payload follows on stream kind & 0xff */
};

struct wf_sctp_cfg {
    const char *interface; /* auto, or a list of names, addresses, subnets */
    int64_t port;
    uint64_t window, packet, rcvbuf, eager;
    uint64_t connect_timeout, handshake_timeout, unreachable, heartbeat;
    uint64_t keepalive, vanished;
    int64_t associations, associations_max;
    int checksum; /* enum wf_ip_checksum */
    int stack;    /* enum wf_sctp_stack */
};

enum wf_sctp_stack { STACK_AUTO, STACK_KERNEL, STACK_LIBRARY };

/* ---- datagrams (wire.c) -------------------------------------------------- */

/* A datagram begins with this head, all little-endian:
 *
 *    0 type   1 version   2 magic   4 to   8 from: link ids
 *   12 check  CRC-32C of the whole datagram, with 0 here; in PACKET, which has
 *             a checksum of its own, the number of its association
 *   16 value  receive room in a handshake, stamp of a probe; not in PACKET
 *   20 offer  in a handshake: the stacks of the sender; in a probe:
 *             PROBE_DRAINED if the sender had just found its sockets empty; not
 *             in PACKET
 *      body
 *   PART: see part.c
 *
 * Types up to IP_RESET are words of the handshake. */
enum wf_sctp_type { TYPE_PACKET = 16, TYPE_PROBE, TYPE_ECHO, TYPE_PART };
enum { HEAD_PACKET = 16, HEAD_WORD = 24, PROBE_DRAINED = 1 };

struct wf_sctp_datagram {
    uint8_t type;
    uint32_t to, from, check, value, offer;
    const uint8_t *body;
    size_t n;
};

/* Reads a datagram. Returns false if it is none of this transport. */
bool wf_sctp_datagram_read(struct wf_sctp_datagram *, const uint8_t *bytes,
                           size_t n);
/* Writes the head of a datagram; returns its bytes. */
size_t wf_sctp_datagram_head(const struct wf_sctp_datagram *, uint8_t *out);

/* ---- peers --------------------------------------------------------------- */

struct wf_sctp_path {
    struct wf_ip_path to;
    uint64_t asked;    /* when the first unanswered probe left; 0: none */
    uint64_t answered; /* when the last answer came */
    bool failed;
};

/* The socket and path by which packets leave; used under the lock of the
 * stack. */
struct wf_sctp_exit {
    int fd;
    struct wf_ip_path to;
    uint8_t head[HEAD_PACKET];
    uint32_t to_link, from_link;
    uint32_t number; /* of packets that were sent, for parts */
    bool in_parts;   /* large packets are sent in parts: part.c */
    uint64_t packets;
    bool sent, errors;
};

/* A container whose payload is on its way out. */
struct wf_sctp_out {
    weft_tx *tx;
    uint64_t off; /* of the payload, next to be sent */
};

/* An announced container, whose payload comes in. */
struct wf_sctp_in {
    struct wf_sctp_in *next;
    weft_sink *sink; /* NULL: its payload is dropped */
    uint64_t off, len;
};

/* Payload that came before its header. */
struct wf_sctp_early {
    struct wf_sctp_early *next;
    uint16_t stream;
    size_t n;
    uint8_t bytes[];
};

/* How many associations carry payload, and the losses counted so far
 * (spread.c).
 */
struct wf_sctp_spread {
    int now; /* associations */
    uint32_t rtt_min, losses, queued_losses;
};

/* An observation of the losses of a peer's associations. */
struct wf_sctp_loss_sample {
    uint32_t retransmitted, rtt_ms;
    bool answered; /* the peer has answered lately */
};

/* One association with a peer, of the kernel or of the user-space stack. */
struct wf_sctp_assoc {
    struct wf_sctp_user_assoc user;
    struct wf_sctp_sock *sock; /* of the kernel; NULL: `user` is used */
    weft_peer *peer;
    uint8_t number;
    bool up;
    bool set_up;         /* of the kernel: the other side is proven */
    uint32_t owed_token; /* of the kernel: kind of token to be sent yet, or 0 */
    uint64_t stalled_since; /* the last progress while data is unacknowledged */
};

struct weft_peer {
    struct wf_ip_peer ip;
    struct wf_ip_party party;
    weft_ep *ep;
    weft_peer *open_next;
    bool owes_tokens; /* an association has an owed_token */

    /* which stack carries the link (agree.c, association_setup.c) */
    bool kernel;          /* the kernel's does */
    bool library;         /* libusrsctp could */
    bool dialled;         /* this side has called */
    uint16_t kernel_port; /* of the listener there */
    int to_connect;       /* number of associations to be set up */
    int connected;        /* number of those that are connected */
    int accepted;         /* number of those that the peer has accepted */
    uint64_t salt, setup_since, polled_at, retry_at;

    /* the link is open */
    bool listed; /* in ep->open */
    bool up;     /* the associations are up */
    uint32_t link, remote_link, packet, fragment, room;
    struct wf_sctp_assoc *assoc[ASSOCS_MAX];
    int assocs_needed, assocs_up; /* for the link to be up */
    struct wf_sctp_spread spread;
    uint32_t unread; /* bit i: association i may have something to read */
    bool check;      /* packets carry a checksum */
    struct wf_sctp_exit exit;
    struct wf_sctp_path path[IP_ADDRS_MAX];
    int paths, active;
    uint64_t traffic_at, waiting_since, probe_at, unreachable_since;
    uint64_t parts_until; /* exit.in_parts: as long as that */
    uint32_t stamp;
    struct wf_ip_alive alive;
    int next_path; /* by which its host is asked next */

    /* sending */
    struct wf_sctp_out out[BULK_STREAMS];
    int outs, next_out; /* number in use; the next to be served */
    int next_slot;      /* where to look for a free stream next */
    int next_assoc;     /* the association that gets the next container */

    /* receiving */
    struct wf_sctp_in *in[BULK_STREAMS];
    struct wf_sctp_early *early, **early_tail;
    size_t early_bytes;
    struct wf_sctp_joints joints;
    int ins;
    uint8_t *held; /* a message that the core had no memory for */
    struct wf_sctp_message held_as;
    bool resumed;
    int gone_status;
    const char *gone; /* why it does not answer; judged when nothing is held */
};

struct wf_sctp_counts {
    uint64_t connections, tx_containers, tx_bytes, rx_containers, rx_bytes,
        packets_in, packets_out, path_failures, path_switches, kernel_links,
        spreads;
    uint64_t retransmissions; /* of associations that are closed */
};

/* An accepted association of the kernel whose link is not known yet. */
struct wf_sctp_caller {
    struct wf_sctp_sock *sock;
    uint64_t until; /* 0: the place is free */
};

struct weft_ep {
    struct wf_ip_endpoint ip;
    struct wf_sctp_cfg cfg;
    bool joined; /* uses libusrsctp */
    uint64_t parts_until; /* of the last link that needed parts */
    bool kernel; /* the kernel has SCTP, and it is wanted */
    int listener;
    uint16_t kernel_port; /* 0: no listener */
    struct wf_sctp_caller caller[CALLERS_MAX];
    int callers;
    struct wf_ip_calls calls;
    struct wf_ip_watch watch;
    int fd[IP_ADDRS_MAX]; /* on the interface of the same index in ip.use */
    uint32_t mtu[IP_ADDRS_MAX];
    bool drained; /* this call of progress() has found all sockets empty */
    weft_peer *open; /* list of all whose link is open */
    bool errors; /* the kernel has news about datagrams */
    uint64_t ticked;
    uint8_t *rbuf, *message, *scratch;
    struct wf_sctp_counts count;
};

/* part.c */
/* Sends a packet in parts, if that is needed. Under the lock of the stack. */
bool wf_sctp_send_parts(struct wf_sctp_exit *, uint32_t assoc,
                        const void *packet, size_t n);
/* A link begins: its packets are whole, unless parts are needed elsewhere. */
void wf_sctp_begin_size(weft_peer *, uint64_t now);
/* Notices that large packets do not arrive; a part of watching a peer. */
void wf_sctp_watch_size(weft_peer *, uint64_t now);

/* wire.c */
/* Opens the UDP sockets, one per interface in use. */
int wf_sctp_open_sockets(weft_ep *);
void wf_sctp_send_datagram(weft_ep *, const struct wf_ip_path *,
                           const struct wf_sctp_datagram *);
/* Sends a word of the handshake. */
void wf_sctp_send_handshake(weft_ep *, const struct wf_ip_path *,
                            const struct wf_ip_word *, const void *body,
                            size_t n);
/* Sends a packet of an association; called by the stack, under its lock. */
void wf_sctp_send_packet(void *assoc, const void *packet, size_t n);
/* Reads datagrams of a socket; returns the events handled. */
int wf_sctp_read_socket(weft_ep *, int socket, int budget);
/* Reads errors of earlier datagrams; progress() only. Returns their number. */
int wf_sctp_read_errors(weft_ep *);

/* path.c */
/* Finds the paths to the peer; `first` is that of the handshake. */
void wf_sctp_find_paths(weft_peer *, const struct wf_ip_path *first);
/* Tells whether a datagram that came by this path is from the peer. */
bool wf_sctp_is_known_path(const weft_peer *, const struct wf_ip_path *);
/* Notes that a packet has come from the peer. */
void wf_sctp_note_traffic(weft_peer *, uint64_t now);
/* Handles the answer to a probe. */
void wf_sctp_handle_echo(weft_peer *, const struct wf_ip_path *, uint32_t stamp,
                         uint64_t now);
/* Handles an error of the kernel for a datagram on this path. */
void wf_sctp_handle_path_error(weft_peer *, const struct wf_ip_path *,
                               int error);
/* Notes that, as the kernel says, this address answers or does not. */
void wf_sctp_handle_path_change(weft_peer *, const struct wf_ip_addr *,
                                bool works);
/* Does what is due for a peer: paths, timers of its setup, its life. Returns
 * the time when it is due again; 0: not before there is traffic. */
uint64_t wf_sctp_watch_peer(weft_peer *, uint64_t now);
/* Sends a probe on every path. */
void wf_sctp_probe_paths(weft_peer *, uint64_t now);

/* alive.c */
/* Asks a silent peer for a sign of life, when it is time. Returns the time of
 * the next check; 0: never. */
uint64_t wf_sctp_alive_check(weft_peer *, uint64_t now);
/* Notes that the peer has answered a probe. */
void wf_sctp_alive_note_echo(weft_peer *, uint64_t now);
uint64_t wf_sctp_silent_for(weft_peer *, uint64_t within);

/* agree.c */
/* Finds out which stacks there are, and joins libusrsctp. */
int wf_sctp_find_stacks(weft_ep *);
/* Writes the offer that this side makes in a handshake. */
void wf_sctp_make_offer(weft_ep *);
/* Logs which stacks there are. */
void wf_sctp_log_stacks(weft_ep *);
/* Chooses the stack of a link, from the offers of both sides. */
int wf_sctp_agree_on_stack(weft_peer *, const struct wf_ip_call *);
/* Goes over from the kernel's SCTP to UDP, or breaks the link. */
void wf_sctp_fall_back_to_udp(weft_peer *, const char *why);
/* Follows the other side, which sends inside UDP. Returns false if it cannot
 * have gone over. */
bool wf_sctp_follow_to_udp(weft_peer *);

/* assoc_token.c */
/* Sends the token of this kind; it stays owed if the kernel has no memory. */
void wf_sctp_send_token(struct wf_sctp_assoc *, uint32_t kind);
bool wf_sctp_token_is_valid(const weft_peer *, uint32_t kind, uint32_t number,
                            const uint8_t *data, size_t n);
/* Returns word i of a token. */
uint32_t wf_sctp_token_word(const uint8_t *, int i);

/* association_setup.c */
int wf_sctp_kernel_open(weft_ep *);
void wf_sctp_kernel_close(weft_ep *);
/* Begins to set up the associations of a link that the kernel carries. */
int wf_sctp_setup_begin(weft_peer *);
/* Notes that an association is connected; the last one makes the dialler
 * identify itself on all of them. */
void wf_sctp_setup_connected(struct wf_sctp_assoc *);
/* Tells whether the dialler may still begin again, or use another stack. */
bool wf_sctp_setup_is_pending(const weft_peer *);
/* Drops and frees the association of a dialler that begins again. */
void wf_sctp_setup_drop(struct wf_sctp_assoc *);
/* Drops an attempt that has failed; tries again soon, or another stack. */
void wf_sctp_setup_fail(weft_peer *, const char *why);
/* Handles a message on an association that is not set up. Returns true if the
 * message belonged to the setup. */
bool wf_sctp_setup_receive(struct wf_sctp_assoc *,
                           const struct wf_sctp_message *, const uint8_t *data);
/* Does what is due for a setup; returns the time when it is due again, or 0. */
uint64_t wf_sctp_setup_watch(weft_peer *, uint64_t now);
/* Sends the tokens again that the kernel had no memory for. Returns true if
 * some are still owed. */
bool wf_sctp_send_owed_tokens(weft_peer *);
/* Drops callers that have not identified themselves in time; returns the time
 * of the next one, or 0. */
uint64_t wf_sctp_callers_watch(weft_ep *, uint64_t now);
/* Makes epoll watch for the events that the peer's associations need now. */
void wf_sctp_update_epoll(weft_peer *);
/* Handles what epoll reports; returns the number of events. */
int wf_sctp_poll(weft_ep *, int budget);

/* association.c */
/* Opens the associations of a peer inside UDP. */
int wf_sctp_assocs_open(weft_peer *);
void wf_sctp_assocs_close(weft_peer *);
/* Returns how often something was sent again: packets, or the kernel's
 * chunks. */
uint64_t wf_sctp_assocs_retransmissions(const weft_peer *);
/* Returns one of `parts` equal parts of `all`, but not less than `least`. */
uint32_t wf_sctp_share_of(uint32_t all, uint32_t parts, uint32_t least);
int wf_sctp_assoc_send(struct wf_sctp_assoc *, const struct wf_sctp_message *,
                       const void *data, bool bulk);
enum wf_sctp_event wf_sctp_assoc_receive(struct wf_sctp_assoc *,
                                         struct wf_sctp_message *);
/* Returns the association of that number, made if necessary, or NULL if there
 * cannot be one. */
struct wf_sctp_assoc *wf_sctp_assoc_get(weft_peer *, uint32_t number);
/* Marks the association as up, and the link if all that it needs are. */
void wf_sctp_assoc_mark_up(struct wf_sctp_assoc *);
/* Returns the bytes that were sent, or are to be, and not acknowledged. */
uint32_t wf_sctp_unacked_bytes(weft_peer *);
/* Tells whether the peer has an acknowledgement to send. */
bool wf_sctp_awaits_ack(const weft_peer *);
/* Adapts the receive buffers of all associations: wf_sctp_user_make_room(). */
void wf_sctp_assocs_make_room(weft_peer *);

/* spread.c */
/* Decides from a new observation how many associations carry payload. */
void wf_sctp_spread_judge(struct wf_sctp_spread *,
                          const struct wf_sctp_loss_sample *, int least,
                          int most);
/* Observes the peer, and opens further associations if they help. */
void wf_sctp_spread_watch(weft_peer *, uint64_t now);

/* link.c */
extern const struct wf_ip_call_ops wf_sctp_call_ops;
extern const struct wf_ip_transport wf_sctp_transport;
/* Marks the link as up: its associations are, and containers can flow. */
void wf_sctp_link_up(weft_peer *);
/* Handles that the peer does not answer to this link any more. EPEER: the
 * process has ended; ELINK: it may be there and have a new link. */
void wf_sctp_peer_gone(weft_peer *, int status, const char *what);

/* tx.c */
int wf_sctp_tx(weft_peer *, weft_tx *);
int wf_sctp_tx_short(weft_peer *, const weft_hdr *, const void *data,
                     size_t len, unsigned flags);
/* Sends a frame of this transport itself; returns false if there is no room. */
bool wf_sctp_send_frame(weft_peer *, uint8_t type);
/* Sends payload as far as there is room. Returns false if something is left. */
bool wf_sctp_push_payload(weft_peer *);
/* Sends payload, returns the containers that have left to the core, and says
 * that there is room. Calls back: from progress() only. */
void wf_sctp_finish_sends(weft_peer *);
void wf_sctp_tx_cancel(weft_peer *, int status);

/* rx.c */
/* Delivers one message. Returns false if the core has no memory for it: it is
 * to be delivered again. */
bool wf_sctp_deliver(weft_peer *, const struct wf_sctp_message *,
                     const uint8_t *data);
/* Handles everything that has arrived. */
void wf_sctp_take_arrived(weft_peer *);
void wf_sctp_rx_cancel(weft_peer *, int status);
void wf_sctp_rx_resume(weft_peer *);
/* Tells whether messages of this association may be read now. */
bool wf_sctp_is_readable(const weft_peer *, int assoc);
/* Tells whether no container is incomplete and no message held. */
bool wf_sctp_rx_idle(const weft_peer *);

static inline uint64_t wf_sctp_now_ns(weft_ep *ep)
{
    return ep->ip.host->now_ns(ep->ip.core);
}

#endif
