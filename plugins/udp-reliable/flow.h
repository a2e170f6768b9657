/* A flow: both directions of one reliable byte stream, without any I/O.
 *
 * Its inputs are packets and the time; its outputs are packets and the next
 * time at which it has something to do. So a test can run two flows against
 * each other over any simulated network.
 *
 *   flow.c             creation, timers
 *   flow_queue.c       the stream that is to be sent
 *   flow_output.c      the choice of the next packet
 *   flow_ack.c         acknowledgements and losses
 *   flow_congestion.c  how much may be under way
 *   flow_size.c        how large packets may be
 *   flow_receive.c     the order of what arrives; duplicates
 *
 * SENDING  The stream is the concatenation of containers. Small ones are copied
 * to a stage, large ones stay where they are (lent) until they are
 * acknowledged. A packet carries any part of the stream. Lost data is sent
 * again under a new packet number, cut to the size that packets have by then.
 *
 * RECEIVING  Data is identified by its offset in the stream: duplicates are
 * dropped, early data is kept if it lies within the window.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_UDP_FLOW_H
#define WF_UDP_FLOW_H

#include "packet.h"
#include "weft_assert.h"
#include "weft_transport.h"

enum {
    FLOW_PACKETS = 2048,     /* records of packets that are not resolved */
    FLOW_RESERVE = 128,      /* of these: for probes */
    FLOW_ITEMS = 1024,       /* containers not acknowledged */
    FLOW_STAGE = 256 << 10,  /* bytes of small containers */
    FLOW_MERGE = 16 << 10,   /* neighbours in the stage become one item */
    FLOW_IOV = 60,           /* pieces of a packet's data */
    FLOW_PACKET_MAX = 65000, /* data bytes of the largest packet */
    FLOW_PACKET_MIN = 1100   /* data bytes that every path carries */
};

struct wf_udp_flow_config {
    uint32_t packet; /* data bytes of a packet: as much as the path carries */
    uint64_t window; /* bytes accepted beyond those that were delivered */
    uint64_t burst;  /* bytes that may be under way at first */
    uint64_t ack_delay;   /* ns that an acknowledgement may wait for data */
    uint64_t probe_after; /* ns without an answer until a probe, at least */
};

/* The fate of a packet. A resolved one has arrived, or its data has been sent
 * again: its record is free. */
enum wf_udp_flow_state { SENT_NOTHING, SENT_FLYING, SENT_LOST, SENT_RESOLVED };

/* The record of one packet that was sent. */
struct wf_udp_flow_sent {
    uint64_t offset, when;
    uint32_t len;
    uint8_t state;
    bool repeated;    /* its data was sent again under another number */
    bool called_lost; /* and it counted as lost by then */
};

/* A part of the stream that is to be sent: a lent container, or neighbours in
 * the stage. */
struct wf_udp_flow_item {
    uint64_t start, end; /* in the stream */
    weft_tx *tx;         /* NULL: staged */
    uint32_t at;         /* its place in the stage */
    uint32_t bytes;      /* of the stage, with a gap that was left before it */
};

/* Data that came early. */
struct wf_udp_flow_chunk {
    struct wf_udp_flow_chunk *next;
    uint64_t offset;
    size_t len;
    bool placed; /* it is in its final place, and not here */
    uint8_t data[];
};

/* A packet that is to be sent. */
struct wf_udp_flow_out {
    struct wf_udp_packet head;
    struct iovec v[FLOW_IOV];
    int n;
    uint32_t len;
    uint64_t again; /* number of the packet whose data it repeats */
    bool repeats;
    uint32_t pad;     /* bytes of padding in v, to probe the size; or 0 */
    uint8_t *scratch; /* FLOW_PACKET_MAX bytes, for scattered data */
};

/* The search for the size of packets; flow_size.c. */
struct wf_udp_flow_search {
    uint32_t top, high;   /* the interface's size; the largest not refuted */
    uint32_t size, tries; /* being probed, or 0; probes that were lost */
    uint64_t number, at, again; /* its number; its end; the next search (ns) */
    unsigned large_lost;        /* large packets lost in a row */
    uint32_t was;               /* the size before it was suspected */
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
    uint64_t peer_seen;      /* highest that arrived at the peer */
    uint64_t flying;         /* bytes under way */
    uint64_t unasked;        /* bytes sent since the last ACK_NOW */
    uint32_t lost;           /* packets whose data must be sent again */
    uint64_t lost_hint;      /* no packet before it is lost */
    bool probe;              /* a probe is due */

