/* The declarations that the files of the tcp transport share.
 *
 *   tcp.c    options, operations, progress   listen.c  accepting
 *   conn.c   one socket and its handshake    dial.c    calling a peer
 *   tx.c     sending                         rx.c      receiving
 *   link.c   a peer up and down              alive.c   noticing a dead host
 *   reserve.c  room for a channel
 *
 * Addresses and the choice of interfaces are in plugins/ip.
 *
 * The states of a connection are in README.md and conn.c.
 *
 * THREADS  none of its own, no locks: the core serialises all calls.
 * INVARIANT  No call from the core except progress() calls back into the core.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TCP_H
#define WF_TCP_H

#include <stdbool.h>

#include "../ip/alive.h"
#include "../ip/budget.h"
#include "../ip/peer.h"
#include "weft_transport.h"

enum {
    TCP_STAGE = 64 << 10, /* bytes of small containers behind a busy socket */
    TCP_SHORT_MAX = 8 << 10, /* payload that may be copied into the stage */
    TCP_RBUF = 64 << 10,     /* the read buffer of an endpoint */
    TCP_IOV = 32,
    TCP_FRAME = 24, /* bytes of the transport's own frames */
    TCP_RETRIES = 6
};

/* The transport's own frames, by the first byte of a header. The core never
 * sends these bytes. */
enum wf_tcp_frame {
    TCP_ACCEPT = 0xf1,  /* listener to dialler: this connection is the one */
    TCP_GOODBYE = 0xf2, /* nothing follows; the end of the stream is no error */
    TCP_SHORTAGE = 0xf3 /* listener to caller: no call can be taken; the second
                           byte, an enum wf_tcp_shortage, says why */
};

enum wf_tcp_shortage { TCP_NO_FILES = 1, TCP_NO_MEMORY = 2 };

struct wf_tcp_cfg {
    const char *interface; /* auto, or a list of names, addresses, subnets */
    int64_t port;
    uint64_t sndbuf, rcvbuf, eager, frame, coalesce;
    uint64_t connect_timeout, handshake_timeout, detect; /* ns */
    const char *congestion;
};

enum wf_tcp_kind { TCP_IS_LISTENER, TCP_IS_CONN, TCP_IS_LOBBY };

/* The listening socket on the interface of the same index in ip.use. */
struct wf_tcp_listener {
    enum wf_tcp_kind kind; /* first member: epoll events point at it */
    int fd;
};

enum wf_tcp_state {
    TCP_CONNECTING, /* dialler: SYN sent */
    TCP_ANSWER,     /* dialler: hello sent, waiting for the answer */
    TCP_VERDICT,    /* dialler: proof sent, waiting for TCP_ACCEPT */
    TCP_HELLO,      /* listener: waiting for the hello */
    TCP_PROOF,      /* listener: answer sent, waiting for the proof */
    TCP_PARKED,     /* listener: authenticated; my own attempt goes first */
    TCP_UP,
    TCP_DEAD /* closed; freed at the end of progress */
};

/* One connection. */
struct wf_tcp_conn {
    enum wf_tcp_kind kind; /* first member: epoll events point at it */
    int fd;
    enum wf_tcp_state state;
    bool dialled, warned;
    weft_ep *ep;
    weft_peer *peer;                  /* NULL until the caller is known */
    struct wf_tcp_conn *next, **link; /* list of all connections not up */
    struct wf_tcp_candidate *cand;
    struct wf_ip_addr remote;
    weft_auth *auth;
    uint64_t since;
    uint32_t events; /* registered with epoll */
    uint32_t in_n, out_n, out_off;
    uint8_t in[WEFT_AUTH_MSG], out[WEFT_AUTH_MSG];
};

/* One address of the peer that is dialled. */
struct wf_tcp_candidate {
    struct wf_ip_candidate at;
    struct wf_tcp_conn *conn;
    uint64_t start_at; /* ns; the attempt does not start before */
    int tries;
    bool failed;
    uint64_t shortage_since; /* ns, since when calls have failed for want of a
                                descriptor or of memory; 0: they have not */
    int peer_shortage;       /* errno of the peer's shortage, or 0 */
    int status;              /* WEFT_* of the failure */
    int error;               /* errno, or 0 */
    const char *what;        /* the failure, when there is no errno */
};

