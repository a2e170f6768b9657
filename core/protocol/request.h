/* Requests: the objects of nonblocking operations until they complete.
 *
 *   post ---> (queues of the engine) ---> complete ---> wait/test ---> pool
 *
 * A request is completed exactly once, by wf_req_complete. Other chapters
 * (collectives, generalized requests, nonblocking dup) make requests of their
 * own kind with wf_req_create, complete them the same way, and may hang a
 * callback on an engine request with on_complete.
 *
 * LOCK  all fields: the API section, except done, which waiters read with
 * acquire order. Once a request without on_complete is done, it belongs to its
 * waiter: wf_req_complete does not access it any more.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_REQUEST_H
#define WF_REQUEST_H

#include "datatype/type.h"
#include "group/comm.h"
#include "lock/critical.h"
#include "os/atomic.h"

enum wf_req_type {
    WF_REQ_SEND,
    WF_REQ_RECV,
    WF_REQ_SCHEDULE,    /* a collective: coll/schedule.h */
    WF_REQ_PARTITIONED, /* part/part.h */
    WF_REQ_ONE_SIDED,   /* MPI_Rput and its relatives: rma/request.c */
    WF_REQ_FILE,        /* accesses to files: io/start.c */
    WF_REQ_GENERALIZED, /* MPI_Grequest_start */
    WF_REQ_NOOP         /* shared: sends that need no request of their own */
};

enum wf_req_flags {
    WF_REQ_PERSISTENT = 1u << 0,
    WF_REQ_ACTIVE = 1u << 1,    /* persistent: started and not yet waited for */
    WF_REQ_DETACHED = 1u << 2,  /* MPI_Request_free: freed when complete */
    WF_REQ_CANCELLED = 1u << 3, /* it was cancelled */
    WF_REQ_INTERNAL = 1u << 4,  /* of the library: on_complete owns it */
    WF_REQ_WITH_HELPER = 1u << 5, /* left to the progress thread: helper.c */
    /* ATTENDED, but the peer completes it alone, as a rule. */
    WF_REQ_QUIESCENT = 1u << 9,
    /* A receive of contiguous bytes that holds nothing but its memory, its
     * communicator and perhaps a place in a queue. The flag is cleared when its
     * message cannot be copied at once. */
    WF_REQ_LIGHT = 1u << 6,
    /* It is complete and holds nothing any more but its memory: the waiter may
     * take the outcome without the section (brief-global). */
    WF_REQ_SETTLED = 1u << 7,
    /* It failed because the connection to its peer is lost:
     * wf_req_mark_link_lost. */
    WF_REQ_LINK_LOST = 1u << 10
};

/* The head of every request; protocol/queues.h has what the engine appends. */
struct wf_req {
    struct wf_object object;
    struct wf_instance *wf;
    struct wf_comm *comm; /* referenced; NULL for generalized requests */
    uint8_t type;         /* enum wf_req_type */
    uint32_t flags;
    wf_atomic_u32 done;
    /* The outcome, valid once done. */
    int error; /* a status (report/status.h) */
    int source, tag;
    uint64_t bytes; /* received */
    /* Called once, inside the API section, when the request completes, instead
     * of waking a waiter. May post operations; must not wait. */
    void (*on_complete)(struct wf_req *);
    void *context; /* for on_complete */
    /* Starts a persistent request of a chapter, and returns an MPI error class.
     * NULL: the engine's. */
    int (*start)(struct wf_req *);
    /* Releases what the chapter attached. The MPI error class goes to the
     * caller of wf_req_release, if that frees the request. */
    int (*destroy)(struct wf_req *);
    union {
        int (*cancel)(struct wf_req *); /* requests of other chapters */
        /* Messages of a collective: true if the collective has lost a member;
         * then the message ends as well (death.c). */
        bool (*lost)(const struct wf_req *);
    };
    union {
        /* Generalized requests: fills the status at wait or test time, called
         * outside the API section by the completion functions. */
        int (*query)(struct wf_req *, MPI_Status *);
        /* Partitioned requests: records why the two sides do not fit, with the
         * communicator as owner. Returns the status. NULL: they always fit.
         * One-sided requests: records why it failed, with the window; accesses
         * to files: with the file. */
        int (*explain)(struct wf_req *);
    };
};

/* Create a request of another chapter; all other fields are 0. what: the name
 * of the operation, for reports if it never completes. NULL: out of memory. */
struct wf_req *wf_req_create(struct wf_instance *, enum wf_req_type,
                             struct wf_comm *, const char *what);
/* The peer did not fetch this payload alone: the progress thread must drive the
 * request again. Clears WF_REQ_QUIESCENT. */
void wf_req_needs_progress(struct wf_req *);
/* Complete a request: wakes its waiter, or calls on_complete. */
void wf_req_complete(struct wf_req *, int status);
/* Drop the hold of the user or owner: the request is freed now, or when it is
 * complete. Returns the result of its `destroy` if that is called now. */
int wf_req_release(struct wf_req *);

/* Complete the sends that plugins hold back. Returns the mask of their
 * endpoints, which must be polled next. */
uint32_t wf_req_complete_held(struct wf_instance *);

/* Take back a receive that was just posted, after its other half has failed. If
 * it is matched already it runs to its end. */
void wf_req_withdraw(struct wf_req *);
/* Destroy a request that was never given to the program. */
void wf_req_abandon(struct wf_req *);
/* Record why a request failed, with its communicator as the owner of the error.
 * Returns its status. */
int wf_req_error(struct wf_req *);

static inline bool wf_req_done(struct wf_req *r)
{
    return wf_load_acquire(&r->done) != 0;
}

/* True if a done request is light and has no other flag and no error, as most
 * are. Its outcome goes into the status and the request to the pool. */
static inline bool wf_req_is_simple(const struct wf_req *r)
{
    return ((r->flags ^ WF_REQ_LIGHT) | (uint32_t)r->error) == 0;
}

/* Take the outcome of a settled request, outside the section. False: nothing
 * has happened. Always false where the section is around the whole call. */
bool wf_req_take_settled(MPI_Request *, MPI_Status *);
static inline bool wf_req_take(MPI_Request *request, MPI_Status *status)
{
    return WF_BRIEF && wf_req_take_settled(request, status);
}

struct wf_p2p;
struct wf_type;
struct wf_wait_cause;

/* Wait for one request, or for all; makes progress meanwhile. The requests are
 * released and *req set to NULL. wf_wait_all returns the first failure. status
 * may be MPI_STATUS_IGNORE. */
int wf_wait(struct wf_req **req, MPI_Status *status);
int wf_wait_all(int n, struct wf_req **reqs);

/* Take a request from the pool. Free requests, linked by next_free,
 * hold nothing of their last use: no callbacks, packed memory, pull, id or
 * place in a queue. */
struct wf_p2p *wf_p2p_alloc(struct wf_comm *, enum wf_req_type);

/* Initialise a request, without a communicator, peer or buffer. */
void wf_p2p_init_blank(struct wf_p2p *, struct wf_instance *, enum wf_req_type);

/* Turn a light request into a receive whose fields are all set. */
void wf_p2p_expand(struct wf_p2p *);

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

#endif
