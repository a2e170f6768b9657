/* Order: exactly once, in order and intact over channels that break.
 *
 * A pair whose route has failover sends through here instead of straight to a
 * plugin. Every container of the pair gets a sequence number and is retained
 * until the peer has acknowledged it; a channel (struct wf_carrier: one
 * transport to the peer) only carries. When a carrier breaks, what was not
 * acknowledged goes again by the next one that works.
 *
 *   order.c     numbers, window, what is retained       no I/O, no time
 *   order_arrive.c  duplicates, checks, pieces          the same
 *   order_take.c    what is complete, in its turn       the same
 *   order_usual.c   both, for most: a short message that leaves at once, or is
 *                   the next one; sums; acknowledgement
 *   carrier.c   which transport; probes; time           the only part with both
 *   carrier_say.c  acknowledgements and probes
 *   carrier_silence.c  when it counts as silent
 *   carrier_gone.c  when a process that refuses counts as gone
 *   stripe.c    which carrier takes the next piece; who is slow or silent
 *   order_counts.c  what happened, for reports
 *
 *   RUN    current carrier works        LOST   none does: all are probed
 *
 *   RUN  -> LOST   the current carrier broke, or is silent while another
 *                  one answers                                   [lose]
 *   LOST -> RUN    the first that answers: epoch + 1, resend     [adopt]
 *   RUN  -> RUN    failback: what was sent is acknowledged        [adopt]
 *   LOST -> dead   one says that the process is gone, and the launcher says so,
 *                  or cannot tell and nobody answers
 *   any  -> dead   no sign of life by any carrier for the route's timeout:
 *                  wf_location_down
 *   any  -> dead   for that time the pair has moved and nothing was acknowledged
 *
 * SENDER    una <= next. retained: una .. next-1, oldest first; `unsent` is the
 *           first that the current carrier has not taken, NULL if it has all.
 *           Eager and control containers are copied. TRANSFER is read from
 *           user memory until it is acknowledged; the last one of a message
 *           completes it.
 * RECEIVER  takes seq == expect; what is older is a duplicate; what is newer
 *           is a leftover of a broken carrier, or, in the newest epoch, a loss,
 *           and then the carrier is given up. A container that comes in pieces
 *           is put together here, checked, and only then shown to the core: so
 *           a broken delivery leaves no trace. Where payload takes a way of its
 *           own (sctp) the headers behind it come first: their containers are
 *           staged, too, and shown in their turn.
 * STRIPES   policy = stripe: the pieces of large messages go by whichever carrier
 *           will have them there first, all else by the current one. Every
 *           container of such a sender has WF_FLAG_PARTED: one that is ahead of
 *           its turn is no gap then, and waits among the stages of its carrier,
 *           which are kept by seq.
 * SEALED    carriers of a route that encrypts: what goes and comes is wrapped
 *           (seal.h), and nothing else is let in. What is not complete waits
 *           closed, in the order of its carrier, apart from the stages.
 * WIRE      the 64-byte header with WF_SEQUENCED in its type: seq, ack, epoch,
 *           crc (CRC-32C of header and payload, both with crc and check 0) and
 *           check (16 bits of the sum at the end of the header, so that a
 *           wrong length is seen at once).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ORDER_H
#define WF_ORDER_H

#include "os/crc32c.h"
#include "protocol/queues.h"
#include "protocol/seal.h"

enum {
    WF_WINDOW = 4096,         /* containers that may be unacknowledged */
    WF_RETAIN_MAX = 16 << 20, /* bytes of them */
    WF_STAGED_MAX = 2 * WF_RETAIN_MAX, /* what a peer cannot exceed */
    WF_RETAIN_INLINE = 64,
    WF_ORDER_SHORT = 8 << 10, /* payload copied without a request */
    WF_ORDER_CHUNK = 256 << 10,
    WF_STRIPE_PIECE = 64 << 10,
    WF_ACK_EVERY = 32,
    WF_ACK_BYTES = 64 << 10
};

struct wf_retained {
    struct wf_tx tx; /* what a plugin sees; first for its alignment */
    struct wf_retained *next;
    struct wf_p2p *p;    /* TRANSFER: whose payload, or NULL: data */
    struct wf_tx *whole; /* its last TRANSFER: to be completed, or NULL */
    uint64_t offset;     /* of it in p's stream */
    uint32_t seq;
    int8_t via; /* the working carrier that has taken it; -1: none */
    bool lent;  /* a plugin has tx */
    bool acked; /* gone from the window; freed when it comes back */
    bool flying; /* counted in the flight of its carrier */
    struct wf_ordered *order;
    uint8_t *data;
    uint8_t small[WF_RETAIN_INLINE];
    uint64_t sent_at; /* flying: when, */
    uint64_t behind;  /* and how many bytes flew then, with its own */
};

