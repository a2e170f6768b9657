/* Requests: what a nonblocking operation is until it completes.
 *
 *   post ---> (queues of the engine) ---> complete ---> wait/test ---> pool
 *
 * A request is completed exactly once, by wf_req_complete. Other chapters
 * (collectives, generalized requests, nonblocking dup) make requests of their
 * own kind with wf_req_create, complete them the same way, and may hang a
 * callback on an engine request with on_complete.
 *
 * LOCK  all fields: the API section, except done, which waiters read with
 * acquire order. Once a request without on_complete is done, it is the
 * waiter's: whoever completes it looks at it no more.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_REQUEST_H
#define WF_REQUEST_H

#include "comm/comm.h"
#include "datatype/type.h"
#include "os/atomic.h"
#include "progress/critical.h"

enum wf_req_type {
    WF_REQ_SEND,
    WF_REQ_RECV,
    WF_REQ_SCHEDULE,    /* a collective: coll/schedule.h */
    WF_REQ_PARTITIONED, /* part/part.h */
    WF_REQ_GENERALIZED, /* MPI_Grequest_start */
    WF_REQ_NOOP         /* shared: sends that need no request of their own */
};

enum wf_req_flags {
    WF_REQ_PERSISTENT = 1u << 0,
    WF_REQ_ACTIVE = 1u << 1,    /* persistent: started and not yet waited for */
    WF_REQ_DETACHED = 1u << 2,  /* MPI_Request_free: goes back when complete */
    WF_REQ_CANCELLED = 1u << 3, /* status says so */
    WF_REQ_INTERNAL = 1u << 4,  /* of the library: on_complete owns it */
    WF_REQ_ATTENDED = 1u << 5,  /* the helper is about it: progress/helper.c */
    WF_REQ_CALM = 1u << 9,      /* but the other side does it alone, as a rule */
    /* A receive of bytes that nothing but its memory, its communicator and
     * perhaps a queue belongs to. Not once a message has to take its time. */
    WF_REQ_LIGHT = 1u << 6,
    /* Complete, and nothing belongs to it any more but its memory: whoever
     * waits takes the outcome without the section (brief-global). */
    WF_REQ_SETTLED = 1u << 7,
    /* A submission that somebody else starts, and looks at afterwards: it does
     * not settle meanwhile. */
    WF_REQ_STARTING = 1u << 8,
    /* It failed because the way to its peer is lost: wf_req_cut. */
    WF_REQ_CUT = 1u << 10
};

/* The head of every request; protocol/queues.h has what the engine appends. */
struct wf_req {
    struct wf_object object;
    struct wf_instance *wf;
    struct wf_comm *comm; /* referenced; NULL for generalized requests */
    uint8_t type;         /* enum wf_req_type */
    uint32_t flags;
    wf_atomic_u32 done;
    /* outcome, valid once done */
    int error; /* MPI error class */
    int source, tag;
    uint64_t bytes; /* received */
    /* Called once, inside the API section, when the request completes, instead
     * of waking a waiter. May post operations; must not wait. */
    void (*on_complete)(struct wf_req *);
    void *context; /* of on_complete's owner */
    /* Persistent requests of other chapters: start and free. NULL: engine's. */
    int (*start)(struct wf_req *);
    /* Releases what the chapter attached; an error is for whom it was called. */
    int (*destroy)(struct wf_req *);
    union {
        int (*cancel)(struct wf_req *); /* of other chapters */
        /* A message of a collective operation: has that one lost a member? Then
         * it ends (death.c). */
        bool (*lost)(const struct wf_req *);
    };
    union {
        /* Generalized requests: fills the status at wait or test time, called
         * outside the API section by the completion functions. */
        int (*query)(struct wf_req *, MPI_Status *);
        /* Partitioned ones: records why the two sides do not fit, and raises
         * it on the communicator. NULL: they always do. */
        int (*explain)(struct wf_req *);
    };
};

/* A request of another chapter: zeroed but for what is given. what: its name,
 * if it is never complete. NULL: memory. */
struct wf_req *wf_req_create(struct wf_instance *, enum wf_req_type,
                             struct wf_comm *, const char *what);
/* A calm one is not calm any more. */
void wf_req_stir(struct wf_req *);
void wf_req_complete(struct wf_req *, int error);
/* Drop the user's or owner's hold: back to the pool, now or when complete. What
 * its `destroy` says if it is called now. */
int wf_req_release(struct wf_req *);

/* Sends that a plugin holds back complete now, because the endpoints in the
 * mask that is returned are about to be polled. */
uint32_t wf_req_let_go(struct wf_instance *);

/* Take back a receive that was just posted, or let it run to its end, after a
 * failure of its other half. */
void wf_req_withdraw(struct wf_req *);
/* Destroy a request that was never handed out. */
void wf_req_abandon(struct wf_req *);
/* The record of why a request failed, raised on its communicator. */
int wf_req_error(struct wf_req *);

static inline bool wf_req_done(struct wf_req *r)
{
    return wf_load_acquire(&r->done) != 0;
}

/* The outcome of done requests, as most are: nothing went wrong, and nothing
 * hangs on them. It goes into the status and the request to the pool. */
static inline bool wf_req_simple(const struct wf_req *r)
{
    return ((r->flags ^ WF_REQ_LIGHT) | (uint32_t)r->error) == 0;
}

/* Take the outcome of a settled request, outside the section. false: nothing has
 * happened. Always so where the section is around the whole call. */
bool wf_req_take_settled(MPI_Request *, MPI_Status *);
static inline bool wf_req_take(MPI_Request *request, MPI_Status *status)
{
    return WF_BRIEF && wf_req_take_settled(request, status);
}

/* Status fields (MPI_Status.MPI_internal layout known only to status.c). */
/* MPI_ERROR is left alone: only functions that return MPI_ERR_IN_STATUS set it
 * (MPI-5.0 s3.2.5). */
void wf_status_set(MPI_Status *, int source, int tag, uint64_t bytes,
                   bool cancelled);
/* Of an empty status it is MPI_SUCCESS (s3.7.3). */
void wf_status_empty(MPI_Status *);
uint64_t wf_status_bytes(const MPI_Status *);
void wf_status_set_bytes(MPI_Status *, uint64_t bytes);
bool wf_status_cancelled(const MPI_Status *);
void wf_status_set_cancelled(MPI_Status *, bool);

#endif
