/* Locks of windows in shared memory: see lock_word.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/lock_word.h"

#include <sched.h>

#include "object/error.h"

/* ---- the word ------------------------------------------------------------ */

static uint32_t tail_of(uint64_t state)
{
    return (uint32_t)(state >> 48);
}

static uint32_t head_of(uint64_t state)
{
    return (uint32_t)(state >> 32) & 0xffff;
}

static uint32_t exclusive_of(uint64_t state)
{
    return (uint32_t)state >> 16;
}

static uint32_t shared_of(uint64_t state)
{
    return (uint32_t)state & 0xffff;
}

static uint64_t with_queue(uint64_t state, uint32_t head, uint32_t tail)
{
    return (uint32_t)state | (uint64_t)head << 32 | (uint64_t)tail << 48;
}

static bool is_open(uint64_t state, uint32_t kind)
{
    if (kind == WF_LOCK_SHARED)
        return exclusive_of(state) == 0;
    if (kind == WF_LOCK_ANNOUNCED)
        return shared_of(state) == 0;
    return (uint32_t)state == 0;
}

/* Returns the amount that a hold adds to the word. */
static uint64_t amount_of(const struct wf_rma_lock *l, uint32_t kind)
{
    if (kind == WF_LOCK_SHARED)
        return 1;
    return kind == WF_LOCK_ANNOUNCED ? UINT64_C(1) << 16
                                     : (uint64_t)(l->me + 1) << 16;
}

static struct wf_lock_node *own_node(const struct wf_rma_lock *l)
{
    return &l->nodes[l->me];
}

/* Tells a member to look at the word again. */
static void signal_member(const struct wf_rma_lock *l, uint32_t id)
{
    /* pairs with wait_in_queue */
    (void)wf_add_acq_rel(&l->nodes[id - 1].signal, 1);
    l->waiting->wake(l->waiting->arg, id - 1);
}

/* Signals the head of the queue if it may enter now. Its kind was written
 * before it became the head; if it is another by now, it has entered. */
static void signal_head(const struct wf_rma_lock *l, uint64_t state)
{
    uint32_t head = head_of(state);

    if (wf_unlikely(head) &&
        is_open(state, wf_load_relaxed(&l->nodes[head - 1].kind)))
        signal_member(l, head);
}

/* ---- records of holds ---------------------------------------------------- */

/* The word and the record of a hold change in two steps. In between `intent`
 * says so, for those who find the rest of a process that is gone; it orders
 * nothing between threads. */
static void set_intent(const struct wf_rma_lock *l, uint32_t kind,
                       uint32_t value)
{
    if (kind == WF_LOCK_EXCLUSIVE)
        return; /* the word has its id */
    wf_fence_compiler();
    wf_store_relaxed(&own_node(l)->intent, value);
    wf_fence_compiler();
}

static void count_hold(const struct wf_rma_lock *l, uint32_t kind,
                       uint32_t more)
{
    wf_atomic_u32 *held;

    if (kind == WF_LOCK_EXCLUSIVE)
        return;
    held = &own_node(l)->held[kind];
    wf_store_relaxed(held, wf_load_relaxed(held) + more);
}

static bool is_announced(const struct wf_rma_lock *l)
{
    return wf_load_relaxed(&own_node(l)->held[WF_LOCK_ANNOUNCED]) > 0;
}

/* ---- a lock that is lost ------------------------------------------------- */

static void lose_lock(const struct wf_rma_lock *l, uint32_t gone)
{
    uint32_t none = 0;

    if (!wf_cas_acq_rel(&l->word->failed, &none, gone + 1))
        return;
    wf_fence_full(); /* pairs with claim_node: it is seen there, or busy here */
    for (uint32_t i = 0; i < l->members; i++)
        if (wf_load_relaxed(&l->nodes[i].busy))
            signal_member(l, i + 1);
}

static int report_lost(const struct wf_rma_lock *l)
{
    uint32_t gone = wf_load_acquire(&l->word->failed);

    if (wf_likely(!gone))
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_PROC_ABORTED,
                    "the lock is lost: rank %u of the window's processes that "
                    "share memory ended while it held the lock or waited for "
                    "it",
                    gone - 1);
}

/* Ends the hold of a member that is gone: `intent` of this one stands for it
 * until the word has changed. */
