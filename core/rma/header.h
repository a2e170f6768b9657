/* The shared header of a member of a window: memory beside the window's own
 * that every process which has mapped the window has mapped, too.
 *
 *   version, members, who the owner is, whether it sleeps
 *   lock        word of the member's lock                 a line
 *   all         word of the window-wide lock              a line, used in one
 *                                                         member only
 *   stripes     locks of the member's locations           a line each
 *   nodes       of each other member: its place in `lock`, and what it tells
 *               the owner (pscw.c); then its place in `all`
 *
 * DESIGN  All ids are numbers of members, 0 to members - 1; an id is stored
 * plus one, and 0 means none. Zeroed memory with version and members is a
 * header whose locks are free. A line is written by one member, or is a word
 * that all compete for. Lines that nobody touches cost no memory where the
 * mapping is sparse.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_HEADER_H
#define WF_RMA_HEADER_H

#include "base.h"
#include "os/atomic.h"
#include "os/process_mark.h"

enum {
    WF_RMA_VERSION = 3,
    WF_RMA_MEMBERS_MOST = 65534, /* an id has 16 bits in a lock word */
    WF_RMA_ANY_MEMBER = 65535,
    WF_RMA_STRIPES = 64
};

/* How a caller waits, wakes, and knows who is gone. */
struct wf_rma_waiting {
    /* Waits until *word may differ from value; may return early, for no reason.
     * `on` is the member that is expected to change it, or WF_RMA_ANY_MEMBER.
     * Returns MPI_SUCCESS, or an error that ends the wait. */
    int (*wait)(void *arg, const wf_atomic_u32 *word, uint32_t value,
                uint32_t on);
    /* A word at which this member may be waiting has changed. */
    void (*wake)(void *arg, uint32_t member);
    void *arg;
};

struct wf_lock_word {
    _Alignas(WF_CACHE_LINE) wf_atomic_u64 state; /* lock_word.h */
    wf_atomic_u32 failed; /* the member by whose end the lock was lost, + 1 */
};

/* The place of one member in the queue of a lock, and what it holds of it; in
 * `lock` also how often it has called MPI_Win_post and MPI_Win_complete for the
 * owner. All but `signal` and `next` are written by the member itself. */
struct wf_lock_node {
    _Alignas(WF_CACHE_LINE) wf_atomic_u32 signal; /* counts reasons to look */
    wf_atomic_u32 next;     /* the member that is next in the queue, + 1 */
    wf_atomic_u32 kind;     /* of the hold that it waits for */
    wf_atomic_u32 busy;     /* 1: a thread waits; 2: another waits for that */
    wf_atomic_u32 reserved; /* threads that wait with a hold that counts */
    wf_atomic_u32 intent;   /* 1: state and `held` may differ by one */
    wf_atomic_u32 held[2];  /* holds by wf_hold_kind: shared; announced */
    wf_atomic_u32 posts, completes;
};

struct wf_rma_stripe {
    _Alignas(WF_CACHE_LINE) wf_atomic_u32 owner; /* member + 1; 0: free */
};

struct wf_rma_header {
    uint32_t version, members;
    wf_atomic_u32 asleep; /* threads of the owner that wait for a word */
    wf_atomic_u32 fences; /* the owner is not to be relied on for membarrier */
    struct wf_process_mark process; /* of the owner */
    struct wf_lock_word lock, all;
    struct wf_rma_stripe stripes[WF_RMA_STRIPES];
    struct wf_lock_node nodes[]; /* for `lock`, then for `all` */
};

/* Returns the bytes of the header of one of so many members, whole lines. */
static inline size_t wf_rma_header_bytes(uint32_t members)
{
    return sizeof(struct wf_rma_header) +
           2 * members * sizeof(struct wf_lock_node);
}

/* Prepares zeroed memory, aligned to a line, before others see it. */
static inline void wf_rma_header_init(struct wf_rma_header *h, uint32_t members)
{
    WF_ASSERT(members > 0 && members <= WF_RMA_MEMBERS_MOST);
    h->version = WF_RMA_VERSION;
    h->members = members;
}

/* Return the nodes of the members for `lock` and for `all`. */
static inline struct wf_lock_node *wf_rma_lock_nodes(struct wf_rma_header *h)
{
    return h->nodes;
}

static inline struct wf_lock_node *wf_rma_all_nodes(struct wf_rma_header *h)
{
    return wf_rma_lock_nodes(h) + h->members;
}

_Static_assert(sizeof(struct wf_rma_header) ==
                   (3 + WF_RMA_STRIPES) * WF_CACHE_LINE,
               "the fixed part of a header is part of its version");
_Static_assert(sizeof(struct wf_lock_node) == WF_CACHE_LINE,
               "a member's record fills a line");

#endif
