/* Locations: one flyweight per remote process, made when it is first needed.
 *
 * Only the pointer table exists for a process never talked to. A Location's
 * card (node, host, one address per endpoint) comes from the bootstrap.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_LOCATION_H
#define WF_LOCATION_H

#include "adi/endpoint.h"
#include "route/route.h"

enum {
    WF_LANES = 4,     /* lane 0 keeps order; the others carry bulk payload */
    WF_LANE_ORDER = 0
};

enum { WF_MESSAGE_OVERHEAD = 128 }; /* charged beside the payload */

struct wf_tx;
struct wf_ordered;
struct wf_checks;

/* A channel to one peer through one endpoint, with the core's own FIFO of
 * containers that the plugin would not take yet (plugins never queue). */
struct wf_lane {
    struct weft_core *core;
    weft_peer *peer;
    uint64_t from_size; /* payloads of at least this many bytes use it */
    uint64_t seq;       /* containers sent; a header has the low half */
    bool blocked;       /* WEFT_EAGAIN was answered; wait for tx_ready */
    struct wf_tx *fifo_head, **fifo_tail; /* protocol/message.c */
    /* hot copies of core->ops and core->attr; of a wrapped lane, with its
     * `peer`, those of order.h or checked.h */
    int (*send)(weft_peer *, weft_tx *);
    int (*send_short)(weft_peer *, const weft_hdr *, const void *, size_t);
    int (*send_more)(weft_peer *, const weft_hdr *, const void *, size_t);
    int (*send_words)(const void *, uint64_t, weft_peer *, uint64_t, uint64_t);
    int (*recv_words)(weft_peer *, weft_want *);
    uint32_t max_short, max_eager;
    struct wf_ordered *order; /* peer is it: protocol/order.h; or NULL */
    uint64_t max_payload;   /* of one container */
    /* Of what did not go by the short path: payload, and WF_MESSAGE_OVERHEAD for
     * each container. For reports: wf_lane_bytes. */
    uint64_t cost;
};

struct weft_loc {
    struct wf_instance *wf;
    uint32_t id;
    uint8_t lanes;   /* in use; 0: not connected yet */
    bool failed;     /* the process is gone: operations fail at once */
    bool approves;   /* it did not fetch what it was last offered */
    bool plain;      /* what comes needs neither order nor checksum */
    /* Payloads below this size may leave at once by the order lane: 0 while
     * there is none, it is blocked, or the peer is gone. wf_location_update_fastpath */
    uint64_t fastpath_end;
    /* How often a send looks for room: wf_send_make_way. */
    uint16_t send_poll_budget;
    /* Of the message that a plugin may hand back: protocol/fastpath.h. */
    uintptr_t pending_caller;
    struct wf_req *queued_request;
    /* flow control of eager data: protocol/credit.c */
    int64_t credit;        /* bytes I may still send eagerly, */
    int64_t credit_whole;  /* and if nothing had gone by the short path */
    uint64_t owed;         /* bytes of theirs consumed and not yet returned */
    uint64_t node;
    char *host;
    void *card;      /* raw card, as published */
    size_t card_len;
    weft_peer *peers[WF_EPS_MAX]; /* through each endpoint, or NULL */
    struct wf_lane lane[WF_LANES];
    struct wf_ordered *order; /* a route with failover, or NULL */
    struct wf_checks *checks; /* of what comes (checked.h), or NULL */
    uint32_t stalled; /* endpoints told to stop reading: out of memory */
    /* Why it failed, or is about to; NULL: wf_location_why knows. */
    char *down_reason;
    int down_status;   /* WEFT_E* */
    uint64_t starved_since; /* ns: no memory for its messages; 0: there is */
};

/* Why it failed. */
static inline const char *wf_location_why(const struct weft_loc *loc)
{
    if (loc->down_reason)
        return loc->down_reason;
    return loc->down_status == WEFT_ENOMEM ? "no memory" : "connection lost";
}