/* Of the pieces that a carrier has and that have not landed: stripe.c. */
struct wf_flight {
    uint64_t bytes;
    uint64_t stirred_at; /* when the last one landed, or the first began */
    uint64_t doubt_at;   /* when another carrier answered, and this had not */
    uint64_t base;       /* ns that a piece takes alone */
    double slope;        /* ns more for each byte that flies */
    double idle;         /* ns for which others had pieces since this had any */
    uint64_t most;       /* bytes that flew before one that landed */
    bool known;          /* base and slope are */
};

/* A container that is put together, or is complete behind one that is. */
struct wf_stage {
    struct wf_sink sink; /* first: what a plugin fills */
    struct wf_stage *next;
    struct wf_ordered *order;
    struct weft_core *core;
    struct wf_wire hdr;
    bool busy; /* a plugin has the sink */
    bool dead; /* its carrier broke, or it came damaged */
    uint8_t *payload; /* in data: after its header if it was sealed */
    uint8_t data[];
};

enum wf_carrier_state {
    WF_CARRIER_FRESH,  /* nothing was sent on it yet */
    WF_CARRIER_BROKEN, /* the plugin has reported it; its peer is used up */
    WF_CARRIER_CALLED, /* probed, or in use */
};

struct wf_carrier {
    struct weft_core *core;
    enum wf_carrier_state state;
    bool probe;    /* a PING is due */
    bool blocked;  /* WEFT_EAGAIN: until tx_ready */
    bool pong;     /* an answer to a PING is due */
    bool gone;     /* it says that the process has ended */
    bool give_up;  /* break it at the next turn */
    bool up;       /* the peer was heard on it */
    bool landed;   /* a piece has, and the peer was not told */
    uint32_t landed_seq;
    uint8_t good;  /* probes in a row that were answered */
    uint8_t fails; /* attempts in a row that were not */
    uint64_t again_at;    /* BROKEN: not before */
    uint64_t probed_at;   /* 0: no PING is unanswered */
    uint64_t answered_at; /* when the last one was */
    uint64_t heard;       /* containers, as far as they took the long way */
    uint64_t sign;        /* wf_carrier_lives: what it last saw */
    uint64_t confirmed;   /* the same of wf_carrier_lifeless, */
    uint64_t confirmed_at; /* and when it had grown */
    uint64_t sent, sent_bytes; /* containers that it took, and their payload */
    struct wf_flight flight;
    struct wf_stage *stage, *last_stage;   /* oldest first, by seq */
    struct wf_stage *sealed, *last_sealed; /* not opened yet, as they came */
    uint64_t staged;                       /* bytes that all of them take */
    struct wf_seal *seal; /* NULL: what it carries is not encrypted */
};

/* What a pair went through. */
enum wf_order_count {
    WF_ORDER_MOVES,      /* to another transport, or to a new connection */
    WF_ORDER_FAILBACKS,  /* those of them to a better one that works again */
    WF_ORDER_RECONNECTS, /* used-up connections that were replaced */
    WF_ORDER_RESENT,     /* containers that went again */
    WF_ORDER_DUPLICATES, /* that had come already */
    WF_ORDER_DAMAGED,    /* whose sum was wrong */
    WF_ORDER_STRIPED,    /* pieces that went by another than the current one */
    WF_ORDER_COUNTS
};

/* As far as everything is usual, and NULL from when something is not until the
 * long way finds that it is again: what order_usual.c goes by. */
struct wf_usual {
    /* one carrier, open, nothing before: how to send there */
    int (*send)(weft_peer *, const weft_hdr *, const void *, size_t);
    weft_peer *peer;
    /* what comes from there is whole, and the peer sends nowhere else */
    const struct weft_core *from;
};

