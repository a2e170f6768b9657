/* The engine's state: four queues and what stands in them (McMPI 3.2.1).
 *
 *                   receiver                               sender
 *   posted      receives without a message     pending  sends that wait for
 *   (request)   in: receive.c  out: arrive.c            APPROVE or SYNC
 *               order: posting, per envelope            in: send.c
 *   unexpected  messages without a receive              out: rendezvous.c
 *               in: arrive.c   out: receive.c           by id, no order
 *               order: arrival, per envelope   matched  receives that wait for
 *               bound: credits (credit.c)               TRANSFER; in and out:
 *                                                       rendezvous.c; by id
 *
 * The three functional units are the files send.c, receive.c and arrive.c;
 * message.c is the bridge that turns their messages into containers.
 *
 * LOCK  everything here: the API section.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_QUEUES_H
#define WF_QUEUES_H

#include "engines.h"
#include "protocol/cells.h"
#include "protocol/match.h"
#include "protocol/p2p.h"
#include "protocol/pool.h"
#include "protocol/slots.h"

/* An outgoing container: header with headroom, the plugin's view of it, and
 * what to do when user memory is free again. */
struct wf_tx {
    _Alignas(WF_CACHE_LINE) uint8_t headroom[WF_CACHE_LINE];
    struct wf_wire hdr;
    weft_tx tx;
    struct iovec one;
    struct wf_tx *next; /* in the lane's FIFO */
    void (*done)(struct wf_tx *, int status);
};
_Static_assert(WEFT_HEADROOM <= WF_CACHE_LINE, "headroom fits");

/* An incoming payload on its way to memory. */
struct wf_sink {
    weft_sink sink;
    void (*done)(struct wf_sink *, int status);
};

/* A rendezvous that the receiver pulls (pull.c). */
struct wf_pull {
    struct weft_core *core; /* whose get() moves it; NULL: not a pull */
    weft_mr *mr;            /* send side: registration of the buffer */
    weft_rkey *rkey;        /* receive side: the sender's region, opened */
    weft_rma rma;
    uint64_t send_id;
};

enum wf_p2p_waits {
    WF_WAITS_TX = 1u << 0,    /* the container is with the plugin */
    WF_WAITS_ANSWER = 1u << 1 /* APPROVE, SYNC, FIN or CANCELLED is to come */
};

/* A point-to-point request of the engine. A light one (WF_REQ_LIGHT) is a receive
 * of bytes that uses two lines, neighbours: where a whole message is copied, its
 * place in the queue, and the head of req. The rest is made of these when
 * more is needed (wf_p2p_whole). */
struct wf_p2p {
    /* Where a whole message of up to posted.room bytes may be copied; the room
     * is 0 if the memory is not one block. */
    _Alignas(2 * WF_CACHE_LINE) void *block;
    union {
        struct weft_loc *loc; /* NULL: receive from any source */
        struct wf_p2p *next_free;
    };
    struct wf_posted posted; /* receive side */
    struct wf_req req;
    int peer, tag;        /* as given: rank, tag or wildcard */
    uint8_t space, mode, waits;
    bool has_id;          /* in the pending or matched table */
    bool aside;           /* a large stored message is left to the caller;
                             until the call that posts it is over */
    void *buf;
    uint64_t count;
    struct wf_type *type;
    uint64_t bytes;       /* of buf: count * type size */
    void *packed;         /* buffered and packed sends: freed at completion */
    uint64_t id;
    uint64_t offset;      /* of the payload now moving, in the message */
    uint64_t expected;    /* bytes that will move in all */
    uint64_t moved;
    uint64_t length;      /* receive: of the message, may exceed bytes */
    struct wf_pull pull;
    struct wf_message *stored; /* left to the caller: wf_receive_aside */
    struct wf_share *home;     /* of a thread's part of the pool, or NULL */
    struct wf_stack_link link; /* submitted, or on its way home */
    union {
        struct wf_tx tx;     /* send side */
        struct wf_sink sink; /* receive side */
    };
};

