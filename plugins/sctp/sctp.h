/* What the files of the sctp transport share.
 *
 *   sctp.c     options, operations, progress   link.c     a peer up and down
 *   tx.c       containers out                  rx.c       containers in
 *   wire.c     datagrams: bytes, out, in       path.c     several ways to a peer
 *   strand.c   associations of a peer          agree.c    which stack has them
 *   spread.c   when there are to be more
 *   stack.c    the protocol, process-wide      library.c  where it comes from
 *   kernel.c   the protocol of the kernel      meet.c     whose association
 *   pass.c     how that is proven
 *
 * Addresses, sockets and the handshake are in plugins/ip.
 *
 * THREADS  none of its own. The core serialises all calls of an endpoint; the
 * protocol is shared by all endpoints of the process, and has a lock (stack.h).
 * INVARIANT  No call from the core except progress() calls back into the core.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SCTP_H
#define WF_SCTP_H

#include "../ip/alive.h"
#include "../ip/attention.h"
#include "../ip/call.h"
#include "kernel.h"
#include "stack.h"

enum {
    SCTP_SHORT_MAX = 8 << 10, /* payload that travels with its header */
    SCTP_RBUF = 1 << 16,
    SCTP_EARLY_MAX = 8 << 20, /* payload that waits for its announcement */
    SCTP_IOV = 64,
    SCTP_SEND_ROOM = 4 << 20, /* of all associations of a peer */
    SCTP_SEND_MIN = 512 << 10,
    SCTP_FRAME = 24,
    SCTP_PASS = 24,
    SCTP_GOODBYE = 0xf2 /* container type: nothing follows */
};

/* Streams. Headers are in order on ORDER, urgent ones on URGENT; the payload of
 * a long container has one of the others to itself. */
enum {
    STREAM_ORDER,
    STREAM_URGENT,
    STREAM_BULK = SCTP_HEADERS,
    BULK = SCTP_STREAMS - SCTP_HEADERS
};

/* Associations of a peer. Headers travel on the first, which has FIRST streams
 * for payload; each of the others has EACH. */
enum { STRANDS = 16, FIRST = 16, EACH = 4, GUESTS = 64 };
_Static_assert(BULK == FIRST + (STRANDS - 1) * EACH, "streams");

/* What a message is; the payload protocol identifier of its chunks. */
enum wf_sctp_kind {
    KIND_WHOLE = 1, /* header and payload */
    KIND_PAYLOAD,   /* more of the payload of this stream's container */
    KIND_MEET,      /* the first words of an association of the kernel */
    KIND_WELCOME,
    KIND_GO,
    KIND_ANNOUNCE = 0x100 /* header; payload follows on stream kind & 0xff */
};

struct wf_sctp_cfg {
    const char *interface; /* auto, or a list of names, addresses, subnets */
    int64_t port;
    uint64_t window, packet, rcvbuf, eager;
    uint64_t connect_timeout, handshake_timeout, unreachable, heartbeat;
    uint64_t keepalive, vanished;
    int64_t associations, associations_max;
    int checksum; /* enum wf_sctp_check */
    int stack;    /* enum wf_sctp_stack */
};

enum wf_sctp_check { CHECK_AUTO, CHECK_ON, CHECK_OFF };
enum wf_sctp_stack { STACK_AUTO, STACK_KERNEL, STACK_LIBRARY };

/* ---- datagrams (wire.c) -------------------------------------------------- */

/*   0 type   1 version   2 magic   4 to   8 from: link ids
 *  12 check  CRC-32C of it all, with 0 here; in PACKET, which has its own: the
 *            association that it belongs to
 *  16 value  room of a handshake, stamp of a probe; not in PACKET
 *  20 offer  of a handshake: which stacks the speaker has; of a probe:
 *            PROBE_DRAINED if the sender had just found its sockets empty; not
 *            in PACKET
 *     body
 * All little-endian. Types up to IP_RESET are words of the handshake. */
enum wf_sctp_type { TYPE_PACKET = 16, TYPE_PROBE, TYPE_ECHO };
enum { HEAD_PACKET = 16, HEAD_WORD = 24, PROBE_DRAINED = 1 };