struct wf_ordered {
    struct weft_loc *loc;
    struct wf_ordered *next_order; /* list of the instance */
    struct wf_usual usual;
    uint64_t ends; /* who sends and who is to receive, as in a header */
    /* sender */
    uint32_t next, una;
    struct wf_retained *first, **last, *unsent, *spare;
    uint64_t bytes;
    uint32_t count, spares;
    uint8_t epoch;
    bool wanted; /* somebody was told WEFT_EAGAIN */
    bool failed; /* the process is gone */
    bool stripe; /* carriers share pieces */
    bool bulk;   /* there was one */
    /* receiver */
    bool parted; /* the peer's carriers do */
    uint32_t expect;
    uint8_t peer_epoch;
    uint32_t owed, owed_bytes; /* containers not acknowledged yet */
    uint64_t owed_since;       /* 0: not seen by a turn yet */
    /* carriers, best first */
    struct wf_carrier carrier[WF_EPS_MAX];
    int carriers;
    int at;   /* index of the current one, -1: LOST */
    int heir; /* the peer is heard there, and `at` is doubted; or -1 */
    bool moved; /* because the peer sends there */
    int back; /* failback to it as soon as all is acknowledged, or -1 */
    bool crc; /* wanted */
    wf_crc32c_fn *sum;
    wf_crc32c_message_fn *sums; /* of header and payload */
    uint64_t failback, timeout;
    uint64_t lost_at, gone_at, silent_since, heir_at, failback_at;
    uint64_t sign_since; /* the silence of which a sign was looked for */
    uint64_t life_at;    /* the last sign of life of the peer, by any carrier */
    uint64_t life_due;   /* when to look for the next */
    uint64_t asked_at;   /* of this silence, by all carriers; 0: not yet */
    uint64_t turned_at;  /* the last turn */
    uint64_t ask_at;     /* LOST: when to ask the launcher again */
    uint64_t moved_at;    /* the last move */
    unsigned backoff;    /* doublings of what counts as silence, then */
    uint64_t stuck_since; /* moves, and nothing acknowledged beyond stuck_una */
    uint32_t stuck_una;
    bool stuck; /* for as long as the route allows */
    char why[400]; /* what the last broken carrier said */
    uint64_t counts[WF_ORDER_COUNTS]; /* for reports */
};

/* ---- order*.c: no I/O of their own ------------------------------------- */
/* Give the pair's order lane these endpoints, best first. */
int wf_order_open(struct weft_loc *, const int *eps, int n,
                  const struct wf_route_failover *);
void wf_order_free(struct wf_ordered *);
/* As a plugin's send_short, send_words and send, with the order in the place
 * of the peer: wf_lane has these. */
int wf_order_short(weft_peer *, const weft_hdr *, const void *, size_t);
int wf_order_words(const void *, uint64_t h0, weft_peer *, uint64_t h1,
                   uint64_t h2);
int wf_order_words_long(struct wf_ordered *, const void *, uint64_t h0,
                        uint64_t h1, uint64_t h2);
int wf_order_send(weft_peer *, weft_tx *);
/* A container with WF_SEQUENCED in its type: as wf_arrive. */
int wf_order_arrive(struct weft_core *, struct weft_loc *, const weft_hdr *,
                    const void *data, size_t have, weft_sink **);
/* The same for a message that is whole, the next one, and usual; false: nothing
 * has happened. */
bool wf_order_arrive_usual(struct wf_ordered *, struct weft_core *,
                           const weft_hdr *, const void *data, size_t have);
/* Is everything usual? */
void wf_order_usual(struct wf_ordered *);
static inline void wf_order_unusual(struct wf_ordered *o)
{
    o->usual.send = NULL;
    o->usual.from = NULL;
}
/* A container's sums are right, as far as its bytes are here. */
bool wf_order_right(const struct wf_ordered *, const struct wf_wire *,
                    const void *data, bool whole);
/* A number of it was delivered: acknowledge, now or later. */
void wf_order_owe(struct wf_ordered *, struct weft_core *,
                  const struct wf_wire *, uint32_t plen);
/* Hand what waits to the current carrier. */
void wf_order_push(struct wf_ordered *);
/* Tell who was told WEFT_EAGAIN, if there is room now. */
void wf_order_room(struct wf_ordered *);
/* Of no use any more: to the spares. */
void wf_order_recycle(struct wf_retained *);
/* What this carrier took and is unacknowledged goes again. */
void wf_order_rewind(struct wf_ordered *, int carrier);
/* Heard through a carrier; is it the current one? */
void wf_order_acked(struct wf_ordered *, uint32_t ack, bool current);
/* Fill in and seal a header, all but type, length and envelope, over n bytes of
 * payload. */
void wf_order_seal(struct wf_ordered *, struct wf_wire *, uint32_t seq,
                   const void *data, size_t n);
/* Containers that could not be delivered for lack of memory: true if there are
 * none left. */
bool wf_order_redeliver(struct wf_ordered *);
/* Free what is staged; no plugin has it any more. */
void wf_order_unstage(struct wf_carrier *);
/* The process is gone: nothing of it is retained any more. */
void wf_order_drop(struct weft_loc *, int status);

/* ---- carrier.c ----------------------------------------------------------- */
int wf_carrier_of(const struct wf_ordered *, const struct weft_core *);
/* It said WEFT_EAGAIN. */
void wf_carrier_blocked(struct wf_ordered *, int carrier);
/* A carrier failed or delivered nonsense. */
void wf_carrier_fault(struct wf_ordered *, int carrier, const char *why);
/* Events of plugins. True: it was about this order. */
bool wf_carrier_down(struct weft_loc *, struct weft_core *, int status,
                     const char *why);
