/* The engine's state: four queues and their elements (McMPI 3.2.1).
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

#include "progress/engines.h"
#include "protocol/slab.h"
#include "protocol/match.h"
#include "protocol/p2p.h"
#include "protocol/pool.h"
#include "protocol/slots.h"
#include "report/trace.h"

/* An outgoing container: its header, the plugin's view of it, and the callback
 * for when user memory is free again. */
struct wf_tx {
    _Alignas(WF_CACHE_LINE) struct wf_wire hdr;
    weft_tx tx;
    struct wf_tx *next; /* in the lane's FIFO */
    /* Called once, when the plugin does not use the container any more. */
    void (*done)(struct wf_tx *, int status);
};

/* An incoming payload on its way to memory. */
struct wf_sink {
    weft_sink sink;
    /* Called once, when the payload is in memory, or will never be. */
    void (*done)(struct wf_sink *, int status);
};

/* A rendezvous that the receiver pulls (pull.c). */
struct wf_pull {
    /* The endpoint whose get() moves the payload; NULL: not a pull. */
    struct weft_core *core;
    weft_mr *mr;     /* send side: registration of the buffer */
    weft_rkey *rkey; /* receive side: the sender's region, opened */
    weft_get rma;
    uint64_t send_id;
};

enum wf_p2p_waits {
    WF_WAITS_TX = 1u << 0,    /* the container is with the plugin */
    WF_WAITS_ANSWER = 1u << 1 /* an APPROVE, SYNC, FIN or CANCELLED must come */
};

/* A point-to-point request of the engine. A light one (WF_REQ_LIGHT) is a
 * receive of bytes that uses only two adjacent cache lines: where a whole
 * message is copied to, its place in the queue, and the head of req. The other
 * fields are set from these when they are needed (wf_p2p_expand). */
struct wf_p2p {
    /* The first byte of the data (wf_type_data). A whole message of up to
     * posted.room bytes may be copied there; the room is 0 if the memory is not
     * one block. */
    _Alignas(2 * WF_CACHE_LINE) void *block;
    union {
        struct weft_loc *loc; /* NULL: receive from any source */
        struct wf_p2p *next_free;
    };
    struct wf_posted posted; /* receive side */
    struct wf_req req;
    int peer, tag; /* as the program gave them: rank, tag or wildcard */
    uint8_t space; /* enum wf_space */
    uint8_t mode;  /* enum wf_send_mode */
    uint8_t waits; /* enum wf_p2p_waits */
    bool has_id;   /* it is in the pending or matched table */
    /* Set while the call that posts the receive runs: a large stored message is
     * left to the caller, which copies it outside the section. */
    bool defers_copy;
    void *buf;
    uint64_t count;
    struct wf_type *type;
    uint64_t bytes;    /* of buf: count * type size */
    void *packed;      /* buffered and packed sends: freed at completion */
    uint64_t id;       /* in the pending or matched table */
    uint64_t offset;   /* of the payload now moving, in the message */
    uint64_t expected; /* bytes that will move in all */
    uint64_t moved;    /* bytes that have moved */
    uint64_t length;   /* receive: bytes of the message, may exceed bytes */
    struct wf_pull pull;
    struct wf_message *stored; /* left to the caller: wf_receive_copy_stored */
    struct wf_share *home;     /* the pool's share that owns it, or NULL */
    struct wf_stack_link link; /* in a stack of submitted or returned ones */
    union {
        struct wf_tx tx;     /* send side */
        struct wf_sink sink; /* receive side */
    };
};

enum { WF_MESSAGE_SIZES = 10 /* of unexpected messages: unexpected.c */ };
enum wf_message_state {
    WF_MSG_ARRIVING, /* the payload is still arriving in data[] */
    WF_MSG_COMPLETE, /* the payload is in data[] */
    WF_MSG_NOTIFIED  /* the payload is still with the sender: rendezvous */
};

/* An unexpected message, or one that a matched probe has taken (MPI_Message):
 * two cache lines and the payload. A queue that is received in order touches
 * only the first. */