struct wf_sctp_datagram {
    uint8_t type;
    uint32_t to, from, check, value, offer;
    const uint8_t *body;
    size_t n;
};

/* False: this is no datagram of ours. */
bool wf_sctp_datagram_read(struct wf_sctp_datagram *, const uint8_t *bytes,
                           size_t n);
/* Returns the bytes of the head. */
size_t wf_sctp_datagram_head(const struct wf_sctp_datagram *, uint8_t *out);

/* ---- peers --------------------------------------------------------------- */

struct wf_sctp_path {
    struct wf_ip_path to;
    uint64_t asked;    /* when the first probe without an answer left; 0: none */
    uint64_t answered; /* when the last answer came */
    bool failed;
};

/* Where packets leave; changed and read under the lock of the stack. */
struct wf_sctp_exit {
    int fd;
    struct wf_ip_path to;
    uint8_t head[HEAD_PACKET];
    uint64_t packets;
    bool sent, errors;
};

struct wf_sctp_out { /* a container whose payload is on its way */
    weft_tx *tx;
    uint64_t off; /* of the payload, next to be sent */
};

struct wf_sctp_in { /* an announced container */
    struct wf_sctp_in *next;
    weft_sink *sink; /* NULL: its payload is dropped */
    uint64_t off, len;
};

struct wf_sctp_early { /* payload that came before its header */
    struct wf_sctp_early *next;
    uint16_t stream;
    size_t n;
    uint8_t bytes[];
};

/* How many associations carry payload (spread.c). */
struct wf_sctp_spread {
    int now;
    uint32_t rtt_least, losses, beside_queue;
};

/* What is seen of them. */
struct wf_sctp_sight {
    uint32_t repeated, rtt_ms;
    bool answered; /* the peer is heard of */
};

/* One association with a peer. */
struct wf_sctp_strand {
    struct wf_sctp_assoc assoc;
    struct wf_sctp_sock *sock; /* of the kernel; NULL: assoc is it */
    weft_peer *peer;
    uint8_t number;
    bool up;
    bool met; /* of the kernel: who is at its end is known to both */
    uint32_t owes; /* of the kernel: the pass that is still to be shown, or 0 */
};

struct weft_peer {
    struct wf_ip_party party;
    weft_ep *ep;
    weft_loc *loc;
    weft_peer *open_next;
    struct wf_ip_due due; /* for progress() to look at */
    bool want_ready, reported;
    bool owing; /* a strand does */
    bool said_goodbye;

    /* which stack carries the link (agree.c, meet.c) */
    bool kernel, library; /* the kernel's does; libusrsctp could */
    bool dialled;
    uint16_t kernel_port; /* the listener's, there */
    int calls, made, welcome; /* associations to be made, made, met */
    uint64_t salt, meet_since, looked_at, retry_at;

    /* the link is open */
    bool listed; /* in ep->open */
    bool up; /* the associations are */
    uint32_t link, remote_link, packet, fragment, room;
    struct wf_sctp_strand *strand[STRANDS];
    int strands, strands_up; /* without which the link is not up */
    struct wf_sctp_spread spread;
    uint32_t unread;         /* bit i: strand i may have something */
    bool check;              /* packets carry a checksum */
    struct wf_sctp_exit exit;
    struct wf_sctp_path path[IP_ADDRS_MAX];
    int paths, active;
    uint64_t traffic_at, waiting_since, probe_at, unreachable_since;
    uint32_t stamp;
    struct wf_ip_alive alive;
    int next_path; /* by which its host is called next */

    /* sending */
    struct wf_sctp_out out[BULK];
    int outs, next_out; /* how many are in use; who is served next */
    int next_slot;      /* where the next container goes, if that is free */
    int next_strand;    /* and if that is the strand whose turn it is */

    /* receiving */
    struct wf_sctp_in *in[BULK];
    struct wf_sctp_early *early, **early_tail;
    size_t early_bytes;
    int ins;
    uint8_t *held; /* a message that the core had no memory for */
    struct wf_sctp_message held_as;
    bool resumed;
    int gone_status;
    const char *gone; /* why nobody answers; judged when nothing is held */

