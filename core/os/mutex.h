/* A fair mutex whose only user enters and leaves at almost no cost.
 *
 *   by ticket --one thread enters again and again, alone--> biased to it
 *      ^                                                      |
 *      +-------------- another thread comes: revoke ----------+
 *
 * TICKETS  Threads enter in the order in which they arrive. A waiting thread
 * spins for a short while and then sleeps, each on a bit of its own. Fairness
 * matters because a thread that polls for messages leaves and re-enters at
 * once; a plain mutex would starve the others.
 *
 * OPEN LOCK  Two threads that enter all the time would alternate, and
 * everything that the lock protects would cross from processor to processor
 * each time. Therefore a thread that leaves by wf_mutex_unlock_open while
 * others wait keeps its ticket and leaves the lock open: it may re-enter, and
 * so may the next ticket. The thread of the next ticket tries to enter every
 * WF_MUTEX_OPEN_NS, which is about ten times the cost of alternating where
 * processors are far from each other. When a try has failed it asks for its
 * turn, and the holder passes the ticket on at the end of its call. A sleeping
 * thread does not ask: it is woken, and until it runs the previous holder may
 * re-enter.
 *
 *   thread that leaves the lock open   thread that goes to sleep
 *   open = its thread id               w = woken
 *   (compiler fence)                   asleep |= its bit
 *   if the next ticket's bit is set:   membarrier
 *   clear it, woken++, wake            if it is its turn, or the lock is open,
 *                                      enter (an open lock is closed first);
 *                                      else sleep while woken == w
 *
 * At least one of the two sees what the other stored. A thread that passes its
 * ticket on executes a full fence instead of the compiler fence. The thread
 * that changes `open` back to 0 holds the lock.
 *
 * BIAS  The thread to which the lock is biased is its owner. It enters and
 * leaves by loads and stores, without a locked instruction or a fence. Any
 * other thread takes a ticket, and when its turn comes it revokes the bias and
 * waits until the owner is out:
 *
 *   owner                              revoker, the only ticket that may enter
 *   inside = 1                         owner = 0
 *   (compiler fence)                   membarrier
 *   if owner is still this thread:     if inside == 0: enter
 *   enter                              else sleep while inside == 1
 *   to leave: inside = 0
 *   (compiler fence)
 *   if owner == 0: wake
 *
 * membarrier(2) makes every running thread of the process pass a full barrier
 * between its call and its return; a thread that does not run passed one when
 * it was taken off its CPU. So there is a point in the owner's program such
 * that everything before it is visible to the revoker, and everything after it
 * sees owner == 0:
 *
 *   Exclusion. Either the owner's test of `owner` lies before the point: then
 *   so does its inside = 1, which the revoker sees. Or the test lies after it:
 *   then the owner does not enter.
 *
 *   No lost wake-up. The revoker sleeps only if it saw 1, hence the owner's
 *   next inside = 0 lies after the point (before it, it would have been seen),
 *   and the test that follows sees owner == 0, which no thread changes while
 *   the revoker sleeps. The owner wakes after it has stored 0, and the kernel
 *   compares the word again before it lets a thread sleep.
 *
 * An owner that was interrupted between its two loads of `owner` may store
 * inside = 1, and take it back, at any later time. Therefore each thread that
 * was ever biased has a slot with an `inside` word of its own, never another's.
 * There are WF_MUTEX_SLOTS of them. A thread gives its slot back when it enters
 * by ticket and slots have run short; a thread that has ended leaves its slots,
 * and its bias, to one that starts. Only the thread itself can make the lock
 * its own again, or who suspends the bias and has left, so a later bias cannot
 * deceive its test.
 *
 * A thread that comes seldom and stays briefly (the progress thread) suspends
 * the bias instead: it ends it in the same way, and when it leaves it makes the
 * lock the owner's again. The owner that waits for its turn meanwhile finds the
 * bias to itself, takes it up, and passes its ticket on. So a test
 * of `owner` that succeeds later finds a bias that holds then.
 *
 * A revocation costs microseconds. The bias comes after
 * WF_MUTEX_BIAS_AFTER_ENTRIES entries of one thread in a row, with no thread
 * waiting. Each revocation doubles that number, until so many entries cost more
 * than the next revocation. Where the kernel has no membarrier the lock is
 * never biased, nor left open.
 *
 * INVARIANTS  owner_word, last_thread, entries_in_row, revoked and slot_owner
 * are changed only by the holder of the ticket whose turn it is. owner_word
 * points to the owner's `inside` word from the bias until the revocation is
 * complete; any holder of the lock may read it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MUTEX_H
#define WF_MUTEX_H

#include <stdbool.h>

#include "os/atomic.h"
#include "weft_assert.h"

enum {
    WF_MUTEX_SLOT_BITS = 3,
    WF_MUTEX_SLOTS = 1 << WF_MUTEX_SLOT_BITS,
    WF_MUTEX_SLEEP_BITS = 32,    /* sleep bits; more tickets share them */
    WF_MUTEX_THREAD_ID_UNSET = 1 /* the thread has not asked for an id yet */
};
#define WF_MUTEX_NO_THREAD_ID                                                  \
    UINT32_MAX /* no id was free: never biased, nor open */

