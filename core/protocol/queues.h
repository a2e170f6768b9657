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

#include "process/rank.h"
#include "progress/engines.h"
#include "protocol/arrive.h"
#include "protocol/credit.h"
#include "protocol/match.h"
#include "protocol/p2p.h"
#include "protocol/pool.h"
#include "protocol/send.h"
#include "protocol/slab.h"
#include "protocol/slots.h"
#include "report/trace.h"
#include "route/location.h"

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
    uint8_t lane;  /* send: of the envelope */
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
    struct wf_stack_link link; /* in a stack of returned ones */
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
    int16_t error;      /* status of a payload that could not be completed */
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

/* How messages came, for tools: tool/pvar.c. */
struct wf_message_counts {
    uint64_t stored;     /* whole messages that were stored first */
    uint64_t growths;    /* these, and announcements that were stored */
    uint64_t length_sum; /* of the queue, taken when it grew */
    uint64_t bytes_sum;  /* of its memory, taken then, too */
    uint32_t length_high;
    uint64_t rendezvous; /* messages whose payload a receive has asked for */
    uint64_t others;     /* containers that are no whole message */
    uint64_t late; /* sends that became a rendezvous or waited for the lane */
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
    struct wf_message_counts counts;
    uint32_t failures;                          /* Locations that failed */
    uint32_t unreported; /* of them, given up without the launcher's knowing */
    uint32_t losers; /* processes that gave this one up, as handled here */
    /* death.c: processes known to be lost. */
    uint32_t deaths; /* their number */
    uint32_t dead_room;
    uint32_t *dead;  /* their numbers, in the order in which they were lost */
    uint32_t spread; /* so many of them were passed on to others */
    bool spreading;
    /* Communicators that a member could not make: their number, and the origins
     * of the last of them. The home engine has those of all engines of the
     * rank. LOCK section tasks, once there are several. */
    uint32_t unmade;
    uint64_t *origins;
    struct wf_engine_task
        unmade_news; /* ends the operations that wait for them */
    struct wf_active_handler *active[WF_SPACES]; /* by space: active.h */
    struct wf_flag_wait *flag_waits; /* of all threads: failure.h */
    struct wf_list orphans;          /* of wf_engine_keep_orphan */
    /* sources.c */
    struct wf_event_source timers;   /* of the ordered pairs */
    struct wf_event_source watch; /* for the launcher and dead peers */
    uint64_t hear_at; /* ns, when the launcher's notices are read next */
    uint64_t watch_at; /* ns, when dead peers are looked for next */
    struct weft_loc *probed; /* in vain since then; NULL: none */
};

_Static_assert(offsetof(struct wf_p2p, req) == WF_CACHE_LINE &&
                   offsetof(struct wf_req, on_complete) <= WF_CACHE_LINE,
               "a light receive is in two lines");

/* Mark a request whose connection to the peer is lost. Returns its status,
 * which may say what this process lacks; the end of the Location need not be
 * announced yet. So the flag is what tells such failures from others. */
static inline int wf_req_mark_link_lost(struct wf_req *r, int status)
{
    r->flags |= WF_REQ_LINK_LOST;
    return wf_link_status(status);
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

/* Return a complete request to the engine's pool that is WF_REQ_LIGHT, has no
 * other flag, and is of no thread's share. */
static inline void wf_p2p_recycle(struct wf_p2p *p)
{
    struct wf_comm *comm = p->req.comm;
    struct wf_engine *e = p->req.wf->engine;

    WF_ASSERT(!p->home);
    p->req.object.kind = WF_KIND_DEAD;
    p->next_free = e->free_p2p;
    e->free_p2p = p;
    if (wf_unlikely(comm->object.refs == 1))
        wf_comm_put(comm); /* the program has freed it meanwhile */
    else
        comm->object.refs--;
}
/* True if the receive is in the posted queue. */
static inline bool wf_p2p_is_posted(const struct wf_p2p *p)
{
    return p->posted.where != WF_UNPOSTED;
}

/* True if the expected message is one with this envelope. */
static inline bool wf_expected_matches(const struct wf_expected *x,
                                       uint64_t env0, uint64_t env1)
{
    return ((x->env0 ^ env0) | (x->env1 ^ (env1 & x->mask))) == 0;
}

static inline struct weft_loc *wf_peer_location(struct wf_comm *comm, int rank,
                                                int *rc)
{
    struct weft_loc *loc = wf_contact_of(comm, rank);

    if (wf_likely(loc && !loc->failed))
        return loc;
    return wf_peer_connect(comm, rank, rc);
}

/* Count a consumed message; return credit once it is worth a message. */
static inline void wf_credit_consumed(struct weft_loc *loc, uint64_t charge)
{
    loc->owed += charge;
    if (wf_unlikely(loc->owed >= loc->wf->engine->credits / 2))
        wf_credit_return(loc);
}

/* The credit that a stored message took from its sender. */
static inline uint64_t wf_message_charge(const struct wf_message *m)
{
    return m->room + (uint64_t)WF_MESSAGE_OVERHEAD;
}
/* Copy a stored message and free it, if it is complete and asks for no answer.
 * False: it is not so simple, and nothing has happened. */
struct wf_envelope_length {
    uint64_t env1, bytes;
};

#endif