struct wf_message {
    struct wf_object object;
    struct weft_loc *loc;
    struct wf_arrived arrived;
    uint8_t state; /* enum wf_message_state */
    bool queued;   /* on the unexpected queue */
    uint16_t flags;
    uint16_t key_bytes; /* NOTIFIED: data says where to pull from */
    uint16_t error;     /* the payload could not be completed */
    uint64_t length;
    uint64_t send_id;
    struct wf_comm *comm; /* matched probe: the communicator, referenced */
    struct wf_landing *landing; /* ARRIVING */
    uint32_t room;              /* bytes of data[] */
    uint32_t endpoint;          /* NOTIFIED: index of the one it came by */
    uint8_t data[];
};
_Static_assert(offsetof(struct wf_message, length) == WF_CACHE_LINE,
               "the queue is in the first line");

/* The arrival of the rest of an unexpected message's payload. */
struct wf_landing {
    struct wf_sink sink;
    struct wf_message *message;
    struct wf_p2p *claimed; /* the receive that waits for it */
};

/* The message that a blocking receive polls for. It needs no request and no
 * place in a queue, as long as no posted receive could take the message and no
 * stored message matches. A message that cannot just be copied makes it a
 * request (wf_expected_claim).
 * INVARIANT  While no message is expected, env0 is WF_ENV0_NONE and bytes is
 * 0. */
enum wf_expected_state {
    WF_EXPECTED_NOT,    /* the message has not come yet */
    WF_EXPECTED_HERE,   /* the message was copied */
    WF_EXPECTED_CLAIMED /* the receive is a request now: req */
};
struct wf_expected {
    union {
        weft_want want; /* as a plugin sees it */
        struct {
            /* These never change: the size of want, and WF_SHORT_EAGER. */
            uint32_t size, first;
            /* env1 is masked; once the message is here it is the message's. */
            uint64_t env0, env1, mask;
            void *buf;
            uint64_t bytes; /* of buf; once it is here, of the message */
        };
    };
    wf_atomic_u32 state; /* enum wf_expected_state */
    struct wf_comm *comm;
    struct wf_req *req;
};

/* A request of another chapter, made by wf_req_create. */
struct wf_created_req {
    struct wf_req req;
    const char *what;    /* the operation's name, for reports */
    struct wf_list link; /* engine.others */
};

struct wf_engine {
    struct wf_instance *wf;
    struct wf_match match;
    struct wf_expected expected;
    struct wf_slots pending, matched;
    struct wf_p2p *free_p2p; /* free requests, where there is one thread */
    struct wf_pool pool;     /* free requests, where there are several */
    void **slabs;
    int slab_count;
    struct wf_list
        others; /* requests of other chapters: struct wf_created_req */
    struct wf_type *bytes_type; /* MPI_BYTE */
    /* Shared requests, for operations that need none of their own. */
    struct wf_req sent;           /* of sends that were done at once */
    struct wf_req from_proc_null; /* of receives from MPI_PROC_NULL */
    struct wf_req held; /* of sends that a plugin holds back; completed by
                             wf_req_complete_held */
    uint64_t credits;   /* initial credit of each sender, bytes */
    struct wf_slab messages[WF_MESSAGE_SIZES];  /* unexpected ones */
    uint64_t unexpected_bytes, unexpected_high; /* held now; held at most */
    uint32_t failures;                          /* Locations that failed */
    /* death.c: processes known to be lost. */
    uint32_t deaths; /* their number */
    uint32_t *dead;  /* their ranks, in the order in which they became known */
    uint32_t spread; /* so many of them were passed on to others */
    bool spreading;
    /* Communicators that a member could not make: their number, and the origins
     * of the last of them. The home engine has those of all engines of the
     * rank. LOCK section tasks, once there are several. */
    uint32_t unmade;
    uint64_t *origins;
    struct wf_engine_task unmade_news; /* ends the operations that wait for them */
};

int wf_engine_init(struct wf_instance *);
void wf_engine_fini(struct wf_instance *);

_Static_assert(offsetof(struct wf_p2p, req) == WF_CACHE_LINE &&
                   offsetof(struct wf_req, on_complete) <= WF_CACHE_LINE,
               "a light receive is in two lines");

/* Mark a request whose connection to the peer is lost. Returns its error class,
 * which may be that of what this process lacks; the end of the Location need
 * not be announced yet. So the flag is what tells such failures from others. */
static inline int wf_req_mark_link_lost(struct wf_req *r, int status)
{
    r->flags |= WF_REQ_LINK_LOST;
    return wf_link_error(status);
}

static inline struct wf_p2p *wf_p2p_of(struct wf_req *r)
{
    return wf_container(r, struct wf_p2p, req);
}

