/* A fair mutex that costs its only user next to nothing.
 *
 *   tickets --one thread enters again and again, alone--> biased to that thread
 *      ^                                                     |
 *      +------------- another thread comes: revoke ----------+
 *
 * TICKETS  Threads enter in the order in which they came; they spin for a short
 * while, then sleep, each on a bit of its own. Fairness matters because a thread that
 * polls for messages leaves and re-enters at once; a plain mutex would starve the
 * others.
 *
 * RETURN  Two threads that enter all the time would change places each time, and
 * all that the lock protects would cross from processor to processor with them. So
 * who leaves by wf_mutex_step_out while others wait keeps its ticket and leaves the
 * lock open: to itself, if it comes back, and to the next ticket. Whose thread looks
 * every OPEN_NS, some ten times what it costs to change places where processors are
 * far from each other; when it has found nothing it asks, and is let in at the end of
 * the call. So only a thread that runs is waited for: one that sleeps is woken, and
 * the other may come back until it is there.
 *
 *   who leaves                         who falls asleep
 *   open = itself                      w = woken
 *   (the compiler is held)             asleep |= its bit
 *   the next one's bit? then take      membarrier
 *   it away, woken++, wake             its turn, or open? then enter (an open lock is
 *                                      closed first); else sleep while woken == w
 *
 * One of the two sees the other; who passes the ticket on has a fence in the place of
 * the compiler's. Who turns `open` back into 0 is inside.
 *
 * BIAS  The owner enters and leaves by loads and stores, without a locked
 * instruction or a fence. Whoever else comes takes a ticket, and when it is his
 * turn he revokes the bias and waits until the owner is out:
 *
 *   owner                              revoker, the only ticket that may enter
 *   inside = 1                         owner = 0
 *   (the compiler is held)             membarrier
 *   owner still mine? then enter       inside == 0? then enter
 *                                      else sleep while inside == 1
 *   leave: inside = 0
 *   (the compiler is held)
 *   owner == 0? then wake
 *
 * membarrier(2) makes every running thread of the process pass a full barrier
 * between its call and its return; one that does not run passed it when it was
 * taken off its CPU. So at one point of the owner's program everything before
 * is visible to the revoker, and everything after sees owner == 0:
 *
 *   Exclusion. The owner's test lies before the point: then so does its
 *   inside = 1, which the revoker sees. Or after: then it does not enter.
 *
 *   No lost wake-up. The revoker sleeps only if it saw 1, hence the owner's next
 *   inside = 0 lies after the point (before, it would have been seen), and the
 *   test that follows it sees owner == 0, which nobody changes while the revoker
 *   sleeps. The owner wakes after it has stored 0, and the kernel compares the
 *   word again before it lets anybody sleep.
 *
 * An owner that was interrupted between its two looks at `owner` may store
 * inside = 1, and take it back, at any later time. So each thread that was ever
 * biased has a word of its own, never another's (WF_MUTEX_SLOTS of them; a
 * thread gives its word back when it comes by ticket and words have run short; a
 * thread that has ended leaves its words, and its bias, to one that starts).
 * No thread but itself can make the lock its own again, so a test cannot be
 * deceived by a later bias.
 *
 * A revocation costs microseconds. The bias comes after PATIENCE entries of one
 * thread in a row, with nobody waiting; each revocation doubles that number, up
 * to one whose entries are dearer than the next revocation. Where the kernel has
 * no membarrier the lock is never biased, nor left open.
 *
 * INVARIANTS  in, last, run, revoked and tenant are changed by the holder of the ticket
 * whose turn it is. in is the word of the owner from the bias until the revocation is
 * complete; whoever holds the lock may read it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MUTEX_H
#define WF_MUTEX_H

#include <stdbool.h>

#include "os/atomic.h"

enum {
    WF_MUTEX_SLOT_BITS = 3,
    WF_MUTEX_SLOTS = 1 << WF_MUTEX_SLOT_BITS,
    WF_MUTEX_BEDS = 32, /* tickets share a bit beyond */
    WF_MUTEX_STRANGER = 1 /* not a number that a thread has: not asked yet */
};
#define WF_MUTEX_NOBODY UINT32_MAX /* there was none left */

struct wf_mutex {
    wf_atomic_u32 owner; /* thread << WF_MUTEX_SLOT_BITS | slot; 0: no bias */
    wf_atomic_u32 next;     /* ticket of the next to come */
    wf_atomic_u32 serving;  /* ticket that may enter */
    wf_atomic_u32 asleep;   /* bits of tickets whose threads are */
    wf_atomic_u32 woken;    /* times; futex word */
    wf_atomic_u32 *in;      /* NULL: held by ticket, if held */
    uint32_t last, run;     /* thread that entered last, how often in a row */
    uint32_t revoked;       /* times */
    bool crowded;           /* no slot was left */
    wf_atomic_u32 inside[WF_MUTEX_SLOTS]; /* 1: that owner is in; futex words */
    uint32_t tenant[WF_MUTEX_SLOTS];      /* threads */
    /* Away from what those who wait look at all the time. */
    wf_atomic_u32 open;  /* thread that left last and may come back; 0: none */
    wf_atomic_u32 asked; /* ticket that wants to be next, a hint */
};

