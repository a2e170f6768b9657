/* Windows: the objects of one-sided communication (MPI-5.0 chapter 12).
 *
 *   wf_win -- comm      a duplicate of the communicator: its own context id
 *          -- members   what each member has published: base, size, unit
 *          -- peers     per member that this process has to do with: the state
 *                       of both sides, made when it is first needed
 *
 * docs/internals/one-sided.md has the messages, epochs and locks.
 *
 * LOCK  everything here: the API section of the window's engine; of locks that
 * are words: lock_beside.h. Without it are read: all that does not change
 * while the window exists, `peers`, the domain of a member that is mapped,
 * `open_targets`, `open` and `access` (open.h).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_WIN_H
#define WF_RMA_WIN_H

#include "group/comm.h"
#include "protocol/failure.h"
#include "protocol/slots.h"
#include "rma/handle.h"
#include "rma/lock_word.h"
#include "rma/stripe.h"
#include "rma/windows.h"

struct wf_active;
struct wf_block;
struct wf_errhandler;
struct wf_exposure;
struct wf_info;
struct wf_leg;
struct wf_rma_op;
struct wf_type;
struct wf_win_map;

/* A member as it has published itself. */
struct wf_win_member {
    uint64_t size, unit; /* bytes */
    uint64_t node;       /* where it is, */
    uint64_t process;    /* and in which process, if it is a thread */
    uint64_t flags;      /* enum wf_win_member_flags */
};
enum wf_win_member_flags {
    WF_MEMBER_NONCONTIG = 1, /* alloc_shared_noncontig */
    WF_MEMBER_BLOCK = 2      /* its memory lies in a block that mates can map */
};

/* The access epoch that this process has opened. */
enum wf_win_epoch {
    WF_ACCESS_NONE,
    WF_ACCESS_FENCE,
    WF_ACCESS_START,   /* to the group of MPI_Win_start */
    WF_ACCESS_LOCK,    /* to members that are locked one by one */
    WF_ACCESS_LOCK_ALL /* to all members */
};

/* A lock on a member's memory, as its holder sees it. */
enum wf_lock_state {
    WF_LOCK_OPEN,
    WF_LOCK_WANTED, /* the next message asks for it */
    WF_LOCK_ASKED,  /* it was asked for */
    WF_LOCK_HELD    /* an answer has shown that it is held */
};
enum wf_lock_type { WF_LOCK_TYPE_NONE, WF_LOCK_SHARED, WF_LOCK_EXCLUSIVE };

/* A message that waits until its origin has the lock. */
struct wf_kept;
/* An entry of the list of operations that are not complete at the target, and
 * of what waits for their end. */
struct wf_unfinished_put;

/* The state that one member has about another. */
struct wf_win_peer {
    struct wf_win *win;
    int rank;
    struct weft_loc *loc; /* NULL: not known yet; wf_win_set_location */
    uint8_t lane;         /* of the messages to it: a route's, or if that has
                             failed that of other messages */
    int lane_status;      /* of its choice: operations fail with it */
    const struct wf_leg *leg;
    bool lost; /* it is gone, and operations with it have ended */
    struct wf_open_target *target; /* in win->open_targets */
    uint32_t mate; /* its number in win->map; UINT32_MAX: it is not there */
    struct wf_rma_lock lock; /* of its memory, if it is there */
    /* The atomicity of its memory, if this process has it mapped: map.h. */
    struct wf_rma_domain domain;

