/* The peers of an endpoint over IP: their table, the list of those that
 * progress() must serve, links that break, and peers that part.
 *
 *   weft_peer   ip    the common part, always first
 *               ...   that of the transport
 *
 *   endpoint: due -> due_next -> due_next -> NULL   in the order of marking
 *             due_last --------------^
 *
 * A link breaks anywhere, but only progress() tells the core: it returns every
 * lent container first, then it calls peer_down. The functions of the transport
 * (struct wf_ip_transport):
 *
 *   init_peer  sets what is not 0 in a new peer
 *   free_peer  tears down the link, frees what is the transport's own, and
 *              ends with wf_ip_free_peer()
 *   serve_peer does what is due for a peer; from progress() only
 *   has_parted says goodbye if that was not done; tells whether the peer
 *              has everything, or is not there to take it
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IP_PEER_H
#define WF_IP_PEER_H

#include "endpoint.h"

enum wf_ip_peer_state {
    PEER_IDLE,
    PEER_DIALLING,
    PEER_OPEN,
    PEER_BROKEN, /* the end is due to be reported, or was */
    PEER_LEFT    /* said goodbye, and is gone */
};

/* The common part of a weft_peer. */
struct wf_ip_peer {
    struct wf_ip_endpoint *endpoint;
    weft_loc *loc;
    uint32_t id; /* process */
    enum wf_ip_peer_state state;
    struct wf_ip_book *book;     /* its addresses, as they came */
    struct wf_ip_peer *due_next; /* in the list of the endpoint */
    bool due;                    /* it is in that list */
    bool want_ready;             /* the core waits for tx_ready() */
    bool reported;               /* the core knows that the link is broken */
    bool was_connected;          /* a link to it was open before */
    bool said_goodbye;           /* to it */
    bool leaving;                /* its goodbye has come */
    uint32_t burst; /* messages since the poll burst_round: wf_ip_leaves_now */
    uint32_t burst_round;
    int why_status;
    char *why; /* why the link broke */
};

/* Has progress() serve the peer. */
void wf_ip_mark_due(struct wf_ip_peer *);
/* Serves all peers that are due. Returns how many. */
int wf_ip_serve_due(struct wf_ip_endpoint *);

/* Decides that the link is broken; progress() tells the core. The first cause
 * counts. */
void wf_ip_break_link(struct wf_ip_peer *, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Breaks the link to a peer that is gone from this address: the process has
 * ended (EPEER), or only the link (ELINK). */
void wf_ip_break_gone(struct wf_ip_peer *, const struct sockaddr_storage *at,
                      int status, const char *what);
/* Tells whether the link is broken, and the core does not know it: the caller
 * tears it down, and then tells the core. */
static inline bool wf_ip_is_report_due(const struct wf_ip_peer *p)
{
    return p->state == PEER_BROKEN && !p->reported;
}
void wf_ip_report_down(struct wf_ip_peer *);

/* Tells whether the own call to the peer survives when it calls, too. A host of
 * an earlier minor has processes whose numbers are the same everywhere. */
static inline bool wf_ip_call_stands(const weft_host *host, weft_core *core,
                                     uint32_t me, const struct wf_ip_peer *p)
{
    return WEFT_HAS(host, weft_host, call_stands)
               ? host->call_stands(core, p->loc)
               : me < p->id;
}

/* Computes a code with the key of a handshake, or of a peer, or of the job. A
 * host of an earlier minor has processes of one job only. */
struct wf_ip_key {
    const weft_host *host;
    weft_core *core;
    weft_loc *loc;         /* or NULL */
    const weft_auth *auth; /* or NULL */
};
static inline uint64_t wf_ip_mac64(struct wf_ip_key k, uint64_t nonce,
                                   const struct iovec *v, int n)
{
    return WEFT_HAS(k.host, weft_host, mac64_of)
               ? k.host->mac64_of(k.core, k.loc, k.auth, nonce, v, n)
               : k.host->mac64(k.core, nonce, v, n);
}

/* Returns the text for an error of weft_host.auth_step. */
const char *wf_ip_refusal_text(int rc);

/* The bytes of messages that wait for each other, from which on they leave. */
enum { IP_HELD_MOST = 32 << 10 };

/* Counts a message of a window: the small ones since the last poll, `round`,
 * that the core sends one after the other. Tells whether it leaves now, with
 * those that wait for it: after the 1st, 2nd, 4th, 8th, ... That is few calls
 * if there are many, and no delay if there are only one or two. */
static inline bool wf_ip_leaves_now(struct wf_ip_peer *p, uint32_t round)
{
    if (p->burst_round != round)
        p->burst = 0;
    p->burst_round = round;
    p->burst++;
    return (p->burst & (p->burst - 1)) == 0;
}

/* Frees the common part, and the peer. */
void wf_ip_free_peer(struct wf_ip_peer *);

/* Implement operations of weft_ops. */
int wf_ip_peer_add(weft_ep *, weft_loc *, uint32_t id, const void *addr,
                   size_t len, weft_peer **);
int wf_ip_peer_del(weft_peer *, int abrupt);
int wf_ip_drain(weft_ep *);

#endif
