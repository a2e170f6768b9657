/* Locks of windows in shared memory: see lock_word.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/lock_word.h"

#include <sched.h>

#include "object/error.h"
#include "rma/lock_state.h"

/* Tells a member to look at the word again. */
static WF_COLD void signal_member(const struct wf_rma_lock *l, uint32_t id)
{
    /* pairs with wait_in_queue */
    (void)wf_add_acq_rel(&l->nodes[id - 1].signal, 1);
    l->waiting->wake(l->waiting->arg, id - 1);
}

/* Signals the head of the queue if it may enter now. Its kind was written
 * before it became the head; if it is another by now, it has entered. */
static inline void signal_head(const struct wf_rma_lock *l, uint64_t state)
{
    uint32_t head = wf_lock_head(state);

    if (wf_unlikely(head) &&
        wf_lock_is_open(state, wf_load_relaxed(&l->nodes[head - 1].kind)))
        signal_member(l, head);
}

/* ---- records of holds ---------------------------------------------------- */

/* The word and the record of a hold change in two steps. In between `intent`
 * says so, for those who find the rest of a process that is gone; it orders
 * nothing between threads. An announced hold is recorded before the word counts
 * it and until the word has forgotten it, which needs no intent: its record
 * loses the lock. */
static inline void set_intent(const struct wf_rma_lock *l, uint32_t value)
{
    wf_fence_compiler();
    wf_store_relaxed(&l->own->intent, value);
    wf_fence_compiler();
}

static inline uint32_t read_holds(const struct wf_rma_lock *l, uint32_t kind)
{
    return wf_load_relaxed(&l->own->held[kind]);
}

static inline void record_holds(const struct wf_rma_lock *l, uint32_t kind,
                                uint32_t n)
{
    wf_fence_compiler();
    wf_store_relaxed(&l->own->held[kind], n);
    wf_fence_compiler();
}

/* Signals those who can enter by a change to this state, from which a hold of
 * this kind has gone: all who have reserved a hold, if it was the last one that
 * excluded them, and the head of the queue. */
static WF_COLD void signal_waiters(const struct wf_rma_lock *l, uint32_t kind,
                                   uint64_t state)
{
    uint32_t left = kind == WF_HOLD_SHARED ? wf_lock_shared(state)
                                           : wf_lock_exclusive(state);

    for (uint32_t i = 0; !left && (uint32_t)state && i < l->members; i++)
        if (wf_load_relaxed(&l->nodes[i].reserved))
            signal_member(l, i + 1);
    signal_head(l, state);
}

/* Takes n holds from the word. */
static inline void leave_word(const struct wf_rma_lock *l, uint32_t kind,
                              uint64_t n)
{
    uint64_t less = n * wf_lock_amount(l, kind);
    /* pairs with the ways in */
    uint64_t now = wf_add_acq_rel(&l->word->state, -less) - less;

    if (wf_unlikely(now))
        signal_waiters(l, kind, now);
}

/* ---- a lock that is lost ------------------------------------------------- */

static void lose_lock(const struct wf_rma_lock *l, uint32_t gone)
{
    uint32_t none = 0;

    if (!wf_cas_acq_rel(&l->word->failed, &none, gone + 1))
        return;
    wf_fence_full(); /* pairs with claim_node and wait_reserved */
    for (uint32_t i = 0; i < l->members; i++)
        if (wf_load_relaxed(&l->nodes[i].busy) ||
            wf_load_relaxed(&l->nodes[i].reserved))
            signal_member(l, i + 1);
}

static int report_lost(const struct wf_rma_lock *l)
{
    uint32_t gone = wf_load_relaxed(&l->word->failed);

    if (wf_likely(!gone))
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_PROC_ABORTED,
                    "the lock is lost: process %u of those that share the "
                    "window's memory ended, or gave up, while it held the lock "
                    "or waited for it",
                    gone - 1);
}

/* Ends the hold of a member that is gone: `intent` of this one stands for it
 * until the word has changed. */