static void take_out(const struct wf_rma_lock *l, uint32_t gone)
{
    wf_atomic_u32 *held = &l->nodes[gone].held[WF_LOCK_SHARED];
    uint32_t n = wf_load_relaxed(held);
    uint64_t old;

    set_intent(l, WF_LOCK_SHARED, 1);
    if (n > 0 && wf_cas_acq_rel(held, &n, 0)) {
        old = wf_add_acq_rel(&l->word->state, -(uint64_t)n);
        signal_head(l, old - n);
    }
    set_intent(l, WF_LOCK_SHARED, 0);
}

void wf_lock_word_fail_owner(const struct wf_rma_lock *l, uint32_t gone)
{
    struct wf_lock_node *n = &l->nodes[gone];
    uint64_t state = wf_load_acquire(&l->word->state);

    WF_ASSERT(gone < l->members && gone != l->me);
    if (wf_load_relaxed(&n->intent) || wf_load_relaxed(&n->busy) ||
        wf_load_relaxed(&n->held[WF_LOCK_ANNOUNCED]) ||
        (!l->window_wide && exclusive_of(state) == gone + 1))
        lose_lock(l, gone);
    else
        take_out(l, gone);
}

/* ---- the queue ----------------------------------------------------------- */

/* Makes this thread the one of its member that waits in the queue. */
static int claim_node(const struct wf_rma_lock *l)
{
    struct wf_lock_node *n = own_node(l);
    int rc = MPI_SUCCESS;

    for (;;) {
        uint32_t busy = 0;

        if (wf_cas_acq_rel(&n->busy, &busy, 1))
            break;
        if (busy == 1 && !wf_cas_acq_rel(&n->busy, &busy, 2))
            continue;
        rc = report_lost(l);
        if (!rc)
            rc = l->waiting->wait(l->waiting->arg, &n->busy, 2, l->me);
        if (rc)
            return rc;
    }
    wf_fence_full(); /* pairs with lose_lock */
    return MPI_SUCCESS;
}

static void release_node(const struct wf_rma_lock *l)
{
    /* pairs with claim_node */
    if (wf_exchange_acq_rel(&own_node(l)->busy, 0) == 2)
        l->waiting->wake(l->waiting->arg, l->me);
}

/* Becomes the tail of the queue, or enters: true. */
static bool join_queue(const struct wf_rma_lock *l, uint32_t kind)
{
    struct wf_lock_node *n = own_node(l);
    uint64_t state = wf_load_acquire(&l->word->state), then;
    uint32_t tail, id = l->me + 1;

    wf_store_relaxed(&n->kind, kind);
    wf_store_relaxed(&n->next, 0);
    do {
        tail = tail_of(state);
        if (!tail && is_open(state, kind))
            then = state + amount_of(l, kind);
        else
            then = with_queue(state, tail ? head_of(state) : id, id);
    } while (!wf_cas_acq_rel(&l->word->state, &state, then));
    if (!tail_of(then))
        return true;
    if (tail)
        wf_store_release(&l->nodes[tail - 1].next, id); /* find_next */
    return false;
}

/* Returns the member behind this one, which is not the tail: it is about to say
 * so. 0: the lock is lost. */
static uint32_t find_next(const struct wf_rma_lock *l)
{
    for (uint32_t looks = 1;; looks++) {
        uint32_t next = wf_load_acquire(&own_node(l)->next); /* join_queue */

        if (next || wf_load_acquire(&l->word->failed))
            return next;
        wf_cpu_relax();
        if (looks % 64 == 0)
            sched_yield();
    }
}

/* Enters as the head of an open lock; its successor becomes the head. False:
 * the word has changed, or the lock is lost. */
static bool enter_from_queue(const struct wf_rma_lock *l, uint32_t kind,
                             uint64_t state)
{
    uint32_t tail = tail_of(state), next = 0;
    uint64_t then;

    if (tail == l->me + 1) {
        tail = 0;
    } else {
        next = find_next(l);
        if (!next)
            return false;
    }
    then = with_queue(state, next, tail) + amount_of(l, kind);
    if (!wf_cas_acq_rel(&l->word->state, &state, then))
        return false;
    signal_head(l, then);
    return true;
}

static int wait_in_queue(const struct wf_rma_lock *l, uint32_t kind)
{
    struct wf_lock_node *n = own_node(l);
    int rc;

    for (;;) {
        /* before the word: signal_member */
        uint32_t seen = wf_load_acquire(&n->signal), on = WF_RMA_ANY_MEMBER;
        uint64_t state = wf_load_acquire(&l->word->state);

        rc = report_lost(l);
        if (rc)
            return rc;
        if (head_of(state) == l->me + 1 && is_open(state, kind)) {
            if (enter_from_queue(l, kind, state))
                return MPI_SUCCESS;
            continue;
        }
        if (!l->window_wide && exclusive_of(state))
            on = exclusive_of(state) - 1;
        rc = l->waiting->wait(l->waiting->arg, &n->signal, seen, on);
        if (rc) {
            lose_lock(l, l->me);
            return rc;
        }
    }
}