enum { WF_MESSAGE_SIZES = 10 /* of cells for them: unexpected.c */ };
enum wf_message_state {
    WF_MSG_ARRIVING, /* payload is still landing in data[] */
    WF_MSG_COMPLETE, /* payload is in data[] */
    WF_MSG_NOTIFIED  /* payload is with the sender: rendezvous */
};

/* An unexpected message, or one that a matched probe took (MPI_Message): two
 * lines and the payload. The first is what a queue in order touches. */
struct wf_message {
    struct wf_object object;
    struct weft_loc *loc;
    struct wf_arrived arrived;
    uint8_t state;      /* enum wf_message_state */
    bool queued;        /* on the unexpected queue */
    uint16_t flags;
    uint16_t key_bytes; /* NOTIFIED: data says where to pull from */
    uint16_t error;     /* the payload could not be completed */
    uint64_t length;
    uint64_t send_id;
    struct wf_comm *comm; /* matched probe: the communicator, referenced */
    struct wf_landing *landing; /* ARRIVING */
    uint32_t room;     /* bytes of data[] */
    uint32_t endpoint; /* NOTIFIED: it came through */
    uint8_t data[];
};
_Static_assert(offsetof(struct wf_message, length) == WF_CACHE_LINE,
               "the queue is in the first line");

/* How the rest of its payload arrives. */
struct wf_landing {
    struct wf_sink sink;
    struct wf_message *message;
    struct wf_p2p *claimed; /* the receive that waits for it */
};

/* The message that a blocking receive polls for: no request, no queue, as long
 * as no posted receive could take it and nothing stored is for it. A message that
 * is more than bytes to be copied turns it into a request (wf_expected_claim).
 * INVARIANT  nobody expects: env0 is WF_ENV0_NONE and bytes is 0. */
enum wf_expected_state {
    WF_EXPECTED_NOT, /* it has not come yet */
    WF_EXPECTED_HERE,
    WF_EXPECTED_CLAIMED /* req is the receive */
};
struct wf_expected {
    union {
        weft_want want; /* as a plugin sees it */
        struct {
            uint64_t first; /* WF_SHORT_EAGER */
            uint64_t env0, env1, mask; /* env1 masked; afterwards the message's */
            void *buf;
            uint64_t bytes; /* room; afterwards what came */
        };
    };
    wf_atomic_u32 state; /* enum wf_expected_state */
    struct wf_comm *comm;
    struct wf_req *req;
};

/* What wf_req_create makes. */
struct wf_other {
    struct wf_req req;
    const char *what;    /* for leftover.c */
    struct wf_list link; /* engine.others */
};

struct wf_engine {
    struct wf_instance *wf;
    struct wf_match match;
    struct wf_expected expected;
    struct wf_slots pending, matched;
    struct wf_p2p *free_p2p; /* pool of one thread */
    struct wf_pool pool;     /* of several */
    void **slabs;
    int slab_count;
    struct wf_list others; /* requests of other chapters: struct wf_other */
    struct wf_type *bytes_type; /* MPI_BYTE */
    struct wf_req sent;   /* shared outcome of sends done at once */
    struct wf_req nobody; /* of receives from MPI_PROC_NULL */
    struct wf_req held;   /* of those that a plugin holds: done by progress */
    uint64_t credits;     /* initial credit of each sender */
    struct wf_cells messages[WF_MESSAGE_SIZES]; /* unexpected ones */
    uint64_t unexpected_bytes, unexpected_high;
    uint32_t failures; /* Locations that failed */
    /* death.c */
    uint32_t deaths;   /* processes known to be lost; */
    uint32_t *dead;    /* which, in the order of the news; */
    uint32_t spread;   /* so many were passed on */
    bool spreading;
    /* Communicators that a member could not make, by origin: how many there were,
     * and the last of them. The home engine's are those of all engines of the
     * rank. LOCK section errands, once there are several. */
    uint32_t unmade;
    uint64_t *origins;
    struct wf_errand unmade_news; /* end what waits for them */
};