    /* the peer, and the path to it */
    uint64_t limit;                    /* stream bytes that it accepts */
    uint64_t rtt, rtt_var;             /* ns */
    uint64_t rtt_min, rtt_min_at;      /* recent: the path without a queue */
    uint32_t sent_lately, lost_lately; /* packets */
    uint64_t congestion, threshold;    /* congestion window; slow start's end */
    uint64_t recovery;       /* losses of packets before it were reacted to */
    uint64_t full, curve_at; /* CUBIC: window of the full path; start or 0 */
    int64_t curve_ms;        /* CUBIC: time until the window is that again */
    uint64_t gave_way;       /* number at the last window reset; 0: none */
    uint64_t was_congestion, was_threshold; /* before that */
    uint32_t reorder; /* packets that may overtake one before it is lost */
    bool late;        /* a packet that counted as lost has arrived, lately */
    struct wf_udp_flow_search search;
    uint64_t lost_at, probe_at; /* ns, timers; 0: not set */
    uint64_t last_sent;
    unsigned backoff; /* probes in a row without an answer */

    /* receiving */
    /* Delivers the next n bytes; returns how many were accepted. data is NULL
     * if they were placed before. */
    size_t (*deliver)(void *ctx, const uint8_t *data, size_t n);
    /* Copies early bytes to their final place. Returns false if that is not
     * known yet. */
    bool (*place)(void *ctx, uint64_t offset, const uint8_t *data, size_t n);
    void *ctx;
    uint64_t next, whole; /* delivered; received without a gap */
    struct wf_udp_flow_chunk *early, *early_last;
    uint64_t seen, seen_map[SACK_WORDS]; /* highest number, and before it */
    bool seen_any, paused, gap; /* paused: deliver() accepted less than all */
    bool doubled;               /* the next packet must carry the SACK words */
    uint64_t ack_at;            /* ns, when an acknowledgement is due; 0: not */
    uint64_t ack_bytes;         /* not acknowledged yet */
    uint64_t offered; /* stream bytes that the peer knows are accepted */

    uint64_t packets_lost, packets_twice; /* counters */
    uint64_t packets_again;               /* sent that repeat data */
    uint64_t timeouts; /* of the probe: nothing answered in time */
};

int wf_udp_flow_open(struct wf_udp_flow *, const struct wf_udp_flow_config *);
void wf_udp_flow_close(struct wf_udp_flow *);

/* Queues a container, and copies header and payload (from `data`, or from tx if
 * that is NULL). Returns false if there is no room. */
bool wf_udp_flow_copy(struct wf_udp_flow *, weft_tx *, const void *data);
/* Queues a container that stays where it is until wf_udp_flow_return_lent()
 * returns it. Returns false if there is no room. */
bool wf_udp_flow_lend(struct wf_udp_flow *, weft_tx *);
/* Returns the oldest lent container if it is acknowledged, or in any case if
 * `all`; NULL: there is none. */
weft_tx *wf_udp_flow_return_lent(struct wf_udp_flow *, bool all);
static inline uint64_t wf_udp_flow_unsent(const struct wf_udp_flow *f)
{
    return f->end - f->sent;
}
static inline bool wf_udp_flow_has_unsent(const struct wf_udp_flow *f)
{
    return f->sent < f->end;
}
static inline bool wf_udp_flow_is_idle(const struct wf_udp_flow *f)
{
    return f->una == f->end;
}

/* Returns the next packet to be sent now; false: there is none. The caller says
 * with wf_udp_flow_sent() that it has left. */
bool wf_udp_flow_next_packet(struct wf_udp_flow *, uint64_t now,
                        struct wf_udp_flow_out *);
void wf_udp_flow_sent(struct wf_udp_flow *, uint64_t now,
                      const struct wf_udp_flow_out *);

