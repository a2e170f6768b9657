/* A flow: both directions of one reliable byte stream, without any I/O.
 *
 * Packets and the time go in, packets and the next time that matters come out.
 * That is all a test needs to run two of them against each other over any
 * network it can imagine.
 *
 *   flow.c          made, freed; timers          flow_receive.c  in order, once
 *   flow_queue.c    what is to be sent           flow_ack.c   arrived, lost
 *   flow_size.c     how large packets may be
 *   flow_output.c   the next packet              flow_congestion.c  how much
 *
 * SENDING  The stream is the concatenation of containers. Small ones are copied
 * to a stage, large ones stay where they are (lent) until they are
 * acknowledged. A packet carries any part of the stream; what is lost is sent
 * again, cut as is fit now, under a new packet number.
 *
 * RECEIVING  Data is identified by its offset in the stream: what comes twice
 * is dropped, what comes early is kept within the window.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_UDP_FLOW_H
#define WF_UDP_FLOW_H

#include "packet.h"
#include "weft_transport.h"

enum {
    FLOW_PACKETS = 2048,    /* sent and not resolved */
    FLOW_RESERVE = 128,     /* of these: for probes */
    FLOW_ITEMS = 1024,      /* containers not acknowledged */
    FLOW_STAGE = 256 << 10, /* bytes of small ones */
    FLOW_MERGE = 16 << 10,  /* neighbours in the stage become one item */
    FLOW_IOV = 60,
    FLOW_PACKET_MAX = 65000, /* data bytes of the largest packet */
    FLOW_PACKET_MIN = 1100   /* fits every path */
};

struct wf_udp_flow_config {
    uint32_t packet; /* data bytes of a packet: what the path carries */
    uint64_t window; /* bytes that we take beyond what was delivered */
    uint64_t burst;  /* bytes that may be under way at first */
    uint64_t ack_delay, probe_after; /* ns; the latter at least */
};

enum wf_udp_flow_state { SENT_NOTHING, SENT_FLYING, SENT_LOST, SENT_RESOLVED };

struct wf_udp_flow_sent { /* one packet */
    uint64_t offset, when;
    uint32_t len;
    uint8_t state;
    /* its data went out again under another number; it was called lost */
    bool repeated, called_lost;
};

struct wf_udp_flow_item {
    uint64_t start, end; /* in the stream */
    weft_tx *tx;         /* NULL: staged */
    uint32_t at, bytes;  /* in the stage, with what was left out before it */
};

struct wf_udp_flow_chunk { /* came early */
    struct wf_udp_flow_chunk *next;
    uint64_t offset;
    size_t len;
    bool placed; /* where it belongs; no data here */
    uint8_t data[];
};

struct wf_udp_flow_out { /* a packet to be sent */
    struct wf_udp_packet head;
    struct iovec v[FLOW_IOV];
    int n;
    uint32_t len;
    uint64_t again; /* number of the packet whose data this is */
    bool repeats;
    uint32_t pad;     /* bytes of nothing, in v, to try the size */
    uint8_t *scratch; /* FLOW_PACKET_MAX bytes, for scattered data */
};

struct wf_udp_flow_search { /* for the size of packets; flow_size.c */
    uint32_t top, high;       /* of the interface; not refuted */
    uint32_t size, tries;     /* of the probe that is under way, or 0 */
    uint64_t number, at, again;
    unsigned large_lost; /* in a row */
    uint32_t was;        /* before it was suspected */
};

struct wf_udp_flow {
    struct wf_udp_flow_config cfg;

    /* the stream to be sent */
    uint64_t end, sent, una; /* queued, sent once, acknowledged */
    struct wf_udp_flow_item *item;
    uint32_t item_first, item_n;
    uint8_t *stage;
    uint32_t stage_first, stage_end;
    bool stage_wrapped;

    /* packets */
    struct wf_udp_flow_sent *packet;
    uint64_t number, oldest; /* next to use; lowest not resolved */
    uint64_t peer_seen;      /* highest that arrived there */
    uint64_t flying;         /* bytes */
    uint64_t unasked;        /* bytes since we asked for an answer */
    uint32_t lost;           /* packets whose data must go again */
    uint64_t lost_hint;
    bool probe;

    /* the peer, and the path to it */
    uint64_t limit; /* stream bytes that it takes */
    uint64_t rtt, rtt_var;
    uint64_t rtt_min, rtt_min_at; /* of late: the path without a queue */
    uint32_t sent_lately, lost_lately; /* packets */
    uint64_t congestion, threshold, recovery;
    uint64_t full, curve_at; /* the window that filled the path; 0: no curve */
    int64_t curve_ms;        /* to come back to it */
    uint64_t gave_way, was_congestion, was_threshold; /* number; 0: not */
    uint32_t reorder; /* packets that may overtake one before it is lost */
    bool late;        /* one that was called lost turned up, lately */
    struct wf_udp_flow_search search;
    uint64_t lost_at, probe_at, last_sent;
    unsigned backoff;

