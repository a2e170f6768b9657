/* Locations: the core's records of other processes, each made when it is first
 * needed.
 *
 * A process that this one never talks to costs only its entry in a table of
 * pointers. A location's business card (node, host, one address per endpoint)
 * comes from the bootstrap.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ROUTE_LOCATION_H
#define WF_ROUTE_LOCATION_H

#include "process/endpoint.h"
#include "report/error.h"

enum {
    WF_LANES = 4, /* lane 0 keeps order; the others carry bulk payload */
    WF_LANE_ORDER = 0
};

/* Bytes of credit that a message costs beside its payload. */
enum { WF_MESSAGE_OVERHEAD = 128 };

struct wf_tx;
struct wf_ordered;
struct wf_checks;
struct wf_traced_lane;
struct wf_lane_set;

/* A channel to one peer through one endpoint, with the core's own FIFO of
 * containers that the plugin would not take yet (plugins never queue). */
struct wf_lane {
    struct weft_core *core;
    weft_peer *peer;
    uint64_t from_size; /* payloads of at least this many bytes use it */
    uint64_t seq;       /* containers sent; a header has the low half */
    bool blocked;       /* WEFT_EAGAIN was answered; wait for tx_ready */
    struct wf_tx *fifo_head, **fifo_tail; /* protocol/message.c */
    /* The operations are copied from core->ops and the limits from core->attr,
     * for speed. A lane with failover or checksums has those of order.h or
     * checked.h instead, and the `peer` that belongs to them. */
    int (*send)(weft_peer *, weft_tx *);
    int (*send_short)(weft_peer *, const weft_hdr *, const void *, size_t,
                      unsigned flags);
    /* The entry for messages that are copied, with the header in registers,
     * and the peer that it is called with. The order lane of every plugin that
     * copies has one: wf_fastpath_prepare_lane. */
    int (*send_words)(const void *, uint64_t, weft_peer *, uint64_t, uint64_t);
    weft_peer *words_peer;
    int (*recv_words)(weft_peer *, weft_want *);
    uint32_t max_short, max_eager;
    struct wf_ordered *order; /* with failover: `peer` is this; or NULL */
    uint64_t max_payload;     /* of one container */
    /* Bytes sent by the slow path: payload, and WF_MESSAGE_OVERHEAD for each
     * container. For reports: wf_lane_bytes. */
    uint64_t cost;
};

/* The state in which threads may send to a peer outside of the API section, and
 * the function for that: protocol/send_side.h. */
enum wf_side_state { WF_SIDE_ENGINE, WF_SIDE_LENT, WF_SIDE_BUSY };
struct wf_send_side {
    wf_atomic_u32 state; /* enum wf_side_state */
    uint64_t end;        /* fastpath_end of the location when it was lent */
    int (*send)(const void *, uint64_t, weft_peer *, uint64_t, uint64_t);
};