static void take_out(const struct wf_rma_lock *l, uint32_t gone)
{
    wf_atomic_u32 *held = &l->nodes[gone].held[WF_HOLD_SHARED];
    uint32_t n = wf_load_relaxed(held);

    set_intent(l, 1);
    if (n > 0 && wf_cas_acq_rel(held, &n, 0))
        leave_word(l, WF_HOLD_SHARED, n);
    set_intent(l, 0);
}

void wf_lock_word_fail_owner(const struct wf_rma_lock *l, uint32_t gone)
{
    struct wf_lock_node *n = &l->nodes[gone];
    uint64_t state = wf_load_relaxed(&l->word->state);

    WF_ASSERT(gone < l->members && gone != l->me);
    if (wf_load_relaxed(&n->intent) || wf_load_relaxed(&n->busy) ||
        wf_load_relaxed(&n->reserved) ||
        wf_load_relaxed(&n->held[WF_HOLD_ANNOUNCED]) ||
        (!l->window_wide && wf_lock_exclusive(state) == gone + 1))
        lose_lock(l, gone);
    else
        take_out(l, gone);
}

/* ---- the queue ----------------------------------------------------------- */

/* Makes this thread the one of its member that waits in the queue. */
static int claim_node(const struct wf_rma_lock *l)
{
    struct wf_lock_node *n = l->own;
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
    if (wf_exchange_acq_rel(&l->own->busy, 0) == 2)
        l->waiting->wake(l->waiting->arg, l->me);
}

/* Becomes the tail of the queue, or enters: true. */
static bool join_queue(const struct wf_rma_lock *l, uint32_t kind)
{
    struct wf_lock_node *n = l->own;
    uint64_t state = wf_load_relaxed(&l->word->state), then;
    uint32_t tail, id = l->me + 1;

    wf_store_relaxed(&n->kind, kind);
    wf_store_relaxed(&n->next, 0);
    do {
        tail = wf_lock_tail(state);
        if (!tail && wf_lock_is_open(state, kind))
            then = state + wf_lock_amount(l, kind);
        else
            then =
                wf_lock_with_queue(state, tail ? wf_lock_head(state) : id, id);
    } while (!wf_cas_acq_rel(&l->word->state, &state, then));
    if (!wf_lock_tail(then))
        return true;
    if (tail)
        wf_store_relaxed(&l->nodes[tail - 1].next, id);
    return false;
}

/* Returns the member behind this one, which is not the tail: it is about to say
 * so. 0: the lock is lost. */