    /* receiving */
    /* The next bytes, of which it takes so many; NULL: they were placed. */
    size_t (*deliver)(void *ctx, const uint8_t *data, size_t n);
    /* Bytes that are early: put them where they belong, if that is known. */
    bool (*place)(void *ctx, uint64_t offset, const uint8_t *data, size_t n);
    void *ctx;
    uint64_t next, whole; /* delivered; received without a gap */
    struct wf_udp_flow_chunk *early, *early_last;
    uint64_t seen, seen_map[SACK_WORDS];
    bool seen_any, paused, gap;
    bool doubled; /* the peer should know that something came twice */
    uint64_t ack_at, ack_bytes, offered;

    uint64_t packets_lost, packets_twice; /* counters */
};

int wf_udp_flow_open(struct wf_udp_flow *, const struct wf_udp_flow_config *);
void wf_udp_flow_close(struct wf_udp_flow *);

/* Queue. Copying takes header and payload of the container now. */
bool wf_udp_flow_copy(struct wf_udp_flow *, weft_tx *, const void *data);
bool wf_udp_flow_lend(struct wf_udp_flow *, weft_tx *);
/* The oldest lent container that is acknowledged, or NULL; all: or any. */
weft_tx *wf_udp_flow_return(struct wf_udp_flow *, bool all);
static inline bool wf_udp_flow_unsent(const struct wf_udp_flow *f)
{
    return f->sent < f->end;
}
static inline bool wf_udp_flow_idle(const struct wf_udp_flow *f)
{
    return f->una == f->end;
}

/* The next packet to send now; false: none. After it went out: sent(). */
bool wf_udp_flow_output(struct wf_udp_flow *, uint64_t now,
                        struct wf_udp_flow_out *);
void wf_udp_flow_sent(struct wf_udp_flow *, uint64_t now,
                      const struct wf_udp_flow_out *);
int wf_udp_flow_gather(struct wf_udp_flow *, uint64_t offset, uint32_t *len,
                       struct wf_udp_flow_out *);

/* A DATA or ACK packet of the peer has come. */
void wf_udp_flow_input(struct wf_udp_flow *, uint64_t now,
                       const struct wf_udp_packet *, const uint8_t *data,
                       size_t n);
void wf_udp_flow_acked(struct wf_udp_flow *, uint64_t now,
                       const struct wf_udp_packet *);
void wf_udp_flow_find_lost(struct wf_udp_flow *, uint64_t now);
void wf_udp_flow_forget(struct wf_udp_flow *); /* what is resolved */
void wf_udp_flow_sample(struct wf_udp_flow *, uint64_t now, uint64_t rtt);
void wf_udp_flow_grow(struct wf_udp_flow *, uint64_t now, uint64_t bytes);
void wf_udp_flow_remember(struct wf_udp_flow *, bool lost);
void wf_udp_flow_late(struct wf_udp_flow *);
void wf_udp_flow_shrink(struct wf_udp_flow *, uint64_t number);
void wf_udp_flow_give_way(struct wf_udp_flow *);
void wf_udp_flow_take_back(struct wf_udp_flow *, uint64_t number);
void wf_udp_flow_suspect(struct wf_udp_flow *);
void wf_udp_flow_too_large(struct wf_udp_flow *);
void wf_udp_flow_large(struct wf_udp_flow *, uint32_t len, bool lost);
uint32_t wf_udp_flow_try_size(struct wf_udp_flow *, uint64_t now);
void wf_udp_flow_size_sent(struct wf_udp_flow *, uint64_t now, uint64_t number,
                           uint32_t size);
void wf_udp_flow_size_heard(struct wf_udp_flow *);
void wf_udp_flow_size_expire(struct wf_udp_flow *, uint64_t now);
/* deliver() took less than all; now it may take more. */
void wf_udp_flow_resume(struct wf_udp_flow *, uint64_t now);

/* 0: nothing will happen by itself. */
uint64_t wf_udp_flow_deadline(const struct wf_udp_flow *);
void wf_udp_flow_expire(struct wf_udp_flow *, uint64_t now);
void wf_udp_flow_arm(struct wf_udp_flow *);

/* All 64 bits of the number of a packet that has come. */
static inline uint64_t wf_udp_flow_number(const struct wf_udp_flow *f,
                                          uint32_t low)
{
    return f->seen_any ? wf_udp_packet_number(f->seen, low) : low;
}

static inline struct wf_udp_flow_sent *wf_udp_flow_packet(struct wf_udp_flow *f,
                                                          uint64_t number)
{
    return &f->packet[number % FLOW_PACKETS];
}

#endif