/* ---- calls --------------------------------------------------------------- */

/* Enters a lock that is open and has no queue. */
static inline bool enter_at_once(const struct wf_rma_lock *l, uint32_t kind)
{
    uint64_t state = wf_load_relaxed(&l->word->state),
             more = amount_of(l, kind);

    while (!tail_of(state) && is_open(state, kind))
        if (wf_cas_acq_rel(&l->word->state, &state, state + more))
            return true; /* pairs with wf_lock_word_leave */
    return false;
}

bool wf_lock_word_try(const struct wf_rma_lock *l, enum wf_lock_kind kind)
{
    bool inside;

    WF_ASSERT(l->me < l->members);
    WF_ASSERT(l->window_wide == (kind == WF_LOCK_ANNOUNCED) ||
              kind == WF_LOCK_SHARED);
    if (kind == WF_LOCK_ANNOUNCED && is_announced(l)) {
        count_hold(l, kind, 1);
        return true;
    }
    set_intent(l, kind, 1);
    inside = enter_at_once(l, kind);
    if (inside)
        count_hold(l, kind, 1);
    set_intent(l, kind, 0);
    return inside;
}

static WF_COLD int enter_by_queue(const struct wf_rma_lock *l,
                                  enum wf_lock_kind kind)
{
    int rc = claim_node(l);

    if (rc)
        return rc;
    if (kind == WF_LOCK_ANNOUNCED && is_announced(l))
        goto inside; /* by another thread meanwhile */
    rc = report_lost(l);
    if (!rc && !join_queue(l, kind))
        rc = wait_in_queue(l, kind);
    if (rc) {
        release_node(l);
        return rc;
    }
inside:
    count_hold(l, kind, 1);
    release_node(l);
    return MPI_SUCCESS;
}

int wf_lock_word_enter(const struct wf_rma_lock *l, enum wf_lock_kind kind)
{
    if (wf_likely(wf_lock_word_try(l, kind)))
        return MPI_SUCCESS;
    return enter_by_queue(l, kind);
}

void wf_lock_word_leave(const struct wf_rma_lock *l, enum wf_lock_kind kind)
{
    uint64_t less = amount_of(l, kind), old;

    set_intent(l, kind, 1);
    count_hold(l, kind, UINT32_MAX); /* minus one */
    if (kind != WF_LOCK_ANNOUNCED || !is_announced(l)) {
        /* pairs with the ways in */
        old = wf_add_acq_rel(&l->word->state, -less);
        signal_head(l, old - less);
    }
    set_intent(l, kind, 0);
}

/* ---- both levels --------------------------------------------------------- */

int wf_rma_lock(const struct wf_rma_lock *all, const struct wf_rma_lock *target,
                bool exclusive)
{
    int rc;

    if (!exclusive)
        return wf_lock_word_enter(target, WF_LOCK_SHARED);
    rc = wf_lock_word_enter(all, WF_LOCK_ANNOUNCED);
    if (rc)
        return rc;
    rc = wf_lock_word_enter(target, WF_LOCK_EXCLUSIVE);
    if (rc)
        wf_lock_word_leave(all, WF_LOCK_ANNOUNCED);
    return rc;
}

bool wf_rma_try_lock(const struct wf_rma_lock *all,
                     const struct wf_rma_lock *target, bool exclusive)
{
    if (!exclusive)
        return wf_lock_word_try(target, WF_LOCK_SHARED);
    if (!wf_lock_word_try(all, WF_LOCK_ANNOUNCED))
        return false;
    if (wf_lock_word_try(target, WF_LOCK_EXCLUSIVE))
        return true;
    wf_lock_word_leave(all, WF_LOCK_ANNOUNCED);
    return false;
}

void wf_rma_unlock(const struct wf_rma_lock *all,
                   const struct wf_rma_lock *target, bool exclusive)
{
    wf_lock_word_leave(target, exclusive ? WF_LOCK_EXCLUSIVE : WF_LOCK_SHARED);
    if (exclusive)
        wf_lock_word_leave(all, WF_LOCK_ANNOUNCED);
}