static uint32_t find_next(const struct wf_rma_lock *l)
{
    for (uint32_t looks = 1;; looks++) {
        uint32_t next = wf_load_relaxed(&l->own->next);

        if (next || wf_load_relaxed(&l->word->failed))
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
    uint32_t tail = wf_lock_tail(state), next = 0;
    uint64_t then;

    if (tail == l->me + 1) {
        tail = 0;
    } else {
        next = find_next(l);
        if (!next)
            return false;
    }
    then = wf_lock_with_queue(state, next, tail) + wf_lock_amount(l, kind);
    if (!wf_cas_acq_rel(&l->word->state, &state, then))
        return false;
    signal_head(l, then);
    return true;
}

static int wait_in_queue(const struct wf_rma_lock *l, uint32_t kind)
{
    struct wf_lock_node *n = l->own;
    int rc;

    for (;;) {
        /* before the word: signal_member */
        uint32_t seen = wf_load_acquire(&n->signal), on = WF_RMA_ANY_MEMBER;
        uint64_t state = wf_load_relaxed(&l->word->state);

        rc = report_lost(l);
        if (rc)
            return rc;
        if (wf_lock_head(state) == l->me + 1 && wf_lock_is_open(state, kind)) {
            if (enter_from_queue(l, kind, state))
                return MPI_SUCCESS;
            continue;
        }
        if (!l->window_wide && wf_lock_exclusive(state))
            on = wf_lock_exclusive(state) - 1;
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
    uint64_t state = wf_load_relaxed(&l->word->state);
    uint64_t more = wf_lock_amount(l, kind);

    while (!wf_lock_tail(state) && wf_lock_is_open(state, kind))
        if (wf_cas_acq_rel(&l->word->state, &state, state + more))
            return true; /* pairs with leave_word */
    return false;
}

static inline bool try_shared(const struct wf_rma_lock *l)
{
    bool inside;

    set_intent(l, 1);
    inside = enter_at_once(l, WF_HOLD_SHARED);
    if (inside)
        record_holds(l, WF_HOLD_SHARED, read_holds(l, WF_HOLD_SHARED) + 1);
    set_intent(l, 0);
    return inside;
}

static inline bool try_announced(const struct wf_rma_lock *l)
{
    uint32_t n = read_holds(l, WF_HOLD_ANNOUNCED);

    record_holds(l, WF_HOLD_ANNOUNCED, n + 1);
    if (n > 0 || enter_at_once(l, WF_HOLD_ANNOUNCED))
        return true;
    record_holds(l, WF_HOLD_ANNOUNCED, 0);
    return false;
}

static inline bool try_to_enter(const struct wf_rma_lock *l,
                                enum wf_hold_kind kind)
{
    WF_ASSERT(l->me < l->members);
    WF_ASSERT(l->window_wide == (kind == WF_HOLD_ANNOUNCED) ||
              kind == WF_HOLD_SHARED);
    if (kind == WF_HOLD_SHARED)
        return try_shared(l);
    return kind == WF_HOLD_ANNOUNCED ? try_announced(l)
                                     : enter_at_once(l, kind);
}

/* Records a hold that the word counts. Another thread may have announced the
 * member meanwhile; the word counts a member once. */
static void record_entry(const struct wf_rma_lock *l, enum wf_hold_kind kind)
{
    if (kind == WF_HOLD_EXCLUSIVE)
        return;
    if (kind == WF_HOLD_ANNOUNCED && read_holds(l, kind) > 0)
        leave_word(l, kind, 1);
    record_holds(l, kind, read_holds(l, kind) + 1);
}

static WF_COLD int enter_by_queue(const struct wf_rma_lock *l,
                                  enum wf_hold_kind kind)
{
    int rc = claim_node(l);

    if (rc)
        return rc;
    rc = report_lost(l);
    if (!rc && !join_queue(l, kind))
        rc = wait_in_queue(l, kind);
    if (!rc)
        record_entry(l, kind);
    release_node(l);
    return rc;
}

static inline int enter_word(const struct wf_rma_lock *l,
                             enum wf_hold_kind kind)
{
    if (wf_likely(try_to_enter(l, kind)))
        return MPI_SUCCESS;
    return enter_by_queue(l, kind);
}

static inline void leave_lock(const struct wf_rma_lock *l,
                              enum wf_hold_kind kind)
{
    uint32_t n;

    if (kind == WF_HOLD_EXCLUSIVE) {
        leave_word(l, kind, 1);
        return;
    }
    n = read_holds(l, kind);
    WF_ASSERT(n > 0);
    if (kind == WF_HOLD_SHARED)
        set_intent(l, 1);
    if (kind == WF_HOLD_SHARED || n == 1)
        leave_word(l, kind, 1);
    record_holds(l, kind, n - 1);
    if (kind == WF_HOLD_SHARED)
        set_intent(l, 0);
}

/* Waits until a hold that the word counts already excludes no other. */
static int wait_reserved(const struct wf_rma_lock *l, uint32_t kind)
{
    struct wf_lock_node *n = l->own;
    int rc;

    wf_fence_full(); /* pairs with lose_lock */
    for (;;) {
        uint32_t seen = wf_load_acquire(&n->signal); /* signal_member */
        uint64_t state = wf_load_acquire(&l->word->state);

        if (wf_lock_is_open(state, kind))
            return MPI_SUCCESS;
        rc = report_lost(l);
        if (!rc)
            rc = l->waiting->wait(l->waiting->arg, &n->signal, seen,
                                  WF_RMA_ANY_MEMBER);
        if (rc)
            return rc;
    }
}

static void count_reserved(const struct wf_rma_lock *l, uint32_t more)
{
    wf_atomic_u32 *reserved = &l->own->reserved;

    wf_fence_compiler();
    wf_store_relaxed(reserved, wf_load_relaxed(reserved) + more);
    wf_fence_compiler();
}

int wf_lock_word_enter_nested(const struct wf_rma_lock *l,
                              enum wf_hold_kind kind)
{
    int rc = MPI_SUCCESS;
    uint64_t old;

    WF_ASSERT(kind != WF_HOLD_EXCLUSIVE);
    if (kind == WF_HOLD_ANNOUNCED && read_holds(l, kind) > 0) {
        record_holds(l, kind, read_holds(l, kind) + 1);
        return MPI_SUCCESS;
    }
    count_reserved(l, 1);
    /* pairs with leave_word, as the other ways in */
    old = wf_add_acq_rel(&l->word->state, wf_lock_amount(l, kind));
    if (!wf_lock_is_open(old, kind))
        rc = wait_reserved(l, kind);
    if (rc)
        leave_word(l, kind, 1);
    else
        record_entry(l, kind);
    count_reserved(l, UINT32_MAX); /* minus one */
    return rc;
}

bool wf_lock_word_try(const struct wf_rma_lock *l, enum wf_hold_kind kind)
{
    return try_to_enter(l, kind);
}

int wf_lock_word_enter(const struct wf_rma_lock *l, enum wf_hold_kind kind)
{
    return enter_word(l, kind);
}

void wf_lock_word_leave(const struct wf_rma_lock *l, enum wf_hold_kind kind)
{
    leave_lock(l, kind);
}

/* ---- both levels --------------------------------------------------------- */

static inline int enter_level(const struct wf_rma_lock *l,
                              enum wf_hold_kind kind, bool nested)
{
    return wf_unlikely(nested) ? wf_lock_word_enter_nested(l, kind)
                               : enter_word(l, kind);
}

int wf_rma_lock(const struct wf_rma_lock *all, const struct wf_rma_lock *target,
                bool exclusive, bool nested)
{
    int rc;

    if (!exclusive)
        return enter_level(target, WF_HOLD_SHARED, nested);
    rc = enter_level(all, WF_HOLD_ANNOUNCED, nested);
    if (wf_unlikely(rc))
        return rc;
    rc = enter_word(target, WF_HOLD_EXCLUSIVE);
    if (wf_unlikely(rc))
        leave_lock(all, WF_HOLD_ANNOUNCED);
    return rc;
}

bool wf_rma_try_lock(const struct wf_rma_lock *all,
                     const struct wf_rma_lock *target, bool exclusive)
{
    if (!exclusive)
        return try_to_enter(target, WF_HOLD_SHARED);
    if (!try_to_enter(all, WF_HOLD_ANNOUNCED))
        return false;
    if (try_to_enter(target, WF_HOLD_EXCLUSIVE))
        return true;
    leave_lock(all, WF_HOLD_ANNOUNCED);
    return false;
}

void wf_rma_unlock(const struct wf_rma_lock *all,
                   const struct wf_rma_lock *target, bool exclusive)
{
    if (!exclusive) {
        leave_lock(target, WF_HOLD_SHARED);
        return;
    }
    leave_lock(target, WF_HOLD_EXCLUSIVE);
    leave_lock(all, WF_HOLD_ANNOUNCED);
}

int wf_rma_lock_all(const struct wf_rma_lock *all)
{
    return enter_word(all, WF_HOLD_SHARED);
}

void wf_rma_unlock_all(const struct wf_rma_lock *all)
{
    leave_lock(all, WF_HOLD_SHARED);
}