struct wf_tcp_dial {
    int n;
    uint64_t until;  /* ns, until when a peer may be absent; 0: it may not */
    uint64_t log_at; /* ns, when waiting for it is logged; 0: it was */
    struct wf_ip_alive host; /* of the peer; asked only if the core asks */
    int next_asked;          /* candidate by which it is asked next */
    struct wf_tcp_candidate cand[IP_ADDRS_MAX];
};

struct weft_peer {
    struct wf_ip_peer ip;
    weft_ep *ep;
    struct wf_tcp_conn *conn, *parked;
    struct wf_tcp_dial *dial;
    weft_peer *dial_next;
    bool paused, resumed;
    bool polled; /* read by every progress(): not in epoll until arm() */
    bool watched; /* for signs of life */
    struct wf_ip_alive alive;
    uint64_t confirmed; /* alive.c: acknowledgements at the last check */
    bool answer_owed;   /* alive.c: the other kernel owes an answer */

    /* Sending: the stage goes first, then tx. */
    uint8_t *stage;
    uint32_t stage_off, stage_end;
    weft_tx *tx;
    uint64_t tx_off; /* over header and payload */
    bool blocked;    /* waiting for EPOLLOUT, or for the system's memory */
    uint64_t shortage_since; /* ns, since when the system has no memory for
                                sending; 0: it has */

    /* Receiving. */
    weft_sink *sink;
    uint64_t rx_off, rx_len; /* of the payload that is arriving */
    uint32_t window;         /* read-ahead */
    uint8_t *carry;          /* bytes that were read but not parsed */
    uint32_t carry_n;
    uint8_t carry_small[WEFT_HDR];
    uint64_t unread_since; /* ns, since when the system has no memory for
                              reading; 0: it has */
};

struct wf_tcp_counts {
    uint64_t connections, refused, tx_frames, tx_bytes, rx_frames, rx_bytes,
        stage_copies;
    uint64_t retransmissions; /* of connections that are closed */
};

struct weft_ep {
    struct wf_ip_endpoint ip;
    struct wf_tcp_cfg cfg;
    struct wf_tcp_listener listener[IP_ADDRS_MAX];
    struct wf_tcp_conn *conns, *dead;
    int lobby; /* epoll of listeners and unknown callers, itself in epfd */
    enum wf_tcp_kind lobby_kind;
    struct wf_ip_budget caller_budget; /* pause: the lobby is out of epfd */
    int pending;        /* connections accepted and not authenticated */
    int calling;        /* all others in conns */
    bool accept_paused; /* listeners are out of the lobby: pool full */
    uint64_t accept_paused_until; /* ns */
    weft_peer *dialling;
    int waiting;              /* blocked senders: epoll at every poll */
    int memory_waiters;       /* peers with shortage_since */
    uint64_t memory_retry_at; /* ns, when they try again */
    struct wf_ip_watch watch;
    int watching; /* peers that are watched for signs of life */
    uint64_t watch_at;
    bool auth_warned;    /* the warning about wrong keys was given */
    bool full_warned;    /* the warning that callers must wait was given */
    int reserve;         /* a descriptor for telling callers why, or -1 */
    uint64_t full_since; /* ns, since when no caller can be accepted; 0: they
                            can */
    bool woken;          /* arm() was called: the next poll asks epoll */
    bool draining;
    uint32_t poll_round;          /* polls so far */
    unsigned polls;               /* polls since epoll was asked */
    unsigned polls_between_epoll; /* polls of the hot socket before epoll is
                                     asked again */
    weft_peer *hot;               /* the peer whose socket had something last */
    uint8_t *rbuf;
    struct wf_tcp_counts count;
};