/* Handles a DATA or ACK packet of the peer. */
void wf_udp_flow_take_packet(struct wf_udp_flow *, uint64_t now,
                       const struct wf_udp_packet *, const uint8_t *data,
                       size_t n);
/* Continues to deliver, after deliver() had accepted less than all. */
void wf_udp_flow_resume_delivery(struct wf_udp_flow *, uint64_t now);

/* Returns when wf_udp_flow_expire() has something to do; 0: never. */
uint64_t wf_udp_flow_deadline(const struct wf_udp_flow *);
void wf_udp_flow_expire(struct wf_udp_flow *, uint64_t now);

/* The rest is shared by the files of the flow only. */

/* flow.c: sets the timer of the probe if something is under way, or waits for
 * room. */
void wf_udp_flow_arm_probe(struct wf_udp_flow *);

/* flow_queue.c: points o->v at *len bytes of the stream from offset on, and
 * returns the pieces; *len may shrink. Finely scattered data is copied
 * together: a packet should not stay small because its vector is full. */
int wf_udp_flow_gather(struct wf_udp_flow *, uint64_t offset, uint32_t *len,
                       struct wf_udp_flow_out *o);

/* flow_ack.c */
void wf_udp_flow_process_ack(struct wf_udp_flow *, uint64_t now,
                             const struct wf_udp_packet *);
/* Declares packets lost that later ones have overtaken. */
void wf_udp_flow_find_lost(struct wf_udp_flow *, uint64_t now);
/* Frees the records of resolved packets. */
void wf_udp_flow_forget_resolved(struct wf_udp_flow *);

/* flow_congestion.c */
/* Adds a measured round trip time. */
void wf_udp_flow_add_rtt(struct wf_udp_flow *, uint64_t now, uint64_t rtt);
/* Enlarges the congestion window, for so many bytes have arrived. */
void wf_udp_flow_grow_window(struct wf_udp_flow *, uint64_t now,
                             uint64_t bytes);
/* Counts one packet that has arrived, or is lost. */
void wf_udp_flow_count_packet(struct wf_udp_flow *, bool lost);
/* Records that a packet that counted as lost has arrived: reordering. */
void wf_udp_flow_note_reordering(struct wf_udp_flow *);
/* Cuts the window for the loss of this packet if the path is congested. */
void wf_udp_flow_cut_window(struct wf_udp_flow *, uint64_t number);
/* Reduces the window to the least after several probes without an answer. */
void wf_udp_flow_reset_window(struct wf_udp_flow *);
/* Undoes that reset, if this packet was sent before it: the packet has arrived,
 * the first time it was sent. */
void wf_udp_flow_undo_reset(struct wf_udp_flow *, uint64_t number);

/* flow_size.c */
/* Reduces the size if packets under way are large: nothing answers, and their
 * size may be the cause. */
void wf_udp_flow_suspect_size(struct wf_udp_flow *);
/* Reduces the size: a router, or this system, reports a packet as too large. */
void wf_udp_flow_reduce_size(struct wf_udp_flow *);
/* Records that a packet of so many data bytes has arrived, or is lost. */
void wf_udp_flow_note_large(struct wf_udp_flow *, uint32_t len, bool lost);
/* Returns the size to be probed now; 0: none. */
uint32_t wf_udp_flow_next_size(struct wf_udp_flow *, uint64_t now);
/* Records that packet `number` probes that size. */
void wf_udp_flow_note_size_sent(struct wf_udp_flow *, uint64_t now,
                                uint64_t number, uint32_t size);
/* Raises the size, for the size probe has arrived. */
void wf_udp_flow_confirm_size(struct wf_udp_flow *);
/* Gives up the size probe when its time is over. */
void wf_udp_flow_expire_size(struct wf_udp_flow *, uint64_t now);

/* Returns all 64 bits of the number of a packet that has come. */
static inline uint64_t wf_udp_flow_full_number(const struct wf_udp_flow *f,
                                               uint32_t low)
{
    return f->seen_any ? wf_udp_packet_full_number(f->seen, low) : low;
}

static inline struct wf_udp_flow_sent *
wf_udp_flow_record_of(struct wf_udp_flow *f, uint64_t number)
{
    return &f->packet[number % FLOW_PACKETS];
}

#endif