int wf_engine_init(struct wf_instance *);
void wf_engine_fini(struct wf_instance *);

_Static_assert(offsetof(struct wf_p2p, req) == WF_CACHE_LINE &&
                   offsetof(struct wf_req, on_complete) <= WF_CACHE_LINE,
               "a light receive is in two lines");

/* The error of a request whose way to the peer is lost. The class may be that of
 * what this process lacks, and the Location's end need not be announced yet: the
 * flag is what tells. */
static inline int wf_req_cut(struct wf_req *r, int status)
{
    r->flags |= WF_REQ_CUT;
    return wf_link_error(status);
}

static inline struct wf_p2p *wf_p2p_of(struct wf_req *r)
{
    return wf_container(r, struct wf_p2p, req);
}

/* Threads that go from engine to engine (engines.h) keep their share. */
static inline struct wf_pool *wf_request_pool(struct wf_instance *wf)
{
    return &wf_home(wf)->engine->pool;
}

/* pool: request.c. Free ones, linked by next_free, hold nothing of an earlier
 * life: no callbacks, packed memory, pull, id or place in a queue. */
struct wf_p2p *wf_p2p_alloc(struct wf_comm *, enum wf_req_type);
/* A new one of nothing yet, without a communicator. */
void wf_p2p_blank(struct wf_p2p *, struct wf_instance *, enum wf_req_type);
/* The same for a complete one that is WF_REQ_LIGHT and nothing else. */
static inline void wf_p2p_recycle(struct wf_p2p *p)
{
    struct wf_comm *comm = p->req.comm;
    struct wf_engine *e = p->req.wf->engine;

    p->req.object.kind = WF_KIND_DEAD;
    if (WF_BRIEF && p->home) {
        wf_pool_give(p);
    } else {
        p->next_free = e->free_p2p;
        e->free_p2p = p;
    }
    if (wf_unlikely(comm->object.refs == 1))
        wf_comm_put(comm); /* it was freed meanwhile */
    else
        comm->object.refs--;
}
/* A light one becomes a receive as any other. */
void wf_p2p_whole(struct wf_p2p *);
static inline bool wf_p2p_posted(const struct wf_p2p *p)
{
    return p->posted.where != WF_UNPOSTED;
}
void wf_p2p_set_buffer(struct wf_p2p *, void *buf, uint64_t count,
                       struct wf_type *);
/* Endpoints whose progress can complete the request. */
uint32_t wf_req_endpoints(struct wf_req *);
/* Wait until it is done, and leave it as it is. */
void wf_req_await(struct wf_req *);
/* The same; cause: what the program waits for with it. */
void wf_req_await_as(struct wf_req *, const struct wf_wait_cause *cause);
/* The first part of that, where wf_progress_may_spin(): poll for a while. */
void wf_req_spin(struct wf_req *);

/* message.c: the bridge to the lanes. */
/* A control message without payload; copied, never fails to be taken. urgent:
 * may overtake containers that wait. */
void wf_message_control(struct weft_loc *, struct wf_wire *, bool urgent);
/* The same with a few bytes of payload (at most WF_CONTROL_MAX), copied. */
enum { WF_CONTROL_MAX = 256 };
void wf_message_control_with(struct weft_loc *, struct wf_wire *,
                             const void *payload, size_t n);
/* A container of the caller; t->done follows exactly once, maybe at once. */
void wf_message_send(struct weft_loc *, unsigned lane, struct wf_tx *t);
/* A container with room for n bytes of payload, at one.iov_base; done() frees
 * it. NULL: out of memory. */
struct wf_tx *wf_message_owned(size_t n);
/* The payload of a container, in one piece. */
void wf_message_gather(weft_tx *, void *to);
void wf_message_resume(struct weft_loc *, struct weft_core *); /* tx_ready */
void wf_message_unblock(struct weft_loc *);
void wf_message_drop_fifo(struct weft_loc *, int status);
void wf_wire_init(struct wf_wire *, enum wf_wire_type, uint16_t flags);