/* The MPI class of an operation that a transport ended with this status. Where
 * this process lacks memory or a descriptor, the peer need not be gone. */
static inline int wf_link_error(int status)
{
    return status == WEFT_ENOMEM || status == WEFT_ESYS ? wf_error_class(status)
                                                        : MPI_ERR_PROC_ABORTED;
}

/* Whether it failed for such a lack. */
static inline bool wf_location_starved(const struct weft_loc *loc)
{
    return wf_link_error(loc->down_status) != MPI_ERR_PROC_ABORTED;
}

/* "process 1 on host <this>: why". */
static inline const char *wf_location_how(const struct weft_loc *loc)
{
    return wf_location_starved(loc) ? "cannot be reached" : "is gone";
}

/* The MPI class of operations with it. */
static inline int wf_location_error(const struct weft_loc *loc)
{
    return wf_link_error(loc->down_status);
}

/* Credit that comes, or goes (negative) by other than the short path. */
static inline void wf_credit_change(struct weft_loc *loc, int64_t bytes)
{
    loc->credit += bytes;
    loc->credit_whole += bytes;
}

/* Bytes of payload sent. The short path stores no count of them: it follows from
 * the credit that it has used. */
static inline uint64_t wf_lane_bytes(const struct weft_loc *loc, unsigned lane)
{
    const struct wf_lane *l = &loc->lane[lane];
    int64_t by_short = lane == WF_LANE_ORDER ? loc->credit_whole - loc->credit
                                             : 0;

    return l->cost + (uint64_t)by_short - l->seq * WF_MESSAGE_OVERHEAD;
}

/* Whether the order lane would take a copied message now. */
static inline bool wf_lane_clear(const struct wf_lane *l)
{
    return !l->fifo_head && !l->blocked;
}

/* Open or close the short path, after anything that it depends on changed. */
static inline void wf_location_update_fastpath(struct weft_loc *loc)
{
    const struct wf_lane *l = &loc->lane[WF_LANE_ORDER];

    loc->fastpath_end = loc->lanes && !loc->failed && l->send_words &&
                             wf_lane_clear(l)
                         ? (uint64_t)l->max_short + 1
                         : 0;
}

/* The Location of a process, made on first use; NULL: out of memory. */
struct weft_loc *wf_location(struct wf_instance *, uint32_t id);
/* Choose routes and add the peer to their endpoints. 0 or WEFT_EUNREACH (the
 * record of wf_error names every rejected transport). */
int wf_location_connect(struct weft_loc *);
/* Make the Location reachable through this endpoint for a peer that calls us
 * before we ever called it: plugins ask through weft_host.locate. */
int wf_location_attach(struct weft_loc *, struct weft_core *);
bool wf_location_uses(const struct weft_loc *, const struct weft_core *);
/* This process's card, published under "weft.card.<id>". */
int wf_card_publish(struct wf_instance *);
/* Does the configuration agree with that of the rank below? Where two ranks of
 * a job differ, two neighbours do. WEFT_EINVAL: no, and it has been printed. */
int wf_card_compare(struct wf_instance *);
/* Fetch and check the card: fills node and host. 0 or WEFT_E*, with the cause
 * recorded by wf_error. Without a card (static bootstrap) the addresses of
 * mpi.ini are used. */
int wf_card_fetch(struct weft_loc *);
/* The peer's address for an endpoint, in the plugin's form, from its card or
 * from mpi.ini: WEFT_EUNREACH when there is none. */
int wf_card_address(struct weft_loc *, const struct weft_core *, void *buf,
                    size_t *len);
/* Append what the endpoint's address blob prints, without ports, to the comma
 * separated list in out (nets.c). */
void wf_nets_add(const struct weft_core *, const void *address, size_t len,
                 char *out, size_t n);
/* The node id that stands for a host named in mpi.ini, when there are no
 * cards. */
uint64_t wf_card_host_node(const char *host);
void wf_locations_free(struct wf_instance *);

#endif