struct weft_loc {
    struct wf_instance *wf;
    uint32_t id;
    uint8_t lanes; /* in use; 0: not connected yet */
    bool failed;   /* the process is gone: operations fail at once */
    bool approves; /* it did not fetch what it was last offered */
    bool plain;    /* incoming messages have neither order nor checksum */
    bool unreported; /* given up, and the launcher does not know yet */
    bool parting;    /* of another job, and to be forgotten: no loss */
    bool card_lent;  /* card belongs to the bootstrap */
    uint32_t index;  /* in its job; id is its number: process/job.h */
    /* Payloads below this size may leave at once by the order lane. 0 while
     * there is no such lane, it is blocked, or the peer is gone:
     * or others may send to it: wf_location_update_fastpath. */
    uint64_t fastpath_end;
    struct wf_send_side side;
    /* How often a send without room polls for it: poll_for_room in send.c. */
    uint16_t send_poll_budget;
    /* The caller of the message that is being sent by the fast path, in case
     * the plugin refuses it: protocol/fastpath.h. */
    uintptr_t pending_caller;
    struct wf_req *queued_request; /* the request that was made for it then */
    /* Flow control of eager data: protocol/credit.c. */
    int64_t credit;       /* bytes that this process may still send eagerly */
    int64_t credit_whole; /* the same without what the fast path has sent */
    uint64_t owed; /* bytes from the peer consumed and not yet returned */
    uint64_t node;
    const char *host; /* the text of the own rank where both share a host */
    const void *card; /* its business card, as published */
    size_t card_len;
    weft_peer *peers[WF_EPS_MAX]; /* through each endpoint, or NULL */
    struct wf_lane lane[WF_LANES];
    struct wf_lane_set *sets; /* of messages with keys: comm_route.h */
    struct wf_ordered *order; /* a route with failover, or NULL */
    struct wf_checks *checks; /* for incoming messages (checked.h), or NULL */
    struct wf_traced_lane *traced; /* [WF_LANES], with a trace; or NULL */
    uint32_t stalled; /* endpoints told to stop reading: out of memory */
    /* The reason why it failed or is about to; NULL: see
     * wf_location_down_text. */
    char *down_reason;
    int down_status; /* WEFT_E* */
    /* Since when memory for its messages is lacking, in ns; 0: it is not. */
    uint64_t starved_since;
    /* Messages to chapters that are not complete yet, and those behind them, in
     * the order of arrival: protocol/active.c. */
    struct wf_active_landing *landings;
};

/* The reason why the peer failed. */
static inline const char *wf_location_down_text(const struct weft_loc *loc)
{
    if (loc->down_reason)
        return loc->down_reason;
    return loc->down_status == WEFT_ENOMEM ? "no memory" : "connection lost";
}

/* The status of an operation that a transport ended with this one. If this
 * process lacks memory or a descriptor, the peer need not be gone. */
static inline int wf_link_status(int status)
{
    return status == WEFT_ENOMEM || status == WEFT_ESYS ? status : WEFT_EPEER;
}

/* Whether it failed because this process lacks memory or a descriptor. */
static inline bool wf_location_lacks_resources(const struct weft_loc *loc)
{
    return wf_link_status(loc->down_status) != WEFT_EPEER;
}

/* The verb for a message "process 1 on host <verb>: <reason>". */
static inline const char *wf_location_down_verb(const struct weft_loc *loc)
{
    return wf_location_lacks_resources(loc) ? "cannot be reached" : "is gone";
}

/* The status of operations with a peer that failed. */
static inline int wf_location_status(const struct weft_loc *loc)
{
    return wf_link_status(loc->down_status);
}

/* Add credit, or take it (negative) for a message that does not go by the fast
 * path. */
static inline void wf_credit_change(struct weft_loc *loc, int64_t bytes)
{
    loc->credit += bytes;
    loc->credit_whole += bytes;
}

/* The bytes of payload sent by a lane. The fast path does not count them: their
 * number follows from the credit that it has used. */
static inline uint64_t wf_lane_bytes(const struct weft_loc *loc, unsigned lane)
{
    const struct wf_lane *l = &loc->lane[lane];
    int64_t by_short =
        lane == WF_LANE_ORDER ? loc->credit_whole - loc->credit : 0;

    return l->cost + (uint64_t)by_short - l->seq * WF_MESSAGE_OVERHEAD;
}

/* Whether the order lane would take a copied message now. */
static inline bool wf_lane_is_clear(const struct wf_lane *l)
{
    return !l->fifo_head && !l->blocked;
}

/* Open or close the fast path, after anything that it depends on changed. */
static inline void wf_location_update_fastpath(struct weft_loc *loc)
{
    const struct wf_lane *l = &loc->lane[WF_LANE_ORDER];

    loc->fastpath_end =
        loc->lanes && !loc->failed && l->send_words && wf_lane_is_clear(l) &&
                wf_load_relaxed(&loc->side.state) == WF_SIDE_ENGINE
            ? (uint64_t)l->max_short + 1
            : 0;
}

/* Returns the peer of an event (report/trace_note.h); loc may be NULL. */
static inline const uint32_t *wf_trace_peer(const struct weft_loc *loc)
{
    return loc ? &loc->id : NULL;
}

#endif
