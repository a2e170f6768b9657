/* Ordered pairs: each message arrives exactly once, in order and intact, over
 * channels that break.
 *
 * A pair of processes whose route has failover sends through here instead of
 * straight to a plugin. Every container of the pair gets a sequence number and
 * is retained until the peer has acknowledged it. A carrier (struct wf_carrier:
 * one transport to the peer) only carries. When a carrier breaks, the
 * containers that were not acknowledged go again by the next one that works.
 *
 *   order.c            sequence numbers, window, retained  no I/O, no time
 *                      containers
 *   order_arrive.c     duplicates, checksums, containers   the same
 *                      that come in several parts
 *   order_deliver.c       delivers a complete container when  the same
 *                      its sequence number is next
 *   order_fast.c      the fast path for both: a short message that leaves at
 *                      once, or is the next one; checksums; acknowledgement
 *   carrier.c          chooses the transport; probes;      the only file with
 *                      timers                              both
 *   carrier_control.c      sends acknowledgements and probes
 *   carrier_silence.c  decides when a carrier counts as silent
 *   carrier_launcher.c asks the launcher whether a process has ended, and
 *                      whether it is in MPI
 *   stripe.c           chooses the carrier of the next piece of a large
 *                      message; which carriers are slow or silent
 *   measure.c          which carrier costs least, and the moves to it
 *   order_counts.c     counts what happened, for reports
 *
 *   RUN    the current carrier works       LOST   none does: all are probed
 *
 *   RUN  -> LOST   the current carrier broke, or is silent while another one
 *                  answers                                 [lose_carrier]
 *   LOST -> RUN    the first carrier that answers: epoch + 1, resend
 *                                                          [adopt_carrier]
 *   RUN  -> RUN    failback, or a move to a carrier that was measured as
 *                  better, once all that was sent is acknowledged
 *                                                          [adopt_carrier]
 *   LOST -> dead   a carrier reports that the process has ended, and the
 *   launcher
 *                  says so, or cannot tell and no carrier is answered
 *   any  -> dead   no carrier had a sign of life for the route's timeout:
 *                  wf_location_down
 *   any  -> dead   for that time the pair has moved from carrier to carrier and
 *                  nothing was acknowledged
 *
 * SENDER    una <= next. The containers una .. next-1 are retained, oldest
 *           first; `unsent` is the first that the current carrier has not
 *           taken, NULL if it has all. Eager and control containers are copied.
 *           TRANSFER is read from user memory until it is acknowledged; the
 *           last one of a message completes it.
 * RECEIVER  A container with seq == expect is taken. An older one is a
 *           duplicate. A newer one is a remainder of a broken carrier or, in
 *           the newest epoch, shows a loss, and then the carrier is given up. A
 *           container that comes in parts is assembled here, checked, and only
 *           then delivered to the core: so a broken delivery leaves no trace.
 *           Where payload travels apart from headers (sctp) the headers behind
 *           it come first: their containers are staged, too, and delivered when
 *           their number is next.
 * STRIPES   policy = stripe: each piece of a large message goes by the carrier
 *           that will deliver it first, all other containers by the current
 *           one. Every container of such a sender has WF_FLAG_STRIPED: one that
 *           is ahead of its turn is no gap then, and waits among the staged
 *           containers of its carrier, which are sorted by seq.
 * SEALED    Carriers of a route that encrypts wrap every container (seal.h),
 *           and accept nothing else. Containers that are not complete wait
 *           unopened, in the order of their carrier, apart from the staged
 *           ones.
 * WIRE      The 64-byte header with WF_SEQUENCED in its type: seq, ack, epoch,
 *           crc (CRC-32C of header and payload, both with crc and check 0) and
 *           check (16 bits of the checksum at the end of the header, so that a
 *           wrong length is detected at once).
 *
 * Timers, and everything that a plugin's callback may not do, run in the
 * maintenance round (wf_orders_maintain).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ORDER_H
#define WF_ORDER_H

#include "os/crc32c.h"
#include "progress/launcher.h"
#include "protocol/queues.h"
#include "protocol/seal.h"

struct wf_route_failover;

enum {
    WF_WINDOW = 4096,         /* containers that may be unacknowledged */
    WF_RETAIN_MAX = 16 << 20, /* bytes of their payload */
    WF_STAGED_MAX = 2 * WF_RETAIN_MAX, /* more than an honest peer can use */
    WF_RETAIN_INLINE = 64 /* payload bytes stored in wf_retained itself */
};