struct wf_mutex {
    /* thread id << WF_MUTEX_SLOT_BITS | slot; 0: no bias */
    wf_atomic_u32 owner;
    wf_atomic_u32 next;        /* the ticket that the next thread takes */
    wf_atomic_u32 serving;     /* the ticket that may enter */
    wf_atomic_u32 asleep;      /* sleep bits of tickets whose threads sleep */
    wf_atomic_u32 woken;       /* number of wake-ups; futex word */
    wf_atomic_u32 *owner_word; /* in `inside`; NULL: not biased */
    uint32_t last_thread;      /* the thread that entered last by ticket */
    uint32_t entries_in_row;   /* of that thread */
    uint32_t revoked;          /* number of revocations */
    bool no_slot_left;         /* the last try to make a bias found none */
    wf_atomic_u32 inside[WF_MUTEX_SLOTS]; /* 1: that owner is in; futex words */
    uint32_t slot_owner[WF_MUTEX_SLOTS];  /* thread ids; 0: free */
    /* These two are apart from what waiting threads poll all the time. */
    wf_atomic_u32 open;  /* thread that left last and may re-enter; 0: none */
    wf_atomic_u32 asked; /* ticket that asks for its turn; a hint */
};

/* The id of this thread, from 2 on. A thread that starts takes over the id of
 * one that has ended, if there is one. */
extern _Thread_local uint32_t wf_mutex_thread_id WF_TLS_NEAR;

/* Prepares the process for biased locks. Call it before a second thread starts:
 * the kernel registers a process for membarrier at once while it has one
 * thread, and takes 5 to 20 ms later. */
void wf_mutex_prepare(void);

/* Enters by ticket; waits for its turn and revokes a bias. */
void wf_mutex_lock_by_ticket(struct wf_mutex *);
/* Enters by ticket if no thread is inside or waits. */
bool wf_mutex_try_by_ticket(struct wf_mutex *);
/* Leaves a lock that was entered by ticket: the next ticket may enter. */
void wf_mutex_pass_ticket(struct wf_mutex *);
/* Leaves a lock that was entered by ticket: leaves it open if a thread waits
 * that has not asked for its turn, and passes the ticket on otherwise. */
void wf_mutex_pass_or_leave_open(struct wf_mutex *);
/* Stores inside = 0 and wakes the revoker that waits for this, or did. */
void wf_mutex_wake_revoker(wf_atomic_u32 *inside);

/* Tells whether a value of `owner` names this thread. */
static inline bool wf_mutex_is_own_bias(uint32_t owner)
{
    return owner >> WF_MUTEX_SLOT_BITS == wf_mutex_thread_id;
}

/* Keeps the compiler from moving the owner's store behind its next load. For
 * the processor the revoker's membarrier does that. */
static inline void wf_mutex_compiler_fence(void)
{
    atomic_signal_fence(memory_order_seq_cst);
}

static inline wf_atomic_u32 *wf_mutex_inside_word(struct wf_mutex *m,
                                                  uint32_t owner)
{
    return &m->inside[owner & (WF_MUTEX_SLOTS - 1)];
}

/* Stores inside = 1 for the owner. Returns false if the bias has been revoked:
 * the caller is not inside and must call wf_mutex_wake_revoker. */
static inline bool wf_mutex_publish_inside(struct wf_mutex *m, uint32_t owner)
{
    wf_store_relaxed(wf_mutex_inside_word(m, owner), 1);
    wf_mutex_compiler_fence();
    /* pairs with the owner's own release when it made the bias, and with that
     * of a thread that suspended it */
    return __builtin_expect(wf_load_acquire(&m->owner) == owner, 1);
}