void wf_carrier_ready(struct weft_loc *, struct weft_core *);
void wf_carrier_control(struct wf_ordered *, struct weft_core *,
                        const struct wf_wire *);
/* Something valid came in. */
void wf_carrier_heard(struct wf_ordered *, struct weft_core *, uint8_t epoch);
void wf_carrier_ack(struct wf_ordered *, struct weft_core *);
/* Send what is due on a carrier. */
void wf_carrier_say_due(struct wf_ordered *, int carrier);
/* A piece is here: its sender wants to know, by the same carrier. */
void wf_carrier_landed(struct wf_ordered *, int carrier, uint32_t seq);
/* Ask whether it works. */
void wf_carrier_probe(struct wf_ordered *, int carrier);
void wf_carrier_watch(struct wf_ordered *);
/* The peer counts as gone; not from a callback. */
void wf_carrier_end(struct wf_ordered *, const char *why);
/* Timers and everything that callbacks may not do. Runs now and then, and at the
 * end of a poll when rx_stalled asks for it. */
void wf_orders_turn(struct wf_instance *);
uint64_t wf_orders_deadline(struct wf_instance *);
/* Of all pairs. */
uint64_t wf_orders_count(const struct wf_instance *, enum wf_order_count);
/* What the pair has sent by a transport is added. */
struct wf_traffic;
void wf_order_traffic(const struct wf_ordered *, const struct weft_core *,
                      struct wf_traffic *);
/* With core.stats: one line to stderr. */
void wf_orders_report(const struct wf_instance *);
/* All is acknowledged on both sides: from now on broken carriers are no news. */
void wf_orders_part(struct wf_instance *);

/* ---- carrier_silence.c ---------------------------------------------------- */
/* Did anything pass since this was asked last? */
bool wf_carrier_lives(struct wf_ordered *, int carrier);
/* By the current one nothing is acknowledged, and nothing passes. */
bool wf_carrier_silent(struct wf_ordered *, uint64_t now);
/* It gave a sign: the silence begins anew. */
void wf_carrier_stir(struct wf_ordered *, uint64_t now);
/* What was sent waits for longer than it should. */
bool wf_carrier_waited(const struct wf_ordered *, uint64_t now);
/* No carrier has had a sign of life of the peer for the route's timeout, though
 * all were probed. */
bool wf_carrier_lifeless(struct wf_ordered *, uint64_t now);
/* While none is current: a carrier that the peer was heard on, and where its host
 * answers, is a sign of life. */
void wf_carrier_look_beside(struct wf_ordered *, uint64_t now);
/* There was no turn since the last one: that is no silence of the peer. */
void wf_carrier_excuse(struct wf_ordered *, uint64_t now);
/* The limit `ns` on silence, doubled for a pair that has moved in vain. */
uint64_t wf_carrier_backed_off(const struct wf_ordered *, uint64_t ns,
                             uint64_t now);
/* The pair moves to another carrier, or a renewed one. */
void wf_carrier_note_move(struct wf_ordered *, uint64_t now);
/* When to look for a sign of what was sent. */
uint64_t wf_carrier_next_look(const struct wf_ordered *, uint64_t now);

/* ---- carrier_gone.c ------------------------------------------------------- */
/* None works, and one said that the process has ended: has it? */
bool wf_carrier_gone(struct wf_ordered *, uint64_t now);

/* ---- stripe.c ------------------------------------------------------------- */
/* Where a piece goes now; -1: nowhere yet. */
int wf_stripe_choose(const struct wf_ordered *, const struct wf_retained *);
void wf_stripe_sent(struct wf_ordered *, int carrier, struct wf_retained *);
/* The peer has what this carrier took, up to seq. */
void wf_stripe_landed(struct wf_ordered *, int carrier, uint32_t seq);
/* A piece does not fly any more. */
void wf_stripe_end(struct wf_ordered *, struct wf_retained *);
void wf_stripe_turn(struct wf_ordered *, uint64_t now);
/* Is a turn due soon? */
bool wf_stripe_doubts(const struct wf_ordered *);

/* ---- carrier_seal.c ------------------------------------------------------ */
/* Carriers over networks are sealed from now on, before they carry anything. */
int wf_carrier_seal(struct wf_ordered *);
/* wf_instance.met */
void wf_carrier_met(struct weft_core *, uint32_t id,
                    const struct wf_auth_session *);
/* A carrier has connected: what waited for its session goes. */
void wf_carrier_up(struct weft_loc *, struct weft_core *);

#endif
