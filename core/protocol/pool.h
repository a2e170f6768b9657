/* The pool of requests where several threads take and return them: each thread
 * has a share of its own, and a request that another thread returns goes back
 * to the share that it came from.
 *
 *   thread A   take <--+-- free list          (A only)
 *              give -->+     ^ when that is empty: all of it at once
 *   thread B   give ------> returned          (a lock-free stack: os/stack.h)
 *
 *   share   OWNED --its thread ends, or uses another instance--> ABANDONED
 *             ^------------- a thread without a share comes -------------'
 *           either --the pool ends--> GONE; the second of pool and thread that
 *                                     ends frees the share
 *
 * DESIGN  Taking and returning need no lock and, where one thread does both, no
 * atomic read-modify-write; so they are done outside the section. A program
 * that starts threads again and again has as many shares as it had threads at a
 * time.
 *
 * LOCK  section pool: the list of shares, and the step from ABANDONED to OWNED.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_POOL_H
#define WF_POOL_H

#include "os/section.h"
#include "os/stack.h"

struct wf_p2p;
struct wf_share;

/* A pool. Zeroed memory is an empty one. */
struct wf_pool {
    struct wf_lock lock;
    struct wf_share *shares;
};

WF_LOCK_SECTION(pool, struct wf_pool, lock, WF_RANK_POOL)

/* Make sure that the share of this thread has a free request, so that the next
 * wf_pool_take is fast. */
void wf_pool_prepare(struct wf_pool *);
/* Take a request from the share of this thread. NULL: out of memory. */
struct wf_p2p *wf_pool_take(struct wf_pool *);
/* Return a request to its share. Callable by any thread. */
void wf_pool_give(struct wf_p2p *);
/* Free the pool. No request may be in use, and no thread may come. */
void wf_pool_fini(struct wf_pool *);

#endif