static inline bool wf_mutex_enter_biased(struct wf_mutex *m, uint32_t owner)
{
    if (wf_mutex_publish_inside(m, owner))
        return true;
    wf_mutex_wake_revoker(wf_mutex_inside_word(m, owner));
    return false;
}

/* Enters if the lock is biased to this thread: two stores and two loads. */
static inline bool wf_mutex_try_biased(struct wf_mutex *m)
{
    uint32_t owner = wf_load_relaxed(&m->owner);

    return wf_mutex_is_own_bias(owner) && wf_mutex_enter_biased(m, owner);
}

/* Enters a lock that `thread` has left open: changes `open` back to 0. */
static inline bool wf_mutex_claim_open(struct wf_mutex *m, uint32_t thread)
{
    return thread && wf_cas_acq_rel(&m->open, &thread, 0);
}

/* Enters a lock that this thread has left open. */
static inline bool wf_mutex_reenter_open(struct wf_mutex *m)
{
    return wf_load_relaxed(&m->open) == wf_mutex_thread_id &&
           wf_mutex_claim_open(m, wf_mutex_thread_id);
}

/* Enters if the lock is biased to this thread or was left open by it; calls no
 * function. If it returns false and has set *failed_slot, the bias was revoked
 * meanwhile and the caller must call wf_mutex_wake_revoker(*failed_slot), for
 * which the revoker may wait. */
static inline bool wf_mutex_reenter(struct wf_mutex *m,
                                    wf_atomic_u32 **failed_slot)
{
    uint32_t owner = wf_load_relaxed(&m->owner);

    if (!wf_mutex_is_own_bias(owner))
        return wf_mutex_reenter_open(m);
    if (wf_mutex_publish_inside(m, owner))
        return true;
    *failed_slot = wf_mutex_inside_word(m, owner);
    return false;
}

static inline void wf_mutex_lock(struct wf_mutex *m)
{
    if (!wf_mutex_try_biased(m))
        wf_mutex_lock_by_ticket(m);
}

/* Leaves the lock; by_ticket() is called if it was entered by ticket. */
static inline void wf_mutex_leave(struct wf_mutex *m,
                                  void (*by_ticket)(struct wf_mutex *))
{
    wf_atomic_u32 *inside = m->owner_word;

    if (__builtin_expect(!inside, 0)) {
        by_ticket(m);
        return;
    }
    WEFT_ASSERT(wf_load_relaxed(inside) == 1);
    wf_store_release(inside, 0); /* pairs with the acquire of the revoker */
    wf_mutex_compiler_fence();
    if (__builtin_expect(wf_load_relaxed(&m->owner) == 0, 0))
        wf_mutex_wake_revoker(inside);
}

static inline void wf_mutex_unlock(struct wf_mutex *m)
{
    wf_mutex_leave(m, wf_mutex_pass_ticket);
}

/* Leaves the lock; for a thread that may re-enter at once. If others wait, the
 * lock may stay open for it. */
static inline void wf_mutex_unlock_open(struct wf_mutex *m)
{
    wf_mutex_leave(m, wf_mutex_pass_or_leave_open);
}

/* Enters if no thread is inside or waits. */
static inline bool wf_mutex_try(struct wf_mutex *m)
{
    uint32_t owner = wf_load_relaxed(&m->owner);

    if (!wf_mutex_is_own_bias(owner))
        return wf_mutex_try_by_ticket(m);
    if (wf_load_relaxed(wf_mutex_inside_word(m, owner)))
        return false; /* this thread is inside already */
    return wf_mutex_enter_biased(m, owner) || wf_mutex_try_by_ticket(m);
}

/* Tells the holder whether it has become the owner. */
static inline bool wf_mutex_is_biased(struct wf_mutex *m)
{
    return m->owner_word;
}

/* Enters if no thread is inside or waits, and suspends a bias to another
 * thread: *suspended is for wf_mutex_unlock_resuming, by which the caller
 * leaves. */
bool wf_mutex_try_suspending(struct wf_mutex *, uint32_t *suspended);
/* Leaves the lock, and makes it its owner's again. */
void wf_mutex_unlock_resuming(struct wf_mutex *, uint32_t suspended);

/* Tells the holder whether another thread waits. */
static inline bool wf_mutex_contended(struct wf_mutex *m)
{
    return wf_load_relaxed(&m->next) !=
           wf_load_relaxed(&m->serving) + (m->owner_word ? 0 : 1);
}

#endif