    int why_status;
    char *why;
};

struct wf_sctp_counts {
    uint64_t connections, tx_containers, tx_bytes, rx_containers, rx_bytes,
        packets_in, packets_out, path_failures, path_switches, kernel_links, spreads;
};

struct wf_sctp_guest { /* an association of the kernel whose link is unknown */
    struct wf_sctp_sock *sock;
    uint64_t until; /* 0: nobody */
};

struct weft_ep {
    const weft_host *host;
    weft_core *core;
    struct wf_sctp_cfg cfg;
    bool joined; /* libusrsctp */
    bool kernel; /* has SCTP, and it is wanted */
    int listener;
    uint16_t port, kernel_port; /* 0: no listener */
    struct wf_sctp_guest guest[GUESTS];
    int guests;
    struct wf_ip_place ip;
    struct wf_ip_calls calls;
    struct wf_ip_watch watch;
    int fd[IP_ADDRS_MAX]; /* on the interface of the same index in ip.use */
    uint32_t mtu[IP_ADDRS_MAX];
    bool drained; /* this call of progress() has found all sockets empty */
    int epfd;
    weft_peer **peer; /* by process */
    uint32_t peers;
    weft_peer *open; /* list of all that are open */
    struct wf_ip_attention attention;
    bool errors; /* the kernel has news about datagrams */
    uint64_t ticked;
    uint8_t *rbuf, *message, *scratch;
    struct wf_sctp_counts count;
};

/* wire.c */
int wf_sctp_listen(weft_ep *);
void wf_sctp_say(weft_ep *, const struct wf_ip_path *,
                 const struct wf_sctp_datagram *);
void wf_sctp_say_word(weft_ep *, const struct wf_ip_path *,
                      const struct wf_ip_word *, const void *body, size_t n);
void wf_sctp_output(void *strand, const void *packet, size_t n);
int wf_sctp_read(weft_ep *, int socket, int budget);
int wf_sctp_errors(weft_ep *);

/* path.c */
/* Do packets to there carry a checksum? */
bool wf_sctp_wants_check(const weft_ep *, const struct wf_ip_addr *to);
void wf_sctp_paths(weft_peer *, const struct wf_ip_path *first);
/* Did it come from the peer? */
bool wf_sctp_known_path(const weft_peer *, const struct wf_ip_path *);
void wf_sctp_heard(weft_peer *, uint64_t now);
void wf_sctp_echo(weft_peer *, const struct wf_ip_path *, uint32_t stamp,
                  uint64_t now);
void wf_sctp_path_error(weft_peer *, const struct wf_ip_path *, int error);
/* The kernel says that this address answers, or does not. */
void wf_sctp_path_news(weft_peer *, const struct wf_ip_addr *, bool works);
/* Look after the paths; returns when that is due again, 0: not before there is
 * traffic. */
uint64_t wf_sctp_watch(weft_peer *, uint64_t now);

/* Ask on all paths. */
void wf_sctp_probe(weft_peer *, uint64_t now);

/* alive.c */
/* When to come again; 0: never. */
uint64_t wf_sctp_alive_turn(weft_peer *, uint64_t now);
void wf_sctp_alive_echo(weft_peer *, uint64_t now); /* has come */
uint64_t wf_sctp_alive_silent(weft_peer *, uint64_t within);

/* agree.c */
int wf_sctp_stacks(weft_ep *); /* joins what there is */
void wf_sctp_offer(weft_ep *);
void wf_sctp_tell(weft_ep *); /* the user, which there are */
int wf_sctp_agree(weft_peer *, const struct wf_ip_call *);
void wf_sctp_fall_back(weft_peer *, const char *why);
/* The other side has gone over to UDP; false: it cannot have. */
bool wf_sctp_follow(weft_peer *);

/* Those again that the kernel had no memory for; true: it has none yet. */
bool wf_sctp_show_owed(weft_peer *);

/* pass.c */
void wf_sctp_show(struct wf_sctp_strand *, uint32_t kind);
bool wf_sctp_is_pass(const weft_peer *, uint32_t kind, uint32_t number,
                     const uint8_t *data, size_t n);