/* listen.c */
int wf_tcp_listen(weft_ep *);
void wf_tcp_listen_pause(weft_ep *, bool pause);
/* Tells the caller on this socket which shortage refuses it. */
void wf_tcp_send_shortage(int fd, enum wf_tcp_shortage);
int wf_tcp_poll_lobby(weft_ep *);
void wf_tcp_lobby_timers(weft_ep *, uint64_t now);
uint64_t wf_tcp_lobby_deadline(const weft_ep *);

/* conn.c */
struct wf_tcp_conn *wf_tcp_conn_new(weft_ep *, int fd, enum wf_tcp_state,
                                    const struct wf_ip_addr *remote);
void wf_tcp_conn_close(struct wf_tcp_conn *);
void wf_tcp_conn_set_interest(struct wf_tcp_conn *, uint32_t events);
void wf_tcp_conn_event(struct wf_tcp_conn *, uint32_t events);
void wf_tcp_conn_tune(struct wf_tcp_conn *);
void wf_tcp_conn_free_dead(weft_ep *);
void wf_tcp_conn_settle(struct wf_tcp_conn *, weft_peer *);
void wf_tcp_conn_timers(weft_ep *, uint64_t now);
uint64_t wf_tcp_conn_deadline(const weft_ep *);

/* dial.c */
void wf_tcp_dial(weft_peer *);
void wf_tcp_dial_timers(weft_ep *, uint64_t now);
uint64_t wf_tcp_dial_deadline(const weft_ep *);
void wf_tcp_dial_forget(weft_peer *);
void wf_tcp_dial_failed(struct wf_tcp_conn *, int status, int error,
                        const char *what);
void wf_tcp_dial_retry(struct wf_tcp_conn *, const char *what);
void wf_tcp_dial_shortage(struct wf_tcp_conn *, unsigned lack);
void wf_tcp_dial_end(weft_peer *, struct wf_tcp_conn *keep);

/* link.c */
extern const struct wf_ip_transport wf_tcp_transport;
void wf_tcp_take_caller(struct wf_tcp_conn *, uint32_t loc_id);
void wf_tcp_link_up(weft_peer *, struct wf_tcp_conn *);
void wf_tcp_link_eof(weft_peer *, int error);
int wf_tcp_peer_del(weft_peer *, int abrupt);

/* alive.c */
uint64_t wf_tcp_traffic(weft_peer *);
/* Returns how many segments the kernel has sent again. */
uint64_t wf_tcp_retransmissions(const struct wf_tcp_conn *);
void wf_tcp_alive_begin(weft_peer *);
void wf_tcp_alive_end(weft_peer *);
void wf_tcp_watch_sent(weft_peer *);
void wf_tcp_watch_tick(weft_ep *, uint64_t now);
uint64_t wf_tcp_alive_silent(weft_peer *, uint64_t within);

/* tx.c */
int wf_tcp_send(weft_peer *, weft_tx *);
int wf_tcp_send_short(weft_peer *, const weft_hdr *, const void *data,
                      size_t len, unsigned flags);
void wf_tcp_flush(weft_peer *); /* from progress only: may call back */
void wf_tcp_update_interest(weft_peer *);
/* Tries again to send to peers for which the system had no memory. */
void wf_tcp_memory_tick(weft_ep *, uint64_t now);
int wf_tcp_send_frame(weft_peer *, enum wf_tcp_frame);
bool wf_tcp_tx_idle(weft_peer *);
void wf_tcp_tx_cancel(weft_peer *, int status);

/* reserve.c */
/* Allocates the stage, which there is not yet. Returns false without memory. */
bool wf_tcp_make_stage(weft_peer *);
int wf_tcp_reserve(weft_peer *, uint32_t messages, uint64_t bytes);

/* rx.c */
int wf_tcp_recv(weft_peer *);
int wf_tcp_unpause(weft_peer *);
void wf_tcp_rx_cancel(weft_peer *, int status);
void wf_tcp_rx_resume(weft_peer *);

static inline uint64_t wf_tcp_now(weft_ep *ep)
{
    return ep->ip.host->now_ns(ep->ip.core);
}

#endif