    /* As origin: the operations on its memory. */
    struct wf_list dirty; /* in win->dirty, until it is synchronised */
    struct wf_rma_op *queue, **queue_end; /* not sent yet, in order */
    bool pumping;                         /* the queue is being sent */
    uint32_t pending;   /* operations that are not complete here */
    bool unconfirmed;   /* some were sent after the last question */
    uint64_t asked;     /* number of the last question, FLUSH or UNLOCK */
    uint64_t answered;  /* number of the last one that was answered */
    uint64_t in_flight; /* bytes that the transport has not taken */
    struct wf_active *list; /* small messages, of both sides: message.h */
    uint32_t list_bytes;    /* in it */
    bool list_urgent;       /* it holds an urgent one */
    struct wf_list listed;  /* in win->all->listed, while there are any */
    uint32_t corks;         /* calls of wf_rma_cork */
    uint8_t lock_state; /* enum wf_lock_state */
    uint8_t lock_type;  /* enum wf_lock_type, that was wanted */
    bool lock_nocheck;
    bool lock_probed; /* a question was sent to learn whether it is held */
    uint32_t early;   /* bytes sent since the lock was asked for */
    bool in_start;    /* in the group of MPI_Win_start, */
    bool posted;      /* and has called MPI_Win_post */
    uint32_t posts;   /* calls of MPI_Win_post not yet matched by a start */
    uint32_t posts_taken;      /* from the member's word (header.h) */
    struct wf_type *sent_type; /* the one that it has been told of */
    /* By the transport: exposed.h. */
    weft_rkey *rkey; /* of its memory; NULL: there is none */
    uint64_t key_base;
    uint32_t key_access;
    bool key_asked, unflushed;
    uint8_t key_refused;      /* by the transport, so many times, */
    uint32_t key_waits;       /* and asked for after so many operations */
    struct wf_list transfers; /* operations that the transport has, */
    uint32_t transfer_count;  /* which are pending, too */
    int error; /* class of the first operation that failed there */

    /* As target: the operations on memory of this process. */
    uint8_t held;              /* enum wf_lock_type: the lock that it has */
    bool waits;                /* it is in win->waiters */
    bool inherits;             /* a holder died before it got the lock */
    uint8_t wanted;            /* enum wf_lock_type, while it waits */
    struct wf_list waiter;     /* in win->waiters */
    bool watched;              /* its death would be noticed, */
    struct wf_flag_wait watch; /* by this */
    struct wf_kept *kept, **kept_end; /* its messages, while it waits */
    uint64_t kept_bytes;
    struct wf_unfinished_put *unfinished, **unfinished_end;
    struct wf_type *type; /* of its typed operations */
    int64_t *words;       /* description of the next one, as it arrives */
    uint64_t word_count, words_here;
    uint32_t completes; /* calls of MPI_Win_complete not yet waited for */
    uint32_t completes_taken; /* from the member's word (header.h) */
};

/* Memory attached to a dynamic window. */
struct wf_region {
    uint64_t base, size;
};

/* The memory of a member, for threads beside the section: open.h. All but the
 * words is valid once it is mapped. */
struct wf_open_target {
    uintptr_t base; /* the address here of the window's first byte */
    uint64_t size;  /* bytes */
    uint32_t unit;
    wf_atomic_u32 mapped; /* enum wf_open_mapped */
    wf_atomic_u32 open;   /* enum wf_open, of epochs to this member */
};

/* The group of an epoch. It is kept for the next one, which mostly has the
 * same. */
struct wf_win_group {
    struct wf_group *group; /* NULL: there was none yet */
    int *ranks;             /* of its members in the window */
};

struct wf_win {
    struct wf_object object; /* references: the program, messages under way */
    struct wf_instance *wf;
    struct wf_comm *comm;
    struct wf_windows *all;
    struct wf_list link; /* in all->buckets */
    bool freed;          /* MPI_Win_free was called */
    bool attends;        /* the progress thread serves it */
    int flavor, model, unit;
    void *base;
    MPI_Aint size;
    void *memory;           /* of its own, freed with the window; or NULL */
    struct wf_win_map *map; /* shared with others of the node; or NULL */
    struct wf_rma_stripe *stripes; /* of memory that is not shared; or NULL */
    void *scratch;                 /* while the window is made, */
    struct wf_comm *parent;        /* and the communicator over which it is */
    struct wf_win_member *members;
    struct wf_win_peer **peers; /* NULL: nothing to do with it yet */
    struct wf_list dirty;       /* peers that are not synchronised */
    struct wf_slots ops;        /* operations that wait for their result */
    uint32_t next_tag;          /* of large data */

    uint32_t open_target_count;
    wf_atomic_u32 open;   /* enum wf_open, of epochs to all members */
    wf_atomic_u32 access; /* enum wf_win_epoch: wf_open_set_access */
    bool fence_used;  /* an operation was started in the fence epoch */
    bool all_nocheck; /* of MPI_Win_lock_all */
    int locks;        /* members locked one by one */
    int words_held;   /* locks of these that are words in shared memory */
    struct wf_win_group targets; /* of MPI_Win_start */
    struct wf_win_group origins; /* of MPI_Win_post */
    bool exposed;                /* MPI_Win_post was called */

