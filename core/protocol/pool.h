/* The pool of requests where several threads make and end them: each thread has
 * a share of its own, and what another thread ends goes home to the share that
 * it came from.
 *
 *   thread A   take <--+-- free list          (A only)
 *              give -->+     ^ when that is empty: all of it at once
 *   thread B   give ------> returned          (a lock-free stack: os/stack.h)
 *
 *   share   OWNED --its thread ends, or turns to another instance--> ABANDONED
 *             ^------------- a thread without a share comes -------------'
 *           either --the pool ends--> GONE; the last of pool and thread frees it
 *
 * DESIGN  Neither needs a lock or, between requests of one thread, an atomic
 * read-modify-write; so a request is taken and given back outside the section.
 * A program that starts threads again and again has as many shares as it had
 * threads at a time.
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

/* Zeroed: empty. */
struct wf_pool {
    struct wf_lock lock;
    struct wf_share *shares;
};

WF_LOCK_SECTION(pool, struct wf_pool, lock, WF_RANK_POOL)

/* Have a request at hand, so that the next take by this thread is short. */
void wf_pool_prepare(struct wf_pool *);
/* NULL: out of memory. Its home is this thread's share. */
struct wf_p2p *wf_pool_take(struct wf_pool *);
/* By any thread. */
void wf_pool_give(struct wf_p2p *);
/* No request is used any more, no thread comes. */
void wf_pool_fini(struct wf_pool *);

#endif
