/* What the files of the tcp transport share.
 *
 *   tcp.c    options, operations, progress   listen.c  accepting
 *   conn.c   one socket and its handshake    dial.c    calling a peer
 *   tx.c     sending                         rx.c      receiving
 *   link.c   a peer up and down              alive.c   is it still there?
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
#include "../ip/attention.h"
#include "../ip/budget.h"
#include "../ip/ip.h"
#include "weft_transport.h"

enum {
    TCP_PENDING_MAX = 64,    /* callers not yet authenticated */
    TCP_STAGE = 16 << 10,    /* small containers behind a busy socket */
    /* The same memory for what the core packs: in pieces of 16 KB that takes
     * twice as long. Pages that nothing was packed to are not there. */
    TCP_PACKED = 256 << 10,
    TCP_SHORT_MAX = 8 << 10, /* payload that may be copied into the stage */
    TCP_RBUF = 64 << 10,
    TCP_WINDOW_BULK = 4 << 10, /* read-ahead when payloads are large */
    TCP_IOV = 32,
    TCP_FRAME = 24, /* bytes of our own frames */
    TCP_RETRIES = 6,
    TCP_POLLS = 16 /* most polls of the hot socket between epoll calls */
};

/* Our own frames: first bytes of a header that the core never sends. */
enum wf_tcp_frame {
    TCP_ACCEPT = 0xf1, /* listener to dialler: this connection is the one */
    TCP_GOODBYE = 0xf2, /* nothing follows; the end of the stream is no error */
    TCP_SHORTAGE = 0xf3 /* listener to caller: no call can be taken; the second byte,
                       an enum wf_tcp_shortage, says why */
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

struct wf_tcp_listener {   /* on the interface of the same index in ip.use */
    enum wf_tcp_kind kind; /* first: what an epoll event points at */
    int fd;
};

enum wf_tcp_state {
    TCP_CONNECTING, /* dialler: SYN sent */
    TCP_ANSWER,     /* dialler: hello sent, waiting for the answer */
    TCP_VERDICT,    /* dialler: proof sent, waiting for TCP_ACCEPT */
    TCP_HELLO,      /* listener: waiting for the hello */
    TCP_PROOF,      /* listener: answer sent, waiting for the proof */
    TCP_PARKED,     /* listener: authentic; my own attempt goes first */
    TCP_UP,
    TCP_DEAD /* closed; freed at the end of progress */
};

struct wf_tcp_conn {
    enum wf_tcp_kind kind;
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

/* One address of the peer, while dialling. */
struct wf_tcp_candidate {
    struct wf_ip_candidate at;
    struct wf_tcp_conn *conn;
    uint64_t start_at; /* not before */
    int tries;
    bool failed;
    uint64_t shortage_since; /* no descriptor, no memory; 0: nothing lacks */
    int lack;         /* errno of what the peer lacks, or 0 */
    int status;       /* WEFT_* of the failure */
    int error;        /* errno, or 0 */
    const char *what; /* what happened, when there is no errno */
};

struct wf_tcp_dial {
    int n;
    uint64_t until;   /* an absent peer may appear before; 0: it is there */
    uint64_t tell_at; /* when the wait for it is worth a line; 0: told */
    struct wf_tcp_candidate cand[IP_ADDRS_MAX];
};

enum wf_tcp_peer_state {
    TCP_IDLE,
    TCP_DIALLING,
    TCP_OPEN,
    TCP_BROKEN, /* peer_down is due, or was reported */
    TCP_LEFT    /* the peer said goodbye */
};

struct weft_peer {
    weft_ep *ep;
    weft_loc *loc;
    uint32_t id;
    enum wf_tcp_peer_state state;
    struct wf_tcp_conn *conn, *parked;
    struct wf_tcp_dial *dial;
    struct wf_ip_book *book; /* copy of the blob, as it came */
    weft_peer *dial_next;
    struct wf_ip_due due; /* for progress() to look at */
    bool want_ready, paused, resumed;
    bool was_connected;    /* was connected once */
    bool polled; /* read by every progress(): out of epoll until arm() */
    bool said_goodbye, heard_goodbye, reported;
    bool watched; /* for signs of life */
    struct wf_ip_alive alive;
    uint64_t confirmed; /* alive.c: what was seen at the last look */
    bool answer_owed;

    /* sending: the stage goes first, then tx */
    uint8_t *stage;
    uint32_t stage_off, stage_end;
    uint32_t burst, burst_round; /* messages of a window since that poll */
    weft_tx *tx;
    uint64_t tx_off; /* over header and payload */
    bool blocked;    /* waiting for EPOLLOUT, or for the system's memory */
    uint64_t shortage_since; /* the system has had no memory; 0: it has */