uint32_t wf_sctp_pass_word(const uint8_t *, int i);

/* meet.c */
int wf_sctp_kernel_open(weft_ep *);
void wf_sctp_kernel_close(weft_ep *);
int wf_sctp_meet(weft_peer *);
void wf_sctp_made(struct wf_sctp_strand *);
bool wf_sctp_trying(const weft_peer *);
void wf_sctp_unmeet(struct wf_sctp_strand *); /* frees it */
void wf_sctp_meet_failed(weft_peer *, const char *why);
bool wf_sctp_meeting(struct wf_sctp_strand *, const struct wf_sctp_message *,
                     const uint8_t *data);
uint64_t wf_sctp_meet_watch(weft_peer *, uint64_t now);
uint64_t wf_sctp_guests_watch(weft_ep *, uint64_t now);
/* What epoll is to look for, as things are. */
void wf_sctp_wait_for(weft_peer *);
int wf_sctp_poll(weft_ep *, int budget);

/* strand.c */
int wf_sctp_strands_open(weft_peer *);
void wf_sctp_strands_close(weft_peer *);
uint32_t wf_sctp_share(uint32_t all, uint32_t parts, uint32_t least);
int wf_sctp_strand_send(struct wf_sctp_strand *, const struct wf_sctp_message *,
                        const void *data, bool bulk);
enum wf_sctp_event wf_sctp_strand_receive(struct wf_sctp_strand *,
                                          struct wf_sctp_message *);
/* The one that a packet names; NULL: there is none, and cannot be. */
struct wf_sctp_strand *wf_sctp_strand_at(weft_peer *, uint32_t number);
void wf_sctp_strand_up(struct wf_sctp_strand *);
uint32_t wf_sctp_unacked(weft_peer *); /* bytes, sent or to be sent */
bool wf_sctp_owed(const weft_peer *);  /* an acknowledgement, by the peer */
void wf_sctp_strands_tend(weft_peer *);

/* spread.c */
void wf_sctp_spread_judge(struct wf_sctp_spread *, const struct wf_sctp_sight *,
                          int least, int most);
void wf_sctp_spread_watch(weft_peer *, uint64_t now);

/* link.c */
extern const struct wf_ip_call_ops wf_sctp_call_ops;
void wf_sctp_attend(weft_peer *);
int wf_sctp_attention(weft_ep *);
void wf_sctp_link_break(weft_peer *, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void wf_sctp_up(weft_peer *);
/* EPEER: the process has ended; ELINK: it may be there and have a new link. */
void wf_sctp_gone(weft_peer *, int status, const char *what);
int wf_sctp_peer_add(weft_ep *, weft_loc *, uint32_t loc_id, const void *addr,
                     size_t len, weft_peer **);
int wf_sctp_peer_del(weft_peer *, int abrupt);
int wf_sctp_drain(weft_ep *);
void wf_sctp_peer_free(weft_peer *);

/* tx.c */
int wf_sctp_tx(weft_peer *, weft_tx *);
int wf_sctp_tx_short(weft_peer *, const weft_hdr *, const void *data,
                     size_t len);
bool wf_sctp_frame(weft_peer *, uint8_t type);
bool wf_sctp_push(weft_peer *);  /* payload, as far as there is room */
void wf_sctp_flush(weft_peer *); /* from progress only: calls back */
void wf_sctp_tx_cancel(weft_peer *, int status);

/* rx.c */
/* One message; false: it is to be shown again. */
bool wf_sctp_deliver(weft_peer *, const struct wf_sctp_message *,
                     const uint8_t *data);
void wf_sctp_take(weft_peer *); /* everything that has arrived */
void wf_sctp_rx_cancel(weft_peer *, int status);
void wf_sctp_rx_resume(weft_peer *);
/* May messages of this strand be read now? */
bool wf_sctp_readable(const weft_peer *, int strand);
bool wf_sctp_rx_idle(const weft_peer *);

static inline uint64_t wf_sctp_now(weft_ep *ep)
{
    return ep->host->now_ns(ep->core);
}

#endif