/* The number of this thread, from 2 on, that of one that has ended if there is one. */
extern _Thread_local uint32_t wf_mutex_self WF_TLS_NEAR;

/* Before a second thread is started. What a bias needs is asked of the kernel,
 * which answers at once as long as there is one, and in 5 to 20 ms later. */
void wf_mutex_prepare(void);

/* By ticket. */
void wf_mutex_take(struct wf_mutex *);
bool wf_mutex_take_now(struct wf_mutex *);
void wf_mutex_pass(struct wf_mutex *);
/* Pass it, or keep it for a return. */
void wf_mutex_linger(struct wf_mutex *);
/* Somebody waits for this owner to leave, or did. */
void wf_mutex_left(wf_atomic_u32 *inside);

static inline bool wf_mutex_is_mine(uint32_t owner)
{
    return owner >> WF_MUTEX_SLOT_BITS == wf_mutex_self;
}

/* What the owner stores comes before what it looks at next, for the compiler;
 * for the processor the revoker's membarrier sees to that. */
static inline void wf_mutex_hold_compiler(void)
{
    atomic_signal_fence(memory_order_seq_cst);
}

static inline wf_atomic_u32 *wf_mutex_word(struct wf_mutex *m, uint32_t owner)
{
    return &m->inside[owner & (WF_MUTEX_SLOTS - 1)];
}

/* false: said in vain. */
static inline bool wf_mutex_say_inside(struct wf_mutex *m, uint32_t owner)
{
    wf_store_relaxed(wf_mutex_word(m, owner), 1);
    wf_mutex_hold_compiler();
    /* pairs with the owner's own release when it made the bias */
    return __builtin_expect(wf_load_acquire(&m->owner) == owner, 1);
}

static inline bool wf_mutex_enter_biased(struct wf_mutex *m, uint32_t owner)
{
    if (wf_mutex_say_inside(m, owner))
        return true;
    wf_mutex_left(wf_mutex_word(m, owner));
    return false;
}

/* Enter if the bias is this thread's: two stores and two loads. */
static inline bool wf_mutex_lock_own(struct wf_mutex *m)
{
    uint32_t owner = wf_load_relaxed(&m->owner);

    return wf_mutex_is_mine(owner) && wf_mutex_enter_biased(m, owner);
}

/* Whoever does this to a lock that was left open is inside. */
static inline bool wf_mutex_close_open(struct wf_mutex *m, uint32_t who)
{
    return who && wf_cas_acq_rel(&m->open, &who, 0);
}

/* Enter a lock that was left open to this thread. */
static inline bool wf_mutex_return(struct wf_mutex *m)
{
    return wf_load_relaxed(&m->open) == wf_mutex_self &&
           wf_mutex_close_open(m, wf_mutex_self);
}

/* Enter if this thread was the last one inside, and either way was left to it; no
 * function is called. false, and *vain set: the bias ended meanwhile, and the caller
 * owes wf_mutex_left(*vain), for which its revoker may wait. */
static inline bool wf_mutex_lock_again(struct wf_mutex *m, wf_atomic_u32 **vain)
{
    uint32_t owner = wf_load_relaxed(&m->owner);

    if (!wf_mutex_is_mine(owner))
        return wf_mutex_return(m);
    if (wf_mutex_say_inside(m, owner))
        return true;
    *vain = wf_mutex_word(m, owner);
    return false;
}

static inline void wf_mutex_lock(struct wf_mutex *m)
{
    if (!wf_mutex_lock_own(m))
        wf_mutex_take(m);
}

static inline void wf_mutex_leave(struct wf_mutex *m,
                                  void (*by_ticket)(struct wf_mutex *))
{
    wf_atomic_u32 *inside = m->in;

    if (__builtin_expect(!inside, 0)) {
        by_ticket(m);
        return;
    }
    wf_store_release(inside, 0); /* pairs with the acquire of the revoker */
    wf_mutex_hold_compiler();
    if (__builtin_expect(wf_load_relaxed(&m->owner) == 0, 0))
        wf_mutex_left(inside);
}

static inline void wf_mutex_unlock(struct wf_mutex *m)
{
    wf_mutex_leave(m, wf_mutex_pass);
}

/* The same by a thread that may be back at once. */
static inline void wf_mutex_step_out(struct wf_mutex *m)
{
    wf_mutex_leave(m, wf_mutex_linger);
}

/* Enter if nobody is inside or waits. */
static inline bool wf_mutex_try(struct wf_mutex *m)
{
    uint32_t owner = wf_load_relaxed(&m->owner);

    if (!wf_mutex_is_mine(owner))
        return wf_mutex_take_now(m);
    if (wf_load_relaxed(wf_mutex_word(m, owner)))
        return false; /* by this thread */
    return wf_mutex_enter_biased(m, owner) || wf_mutex_take_now(m);
}

/* Enter unless another thread has a ticket that it has not passed on. A bias is
 * ended, and its owner's exit waited for. */
bool wf_mutex_claim(struct wf_mutex *);

/* The holder asks whether another one waits. */
static inline bool wf_mutex_contended(struct wf_mutex *m)
{
    return wf_load_relaxed(&m->next) !=
           wf_load_relaxed(&m->serving) + (m->in ? 0 : 1);
}

#endif