/* The pool of requests of the rank, which its engines (engines.h) share: a
 * thread that uses several engines keeps its share. */
static inline struct wf_pool *wf_request_pool(struct wf_instance *wf)
{
    return &wf_home(wf)->engine->pool;
}

/* Take a request from the pool (request.c). Free requests, linked by next_free,
 * hold nothing of their last use: no callbacks, packed memory, pull, id or
 * place in a queue. */
struct wf_p2p *wf_p2p_alloc(struct wf_comm *, enum wf_req_type);
/* Initialise a request, without a communicator, peer or buffer. */
void wf_p2p_init_blank(struct wf_p2p *, struct wf_instance *, enum wf_req_type);
/* Return a complete request to the pool that is WF_REQ_LIGHT and has no other
 * flag. */
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
        wf_comm_put(comm); /* the program has freed it meanwhile */
    else
        comm->object.refs--;
}
/* Turn a light request into a receive whose fields are all set. */
void wf_p2p_expand(struct wf_p2p *);
/* True if the receive is in the posted queue. */
static inline bool wf_p2p_is_posted(const struct wf_p2p *p)
{
    return p->posted.where != WF_UNPOSTED;
}
/* Set the buffer of a request; references the datatype. */
void wf_p2p_set_buffer(struct wf_p2p *, void *buf, uint64_t count,
                       struct wf_type *);
/* The mask of endpoints whose progress can complete the request. */
uint32_t wf_req_endpoints(struct wf_req *);
/* Wait until the request is done; it is neither released nor checked. */
void wf_req_await(struct wf_req *);
/* Wait as wf_req_await does; cause: what the program waits for with it. */
void wf_req_await_with_cause(struct wf_req *,
                             const struct wf_wait_cause *cause);
/* Poll for the end of a request for a while, without sleeping. Only where
 * wf_progress_may_spin(). */
void wf_req_poll_briefly(struct wf_req *);

/* message.c: the bridge to the lanes. */
/* Send a control message without payload. It is copied, and taken in any case.
 * urgent: it may overtake containers that wait. */
void wf_message_send_control(struct weft_loc *, struct wf_wire *, bool urgent);
/* Send a control message with a few bytes of payload (at most WF_CONTROL_MAX),
 * which are copied. */
enum { WF_CONTROL_MAX = 256 };
void wf_message_send_control_with(struct weft_loc *, struct wf_wire *,
                                  const void *payload, size_t n);
/* Send a container of the caller; t->done follows exactly once, maybe at
 * once. */
void wf_message_send(struct weft_loc *, unsigned lane, struct wf_tx *t);
/* Allocate a container with room for n bytes of payload, at one.iov_base;
 * done() frees it. NULL: out of memory. */
struct wf_tx *wf_message_alloc(size_t n);
/* Copy the payload of a container into one piece. */
void wf_message_gather(weft_tx *, void *to);
/* The plugin can send again (tx_ready): send what waits. */
void wf_message_resume(struct weft_loc *, struct weft_core *);
/* Send the containers that wait in the order lane. */
void wf_message_unblock(struct weft_loc *);
/* End the containers that wait in any lane, with this status. */
void wf_message_drop_fifo(struct weft_loc *, int status);
void wf_wire_init(struct wf_wire *, enum wf_wire_type, uint16_t flags);

/* payload.c: user memory as plugins see it. Describe n bytes of the
 * request's stream from `offset` on, to be sent through p->tx or received
 * through a sink. */
void wf_send_set_payload(struct wf_p2p *, uint64_t offset, uint64_t n);
/* Write the segments of [off, end) of the request's stream into v. Returns
 * their number, at most max. */
int wf_payload_segments(const struct wf_p2p *, uint64_t off, uint64_t end,
                        struct iovec *v, int max);
weft_sink *wf_receive_set_sink(struct wf_p2p *, uint64_t offset, uint64_t n,
                               void (*done)(struct wf_sink *, int status));

/* receive.c: receive and wait, without a request. False: nothing has happened,
 * take the slow path. loc: a contact of comm. */
bool wf_receive_fast(struct wf_comm *comm, struct weft_loc *loc,
                     const struct wf_expected *, MPI_Status *, int *rc);
/* Receive as wf_receive_fast does, where no posted receive could take the
 * message, no stored one matches, and no other is expected. */
bool wf_receive_expected(struct wf_comm *comm, struct weft_loc *loc,
                         const struct wf_expected *, MPI_Status *, int *rc);