/* A container that was sent, or waits to be, and is not acknowledged. */
struct wf_retained {
    struct wf_tx tx; /* handed to plugins; first for its alignment */
    struct wf_retained *next;
    struct wf_p2p *p;    /* TRANSFER: owner of the payload; NULL: see `data` */
    struct wf_tx *whole; /* the last TRANSFER of a message: completes this */
    uint64_t offset;     /* of the payload in p's stream */
    uint32_t seq;
    int8_t via;       /* index of the working carrier that took it; -1: none */
    bool with_plugin; /* a plugin still reads tx */
    bool acked;       /* outside of the window; freed once the plugin is done */
    bool flying;      /* counted in the flight of its carrier */
    struct wf_ordered *order;
    uint8_t *data;
    uint8_t small[WF_RETAIN_INLINE];
    uint64_t sent_at; /* valid while flying */
    uint64_t behind;  /* bytes in flight when it was sent, with its own */
};

/* The pieces that a carrier took and that have not landed at the peer, and how
 * fast they land: stripe.c. */
struct wf_flight {
    uint64_t bytes;
    uint64_t progressed_at; /* last landing, or start of the first piece */
    uint64_t doubt_at; /* another carrier has answered since, this one not */
    uint64_t base;     /* ns that a piece takes alone */
    double slope;      /* ns more for each byte in flight */
    double idle;       /* ns of work that others got while this had none */
    uint64_t most;     /* most bytes in flight of which all landed */
    bool known;        /* base and slope are measured */
};

/* A container that is being assembled, or that is complete and waits behind one
 * that is not. */
struct wf_stage {
    struct wf_sink sink; /* the plugin fills it; must be first */
    struct wf_stage *next;
    struct wf_ordered *order;
    struct weft_core *core;
    struct wf_wire hdr;
    bool busy;        /* the plugin still fills the sink */
    bool dead;        /* its carrier broke, or it came damaged */
    uint8_t *payload; /* in data; after the inner header if it was sealed */
    uint8_t data[];
};

/* The costs of a carrier: measure.h. */
enum { WF_MEASURES = 5 };
struct wf_measure {
    uint64_t rtt;                      /* in this round; 0: no answer yet */
    double cost[WF_MEASURES];          /* ns, of the last rounds, a ring */
    double latency;                    /* ns; 0: not known */
    double rate;                       /* bytes per ns; 0: never seen */
    unsigned costs, rate_round, asked; /* asked: 1 if probed in this round */
};

/* The rounds of measurement of a pair. */
struct wf_measuring {
    uint64_t every;             /* ns between two; 0: nothing is measured */
    uint64_t next_at, asked_at; /* this one began; 0: nothing was asked */
    uint64_t sent, sent_bytes, bytes; /* when it began */
    uint64_t stays_until;
    uint64_t fastest[2]; /* answer, ns: of this window of rounds, of the last */
    double size;  /* of what was sent lately, bytes, in the mean */
    double share; /* the best rate seen, of the stated one */
    unsigned rounds, dwell;
    uint32_t next;
    int left; /* the carrier before the last move */
};

enum wf_carrier_state {
    WF_CARRIER_FRESH,  /* nothing was sent on it yet */
    WF_CARRIER_BROKEN, /* reported or given up; the plugin's peer is used up */
    WF_CARRIER_TRIED,  /* probed, or in use */
};

struct wf_carrier {
    struct weft_core *core;
    enum wf_carrier_state state;
    bool probe;   /* a PING is due */
    bool blocked; /* WEFT_EAGAIN was answered: wait for tx_ready */
    bool pong;    /* an answer to a PING is due */
    bool gone;    /* the transport says that the process has ended */
    bool give_up; /* the next maintenance round breaks it */
    bool up;      /* the peer was heard on it */
    bool landed;  /* piece landed_seq has arrived: an ACK is due */
    uint32_t landed_seq;
    uint8_t probes_ok;     /* probes in a row that were answered */
    uint8_t failed_tries;  /* attempts in a row that failed */
    uint64_t again_at;     /* BROKEN: it is not replaced before */
    uint64_t probed_at;    /* 0: no PING is unanswered */
    uint64_t answered_at;  /* time of the last answer */
    uint64_t heard;        /* containers received by the slow path */
    uint64_t traffic_seen; /* value at the last wf_carrier_has_traffic */
    uint64_t confirmed;    /* weft_ops.traffic when its growth was checked */
    uint64_t host_at; /* when it had grown, or the host has answered */
    uint64_t sent, sent_bytes; /* containers that it took, and their payload */
    struct wf_flight flight;
    struct wf_measure measure;
    struct wf_stage *stage, *last_stage;   /* oldest first, by seq */
    struct wf_stage *sealed, *last_sealed; /* not opened; in arrival order */
    uint64_t staged;                       /* bytes that both lists take */
    struct wf_seal *seal; /* NULL: its containers are not encrypted */
};

/* Events in the life of a pair, counted for reports. */
enum wf_order_count {
    WF_ORDER_MOVES,      /* to another transport, or to a new connection */
    WF_ORDER_FAILBACKS,  /* moves to a better transport that works again */
    WF_ORDER_RECONNECTS, /* used-up connections that were replaced */
    WF_ORDER_RESENT,     /* containers that were sent again */
    WF_ORDER_DUPLICATES, /* containers that had arrived before */
    WF_ORDER_DAMAGED,    /* containers with a wrong checksum */
    WF_ORDER_STRIPED,    /* pieces sent by another carrier than the current */
    WF_ORDER_MEASURED,   /* moves to a transport that was measured as better */
    WF_ORDER_COUNTS
};