/* payload.c: user memory as plugins see it. n bytes of the request's stream
 * from `offset` on, going out through p->tx or coming in through a sink. */
void wf_send_payload(struct wf_p2p *, uint64_t offset, uint64_t n);
/* Segments of [off, end) of the request's stream. */
int wf_payload_segments(const struct wf_p2p *, uint64_t off, uint64_t end,
                        struct iovec *v, int max);
weft_sink *wf_receive_sink(struct wf_p2p *, uint64_t offset, uint64_t n,
                           void (*done)(struct wf_sink *, int status));

/* receive.c: blocking receives without a request. false: nothing has happened,
 * take the long way. loc: a contact of comm. */
bool wf_receive_short(struct wf_comm *comm, struct weft_loc *loc,
                      const struct wf_expected *, MPI_Status *, int *rc);
/* The same for a message that no posted receive and no stored message can be
 * taken for; nobody expects one. */
bool wf_receive_expected(struct wf_comm *comm, struct weft_loc *loc,
                         const struct wf_expected *, MPI_Status *, int *rc);
static inline bool wf_expected_is(const struct wf_expected *x, uint64_t env0,
                                  uint64_t env1)
{
    return ((x->env0 ^ env0) | (x->env1 ^ (env1 & x->mask))) == 0;
}
/* Make a request of it. NULL: no memory. */
struct wf_p2p *wf_expected_claim(struct wf_expected *);

/* send.c, receive.c: post a prepared request (also persistent start). */
int wf_send_start(struct wf_p2p *);
int wf_receive_start(struct wf_p2p *);
/* Let a matched message flow into a receive. */
void wf_receive_message(struct wf_p2p *, struct wf_message *);
/* Finish a receive: status from the envelope, truncation error. */
void wf_receive_finish(struct wf_p2p *, int error);
/* Take a posted receive back; false: it is matched already. */
bool wf_receive_withdraw(struct wf_p2p *);
/* Prepare the receive for a message of this length and envelope. */
void wf_receive_match(struct wf_p2p *, uint64_t env1, uint64_t length);
/* wf_irecv by a caller who then, with the section left, calls wf_receive_aside:
 * that copies a large message which was there already. */
int wf_irecv_aside(struct wf_comm *, const struct wf_receive_args *,
                   struct wf_req **out);
void wf_receive_aside(struct wf_req *);
/* The Location of a rank of comm's peer group, connected; NULL: the error is
 * recorded in *rc. */
struct weft_loc *wf_peer_connect(struct wf_comm *, int rank, int *rc);
static inline struct weft_loc *wf_peer_location(struct wf_comm *comm, int rank,
                                                int *rc)
{
    struct weft_loc *loc = wf_contact(comm, rank);

    if (wf_likely(loc && !loc->failed))
        return loc;
    return wf_peer_connect(comm, rank, rc);
}

/* leftover.c: lines about what the program leaves unfinished in this engine; of
 * an instance that ends, called in each. Always true. */
bool wf_leftovers_say(void *engine);

/* rendezvous.c */
int wf_rendezvous_notify(struct wf_p2p *send);
/* The lane for so much payload, where order does not matter. */
unsigned wf_bulk_lane(const struct weft_loc *, uint64_t bytes);
/* Pull or approve: key and n are the NOTIFY's payload, through core. */
void wf_rendezvous_accept(struct wf_p2p *recv, struct weft_loc *from,
                          struct weft_core *, uint64_t send_id,
                          const uint8_t *key, size_t n);
void wf_rendezvous_approved(struct weft_loc *, const struct wf_wire *);
int wf_rendezvous_transfer(struct weft_loc *, const struct wf_wire *,
                           const void *data, size_t have, weft_sink **sink);
/* pull.c: the receiver fetches the payload by the transport's get(). */
/* Describe the send buffer for a pull: bytes written to `key`, 0 if it must be
 * pushed. */