/* True if the expected message is one with this envelope. */
static inline bool wf_expected_matches(const struct wf_expected *x,
                                       uint64_t env0, uint64_t env1)
{
    return ((x->env0 ^ env0) | (x->env1 ^ (env1 & x->mask))) == 0;
}
/* Turn the expected message into a request. NULL: out of memory. */
struct wf_p2p *wf_expected_claim(struct wf_expected *);

/* send.c, receive.c: start a prepared request, a new or a persistent one. */
int wf_send_start(struct wf_p2p *);
int wf_receive_start(struct wf_p2p *);
/* Receive a stored message that was matched. */
void wf_receive_message(struct wf_p2p *, struct wf_message *);
/* Complete a receive: its status, and the error if the length does not fit. */
void wf_receive_finish(struct wf_p2p *, int error);
/* Take a posted receive back; false: it is matched already. */
bool wf_receive_withdraw(struct wf_p2p *);
/* Prepare the receive for a message of this length and envelope. */
void wf_receive_match(struct wf_p2p *, uint64_t env1, uint64_t length);
/* Start a receive as wf_irecv does. The caller then, with the section left,
 * calls wf_receive_copy_stored, which copies a large message that was stored
 * already. */
int wf_irecv_defer_copy(struct wf_comm *, const struct wf_receive_args *,
                        struct wf_req **out);
void wf_receive_copy_stored(struct wf_req *);
/* The Location of a rank of comm's peer group, connected. NULL: the error is
 * recorded and its class in *rc. */
struct weft_loc *wf_peer_connect(struct wf_comm *, int rank, int *rc);
static inline struct weft_loc *wf_peer_location(struct wf_comm *comm, int rank,
                                                int *rc)
{
    struct weft_loc *loc = wf_contact_of(comm, rank);

    if (wf_likely(loc && !loc->failed))
        return loc;
    return wf_peer_connect(comm, rank, rc);
}

/* unfinished.c: report the operations that the program leaves unfinished in
 * this engine. Called in each engine of an instance that ends. Always true. */
bool wf_report_unfinished(void *engine);

/* rendezvous.c */
/* Announce a send to its receiver: NOTIFY. */
int wf_rendezvous_notify(struct wf_p2p *send);
/* The lane for a payload of that size, where order does not matter. */
unsigned wf_bulk_lane(const struct weft_loc *, uint64_t bytes);
/* Accept a rendezvous: pull the payload, or approve. key and n are the NOTIFY's
 * payload, which came through core. */
void wf_rendezvous_accept(struct wf_p2p *recv, struct weft_loc *from,
                          struct weft_core *, uint64_t send_id,
                          const uint8_t *key, size_t n);
/* Handle an APPROVE: send the payload. */
void wf_rendezvous_approved(struct weft_loc *, const struct wf_wire *);
/* Handle a TRANSFER; as wf_arrive. */
int wf_rendezvous_transfer(struct weft_loc *, const struct wf_wire *,
                           const void *data, size_t have, weft_sink **sink);
/* pull.c: the receiver fetches the payload by the transport's get(). */
/* Describe the send buffer for a pull. Returns the bytes written to `key`, 0 if
 * the payload must be pushed. */
size_t wf_pull_offer(struct wf_p2p *send, uint8_t key[static WF_CONTROL_MAX]);
/* Start to pull. False: the sender must push instead (approve). */
bool wf_pull_start(struct wf_p2p *recv, struct weft_loc *from,
                   struct weft_core *, uint64_t send_id, const uint8_t *key,
                   size_t n);
/* The plugin has finished a get(). */
void wf_pull_done(weft_get *, int status);
/* Release the registration and the key of a pull. */
void wf_pull_release(struct wf_p2p *);
/* Give a send an id in the pending table. 0 or WEFT_ENOMEM. */
int wf_slot_add_pending(struct wf_p2p *);
/* Remove a request from the pending or matched table, if it is there. */
void wf_slot_release(struct wf_engine *, struct wf_p2p *);

/* arrive.c: deliver a container that a plugin has received. */
int wf_arrive(struct weft_core *, struct weft_loc *, const weft_hdr *,
              const void *data, size_t have, weft_sink **sink);
/* Deliver a container that is or should be sequenced or checksummed
 * (order_fast.c). */