/* The state of the fast path (order_fast.c). A member is NULL from an event
 * that closes the fast path until the slow path finds it open again. */
struct wf_fast_path {
    /* One open carrier, and nothing waits before it: how to send there. */
    int (*send)(weft_peer *, const weft_hdr *, const void *, size_t,
                unsigned flags);
    weft_peer *peer;
    /* The peer sends only by this endpoint, and nothing of it is staged. */
    const struct weft_core *from;
};

struct wf_ordered {
    struct weft_loc *loc;
    struct wf_ordered *next_order; /* list of the instance */
    struct wf_fast_path fast;
    uint64_t src_dst; /* word 6 of a header: sender and receiver */
    /* sender */
    uint32_t next, una;
    struct wf_retained *first, **last, *unsent, *spare;
    uint64_t bytes;
    uint32_t count, spares;
    uint8_t epoch;
    bool sender_waits; /* a sender was answered WEFT_EAGAIN */
    bool failed;       /* the process is gone */
    bool stripe;       /* large messages are striped over the carriers */
    bool bulk;         /* a piece of one was sent */
    /* receiver */
    bool peer_stripes; /* the peer's containers come by several carriers */
    uint32_t expect;
    uint8_t peer_epoch;
    uint32_t owed, owed_bytes; /* containers not acknowledged yet */
    uint64_t owed_since;       /* 0: no maintenance round has seen them */
    /* carriers, best first */
    struct wf_carrier carrier[WF_EPS_MAX];
    int carriers;
    int at;          /* index of the current one, -1: LOST */
    int candidate;   /* another one, heard while `at` is in doubt; or -1 */
    bool peer_moved; /* the candidate is where the peer sends now */
    int failback_to; /* adopted as soon as all is acknowledged, or -1 */
    bool crc;        /* checksums are wanted */
    wf_crc32c_fn *sum;
    wf_crc32c_message_fn *sums; /* of header and payload */
    struct wf_measuring measuring;
    uint64_t failback, timeout;
    uint64_t lost_at, gone_at, silent_since, candidate_at, failback_at;
    uint64_t baseline_since; /* silent_since when traffic_seen was set */
    uint64_t life_at;        /* last sign of life of the peer, by any carrier */
    uint64_t called_at;      /* something wanted the peer first; 0: nothing */
    uint64_t life_check_at;  /* time of the next check for one */
    uint64_t all_probed_at;  /* in this silence, by all carriers; 0: not yet */
    uint64_t last_round_at;  /* the last maintenance round */
    uint64_t ask_at;         /* when to ask the launcher again */
    struct wf_boot_word word; /* what it has said of the peer */
    uint64_t asked_since; /* it is asked whether the peer is in MPI; or 0 */
    uint64_t replied_at;  /* its first reply since then; or 0 */
    uint64_t present_at;  /* the peer has last said that it is; or 0 */
    uint64_t excused_at;  /* silence before that is none, or partly */
    uint64_t moved_at;       /* the last move */
    unsigned backoff;     /* doublings of the limits on silence at that time */
    uint64_t stuck_since; /* moves since then; una stays at stuck_una */
    uint32_t stuck_una;
    bool stuck;    /* so for the route's timeout */
    char why[400]; /* reason that the last broken carrier gave */
    uint64_t counts[WF_ORDER_COUNTS]; /* for reports */
};

/* ---- order*.c: no I/O of their own --------------------------------------- */
/* Make the pair's order lane use these endpoints, best first. 0, WEFT_ENOMEM,
 * or WEFT_ENOTSUP if the best one has no send_short. */
int wf_order_open(struct weft_loc *, const int *eps, int n,
                  const struct wf_route_failover *);
void wf_order_free(struct wf_ordered *);
/* These and wf_order_send_words (order_fast.h) stand in wf_lane for a plugin's
 * send_short, send and send_words; the peer is the struct wf_ordered. */
int wf_order_send_short(weft_peer *, const weft_hdr *, const void *, size_t,
                        unsigned flags);
int wf_order_send(weft_peer *, weft_tx *);
/* Close the fast path. */
static inline void wf_order_close_fast_path(struct wf_ordered *o)
{
    o->fast.send = NULL;
    o->fast.from = NULL;
}
/* Hand waiting containers to the carriers, as far as these take them. */
void wf_order_send_waiting(struct wf_ordered *);
/* Resume the lane if a sender was answered WEFT_EAGAIN and there is room
 * now. */
void wf_order_resume_senders(struct wf_ordered *);
/* Mark all unacknowledged containers that this carrier took to go again. */
void wf_order_mark_resend(struct wf_ordered *, int carrier);

#endif