    /* receiving */
    weft_sink *sink;
    uint64_t rx_off, rx_len; /* of the payload that is coming in */
    uint32_t window;         /* read-ahead */
    uint8_t *carry;          /* bytes read and not yet understood */
    uint32_t carry_n;
    uint8_t carry_small[WEFT_HDR];
    uint64_t unread_since; /* the system has had no memory to read; 0: it has */

    int why_status;
    char *why;
};

struct wf_tcp_counts {
    uint64_t connections, refused, tx_frames, tx_bytes, rx_frames, rx_bytes,
        stage_copies;
};

struct weft_ep {
    const weft_host *host;
    weft_core *core;
    struct wf_tcp_cfg cfg;
    uint32_t me;
    uint64_t start; /* ns that a peer may take to appear */
    uint16_t port;  /* to listen on; 0: any */
    int epfd;
    struct wf_ip_place ip;
    struct wf_tcp_listener listener[IP_ADDRS_MAX];
    weft_peer **peer; /* by loc_id */
    uint32_t peers;
    struct wf_tcp_conn *conns, *dead;
    int lobby;   /* epoll of listeners and strangers, itself in epfd */
    enum wf_tcp_kind lobby_kind;
    struct wf_ip_budget caller_budget; /* pause: the lobby is out of epfd */
    int pending; /* accepted and not authenticated */
    int calling; /* all others in conns */
    bool accept_paused;   /* listeners are out of the lobby: pool full */
    uint64_t accept_paused_until;
    weft_peer *dialling;
    int waiting;  /* blocked senders: epoll at every poll */
    int memory_waiters;   /* peers with short_since */
    uint64_t memory_retry_at; /* when they try again */
    struct wf_ip_watch watch;
    int watching; /* peers that are watched for signs of life */
    uint64_t watch_at;
    bool auth_warned; /* the warning about wrong keys was given */
    bool full_warned; /* that no descriptor is left for callers */
    int reserve;    /* a descriptor for telling them so, or -1 */
    uint64_t full_since; /* nobody could be taken from then on; 0: they can */
    bool woken;     /* arm() was called: look at epoll next */
    bool draining;
    uint32_t poll_round;     /* polls so far */
    unsigned polls;    /* since epoll was looked at */
    unsigned polls_between_epoll; /* polls of the hot socket before the next look */
    weft_peer *hot;    /* the last that had something for us */
    struct wf_ip_attention attention;
    uint8_t *rbuf;
    struct wf_tcp_counts count;
};

/* listen.c */
int wf_tcp_listen(weft_ep *);
void wf_tcp_listen_pause(weft_ep *, bool pause);
/* The last words to a caller on this socket. */
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
void wf_tcp_take_caller(struct wf_tcp_conn *, uint32_t loc_id);
void wf_tcp_link_up(weft_peer *, struct wf_tcp_conn *);
void wf_tcp_link_break(weft_peer *, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void wf_tcp_link_eof(weft_peer *, int error);
void wf_tcp_attend(weft_peer *);
int wf_tcp_attention(weft_ep *);
int wf_tcp_peer_add(weft_ep *, weft_loc *, uint32_t loc_id, const void *addr,
                    size_t len, weft_peer **);
int wf_tcp_peer_del(weft_peer *, int abrupt);
int wf_tcp_drain(weft_ep *);
void wf_tcp_peer_free(weft_peer *);

/* alive.c */
uint64_t wf_tcp_traffic(weft_peer *);
void wf_tcp_alive_begin(weft_peer *);
void wf_tcp_alive_end(weft_peer *);
void wf_tcp_watch_sent(weft_peer *);
void wf_tcp_watch_tick(weft_ep *, uint64_t now);
uint64_t wf_tcp_alive_silent(weft_peer *, uint64_t within);

/* tx.c */
int wf_tcp_send(weft_peer *, weft_tx *);
int wf_tcp_send_short(weft_peer *, const weft_hdr *, const void *data,
                      size_t len);
int wf_tcp_send_more(weft_peer *, const weft_hdr *, const void *data,
                     size_t len);
void wf_tcp_flush(weft_peer *); /* from progress only: may call back */
void wf_tcp_update_interest(weft_peer *);
/* Those for which the system had no memory: once more. */
void wf_tcp_memory_tick(weft_ep *, uint64_t now);
int wf_tcp_send_frame(weft_peer *, enum wf_tcp_frame);
bool wf_tcp_tx_idle(weft_peer *);
void wf_tcp_tx_cancel(weft_peer *, int status);

/* rx.c */
int wf_tcp_recv(weft_peer *);
int wf_tcp_unpause(weft_peer *);
void wf_tcp_rx_cancel(weft_peer *, int status);
void wf_tcp_rx_resume(weft_peer *);

static inline uint64_t wf_tcp_now(weft_ep *ep)
{
    return ep->host->now_ns(ep->core);
}

#endif