int wf_arrive_marked(struct weft_core *, struct weft_loc *, const weft_hdr *,
                     const void *data, size_t have, weft_sink **sink);
/* Tell the plugin to stop reading, for lack of memory. Returns WEFT_EAGAIN. */
int wf_arrive_stalled(struct weft_core *, struct weft_loc *);
/* Deliver a container that is neither sequenced nor checksummed, or whose
 * numbers and sums were checked. */
int wf_arrive_plain(struct weft_core *, struct weft_loc *, const weft_hdr *,
                    const void *data, size_t have, weft_sink **sink);
/* Deliver a short message, whose header is in three words; the second one by
 * the way that records its match, for ranks with a trace. */
int wf_arrive_words(struct weft_core *, struct weft_loc *, uint64_t h0,
                    uint64_t h1, uint64_t h2, const void *data);
int wf_arrive_words_traced(struct weft_core *, struct weft_loc *, uint64_t h0,
                           uint64_t h1, uint64_t h2, const void *data);
static inline int wf_arrive_short(struct weft_core *core, struct weft_loc *from,
                                  uint64_t h0, uint64_t h1, uint64_t h2,
                                  const void *data)
{
    return WF_TRACING(from->wf)
               ? wf_arrive_words_traced(core, from, h0, h1, h2, data)
               : wf_arrive_words(core, from, h0, h1, h2, data);
}
/* Let plugins read again that were told to stop for lack of memory; and run the
 * timers of ordered pairs. */
void wf_arrive_resume(struct wf_instance *);
/* Look for dead peers (failure.c). */
void wf_failure_watch(struct wf_instance *);
/* The answer to a send has come: SYNC, FIN or CANCELLED. */
void wf_send_answered(struct wf_p2p *send, int error);
/* Complete a send that waits for nothing any more. */
void wf_send_complete_if_ready(struct wf_p2p *);

/* credit.c */
/* Return the credit of consumed messages to their sender. */
void wf_credit_return(struct weft_loc *);
/* Count a consumed message; return credit once it is worth a message. */
static inline void wf_credit_consumed(struct weft_loc *loc, uint64_t charge)
{
    loc->owed += charge;
    if (wf_unlikely(loc->owed >= loc->wf->engine->credits / 2))
        wf_credit_return(loc);
}
/* The peer has returned credit: CREDIT. */
void wf_credit_received(struct weft_loc *, uint64_t bytes);

/* unexpected.c: the store of unexpected messages. Store a message of which
 * `have` of `room` bytes of payload are here: the rest arrives through
 * message->landing. NULL: out of memory. */
struct wf_message *wf_unexpected_create(struct weft_loc *,
                                        const struct wf_wire *, uint64_t length,
                                        size_t room, size_t have);
/* The credit that a stored message took from its sender. */
static inline uint64_t wf_message_charge(const struct wf_message *m)
{
    return m->room + (uint64_t)WF_MESSAGE_OVERHEAD;
}
void wf_unexpected_free(struct wf_message *);
/* Copy a stored message and free it, if it is complete and asks for no answer.
 * False: it is not so simple, and nothing has happened. */
struct wf_envelope_length {
    uint64_t env1, bytes;
};
bool wf_unexpected_take(struct wf_arrived *, void *buf, uint64_t room,
                        struct wf_envelope_length *);
void wf_unexpected_init(struct wf_engine *);
void wf_unexpected_fini(struct wf_engine *);

/* failure.c: the peer, or the last connection to it, is gone. */
void wf_location_down(struct weft_loc *, int status, const char *why);
/* The peer is gone, as in wf_location_down; the plugins first give back the
 * containers that they hold. Not from a callback. */
void wf_location_end(struct weft_loc *, int status, const char *why);
/* The lowest process of the communicator that has failed, or NULL. */
const struct weft_loc *wf_any_failed(const struct wf_comm *);
/* Check that a receive may wait for any source: not once a member has failed,
 * for the message might have been its. MPI_SUCCESS or MPI_ERR_PROC_ABORTED,
 * recorded. */
int wf_check_any_source(struct wf_comm *);
/* Connect to a peer that this process only listens to, so that its death is
 * noticed. */
void wf_location_watch(struct weft_loc *);

/* send.c */
/* Ask the receiver to forget a send that waits for its answer. The receiver's
 * answer, to this or to the message itself, completes the send. */
void wf_send_cancel(struct wf_p2p *);

#endif