    /* The lock on memory of this process. */
    struct wf_win_peer *exclusive; /* its holder; or NULL */
    uint32_t shared;               /* holders of a shared lock */
    struct wf_list waiters;        /* in the order in which they asked */
    bool granting;
    bool abandoned; /* the last holder died while nobody waited */

    struct wf_region *regions; /* by address */
    size_t region_count, region_room;

    struct wf_exposure *exposures; /* [WF_EPS_MAX], of memory of this process,
                                      or NULL: exposed.h */

    struct wf_attr *attrs;
    struct wf_errhandler *errhandler;
    struct wf_info *info;
    bool no_locks;
    struct wf_block *block; /* of MPI_Alloc_mem, with base, pinned; or NULL */
    char name[MPI_MAX_OBJECT_NAME];

    /* By rank. The fast path finds one without another pointer to read. */
    struct wf_open_target open_targets[];
};

/* wf_win_of inline. */
static inline struct wf_win *wf_win_of_handle(MPI_Win handle)
{
    struct wf_win *win = (struct wf_win *)handle;

    return wf_likely(wf_is_object(handle, WF_KIND_WIN)) && !win->freed ? win
                                                                       : NULL;
}

/* Begins a window, all zero, of so many members; its memory and communicator
 * follow. NULL: out of memory. */
struct wf_win *wf_win_begin(struct wf_instance *, size_t members);
/* Drops what is kept. */
void wf_win_release_group(struct wf_win_group *);
void wf_win_get(struct wf_win *);
/* Drops a reference; the last one frees the window. */
void wf_win_put(struct wf_win *);

/* Returns the state about a member, which is made if there is none. NULL: out
 * of memory. */
struct wf_win_peer *wf_win_peer(struct wf_win *, int rank);
/* Sets the location of a member, and the lane of messages to it. 0, or the
 * status of a failure to find a lane, as recorded. */
int wf_win_set_location(struct wf_win_peer *, struct weft_loc *);
/* Returns the state about a member, connected; NULL: the error is recorded and
 * its class in *rc. */
struct wf_win_peer *wf_win_reach(struct wf_win *, int rank, int *rc);
/* The same for an operation, or for a lock that is a word: a member whose
 * memory is mapped need not be connected. */
struct wf_win_peer *wf_win_find(struct wf_win *, int rank, int *rc);
/* Records that a member is gone, and returns the class. */
int wf_win_record_loss(const struct wf_win_peer *);
/* Returns the name of a window for a message: "window 'halo'", or "the
 * window". */
struct wf_win_text {
    char text[MPI_MAX_OBJECT_NAME + 16];
};
struct wf_win_text wf_win_name(const struct wf_win *);

/* Waits until done(arg). The death of `peer`, if it is not NULL, is noticed
 * meanwhile; done() asks about it. */
void wf_win_wait(struct wf_win *, struct wf_win_peer *peer,
                 bool (*done)(void *), void *arg);

/* Wakes the threads of this process that wait for what has come true. */
void wf_win_notify(struct wf_win *);

/* Returns whether ranks share processors. */
bool wf_win_is_oversubscribed(const struct wf_win *);

/* Polls once, for calls that do not wait. */
void wf_win_poll(struct wf_win *);

/* Let the operations of others on a window that is complete be performed while
 * the program computes: by the progress thread, unless they need nobody. */
void wf_win_serve(struct wf_win *);
void wf_win_stop_serving(struct wf_win *);

/* Returns whether the program gave the memory, by MPI_Win_create. */
static inline bool wf_win_is_of_program(const struct wf_win *win)
{
    return win->flavor == MPI_WIN_FLAVOR_CREATE;
}

/* Returns the epoch that this process has opened. */
static inline enum wf_win_epoch wf_win_access(const struct wf_win *win)
{
    return (enum wf_win_epoch)wf_load_relaxed(&win->access);
}

/* True if the member is known to be gone. */
static inline bool wf_win_peer_is_lost(const struct wf_win_peer *p)
{
    return p->loc && p->loc->failed;
}

#endif