size_t wf_pull_offer(struct wf_p2p *send, uint8_t key[static WF_CONTROL_MAX]);
/* Start pulling; false: push instead (approve). */
bool wf_pull_start(struct wf_p2p *recv, struct weft_loc *from,
                   struct weft_core *, uint64_t send_id, const uint8_t *key,
                   size_t n);
void wf_pull_done(weft_rma *, int status);
void wf_pull_release(struct wf_p2p *);
int wf_slot_pending(struct wf_p2p *); /* give it an id in `pending` */
void wf_slot_release(struct wf_engine *, struct wf_p2p *);

/* arrive.c: stage 1 and 2 of a delivery. */
int wf_arrive(struct weft_core *, struct weft_loc *, const weft_hdr *,
              const void *data, size_t have, weft_sink **sink);
/* The same for one that is sequenced or has a checksum, or must (order_usual.c). */
int wf_arrive_marked(struct weft_core *, struct weft_loc *, const weft_hdr *,
                     const void *data, size_t have, weft_sink **sink);
/* There is no memory: the plugin is to stop reading. WEFT_EAGAIN. */
int wf_arrive_stalled(struct weft_core *, struct weft_loc *);
/* The same for a container that has no such mark, or no more. */
int wf_arrive_plain(struct weft_core *, struct weft_loc *, const weft_hdr *,
                    const void *data, size_t have, weft_sink **sink);
int wf_arrive_words(struct weft_core *, struct weft_loc *, uint64_t h0,
                    uint64_t h1, uint64_t h2, const void *data);
/* Let plugins read again that were told to stop for lack of memory. */
void wf_arrive_resume(struct wf_instance *);
void wf_answered(struct wf_p2p *send, int error); /* SYNC, FIN, CANCELLED */
/* A send whose waits are over completes. */
void wf_send_check(struct wf_p2p *);

/* credit.c */
void wf_credit_return(struct weft_loc *);
static inline void wf_credit_consumed(struct weft_loc *loc, uint64_t charge)
{
    loc->owed += charge;
    if (wf_unlikely(loc->owed >= loc->wf->engine->credits / 2))
        wf_credit_return(loc);
}
void wf_credit_received(struct weft_loc *, uint64_t bytes);

/* message store: unexpected.c. `have` of `room` bytes of payload are here: the
 * rest lands through message->landing. */
struct wf_message *wf_unexpected_create(struct weft_loc *, const struct wf_wire *,
                                        uint64_t length, size_t room,
                                        size_t have);
static inline uint64_t wf_message_charge(const struct wf_message *m)
{
    return m->room + (uint64_t)WF_MESSAGE_OVERHEAD;
}
void wf_unexpected_free(struct wf_message *);
/* Copy a stored message that is complete and asks for no answer, and free it.
 * false: nothing has happened, it is not so simple. */
struct wf_envelope_length {
    uint64_t env1, bytes;
};
bool wf_unexpected_take(struct wf_arrived *, void *buf, uint64_t room,
                        struct wf_envelope_length *);
void wf_unexpected_init(struct wf_engine *);
void wf_unexpected_fini(struct wf_engine *);

/* failure.c: the peer or the last way to it is gone. */
void wf_location_down(struct weft_loc *, int status, const char *why);
/* The same, and what the plugins hold comes back first. Not from a callback. */
void wf_location_end(struct weft_loc *, int status, const char *why);
/* The lowest process of the communicator that has failed, or NULL. */
const struct weft_loc *wf_any_failed(const struct wf_comm *);
/* May a receive wait for any source? Not once a member has failed: the message
 * might have been its. MPI_SUCCESS or MPI_ERR_PROC_ABORTED, recorded. */
int wf_any_source(struct wf_comm *);
/* Connect to a peer that we only listen to, so that its death is noticed. */
void wf_location_watch(struct weft_loc *);

/* send.c */
/* Ask the receiver to forget a send that waits for its answer. Its answer, or
 * that of the message itself, completes it. */
void wf_send_cancel(struct wf_p2p *);

#endif
