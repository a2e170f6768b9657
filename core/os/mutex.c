/* The fair mutex by ticket: waiting, sleeping, and the beginning and end of a
 * bias. mutex.h says how and why.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "os/mutex.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "os/clock.h"
#include "os/futex.h"
#include "os/membarrier.h"

#define RARE __attribute__((cold, noinline))

enum {
    SPINS = 400,      /* of a thread that waits for an owner to leave */
    OPEN_NS = 2500,   /* looks at an open lock are so far apart */
    LOOKS = 8,        /* so often before a thread sleeps */
    CLOCK_EVERY = 16, /* spins */
    PATIENCE = 64,    /* entries in a row before the first bias */
    DOUBLINGS = 10    /* 65536 entries: some hundred revocations' worth */
};

_Thread_local uint32_t wf_mutex_self WF_TLS_NEAR = WF_MUTEX_STRANGER;

/* ---- what the kernel does --------------------------------------------------- */

static bool have_barrier(void)
{
    enum { UNKNOWN, THERE, MISSING };
    static wf_atomic_u32 state; /* of the kernel, found out once */
    uint32_t s = wf_load_relaxed(&state);

    if (s == UNKNOWN) {
        s = wf_membarrier_register_own() ? THERE : MISSING;
        wf_store_relaxed(&state, s);
    }
    return s == THERE;
}

void wf_mutex_prepare(void)
{
    (void)have_barrier();
}

/* All threads pass a full barrier. It cannot fail after a registration, which
 * a process that was forked may have to repeat. */
static RARE void all_pass_barrier(void)
{
    if (wf_membarrier_own())
        return;
    if (!wf_membarrier_register_own() || !wf_membarrier_own()) {
        fputs("weft: the kernel refuses membarrier, which it granted before; "
              "a lock cannot be taken safely\n", stderr);
        abort();
    }
}

/* ---- numbers ---------------------------------------------------------------- */

/* A thread that starts has the least number that is free, and with it the slots and
 * the biases of one that has ended: it is in no lock, and all that it did comes
 * before, by the order of `taken`. So programs that start threads again and again need
 * no more slots than they have threads at a time, and revoke nothing. */
enum { FIRST = WF_MUTEX_STRANGER + 1 };

static wf_atomic_u64 taken; /* bit i: the number FIRST + i */
static pthread_key_t key;   /* its value is the number, for the end of the thread */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static RARE void give_number(void *number)
{
    uint64_t bit = UINT64_C(1) << ((uintptr_t)number - FIRST);

    wf_mutex_self = WF_MUTEX_STRANGER; /* others' destructors may come yet */
    /* pairs with take_number */
    atomic_fetch_and_explicit(&taken, ~bit, memory_order_acq_rel);
}

static RARE void make_key(void)
{
    if (pthread_key_create(&key, give_number) != 0)
        abort(); /* as if there were no thread-local memory at all */
}

static RARE uint32_t take_number(void)
{
    uint64_t all = wf_load_relaxed(&taken), bit;

    do {
        bit = ~all & (all + 1); /* the least that is free */
        if (!bit)
            return WF_MUTEX_NOBODY;
    } while (!wf_cas_acq_rel(&taken, &all, all | bit)); /* give_number */
    return FIRST + (uint32_t)__builtin_ctzll(bit);
}

static RARE void number_self(void)
{
    pthread_once(&once, make_key);
    wf_mutex_self = take_number();
    if (wf_mutex_self != WF_MUTEX_NOBODY)
        pthread_setspecific(key, (void *)(uintptr_t)wf_mutex_self);
}

/* The first lock of a thread, which may be the owner's already. */
static RARE bool come(struct wf_mutex *m)
{
    number_self();
    return wf_mutex_lock_own(m);
}

static inline bool inherits(struct wf_mutex *m)
{
    return wf_mutex_self == WF_MUTEX_STRANGER && come(m);
}

/* ---- the bias ---------------------------------------------------------------- */

/* This thread's slot, or a free one; -1: none. */
static int find_slot(const struct wf_mutex *m)
{
    int slot = -1;

    for (int i = 0; i < WF_MUTEX_SLOTS; i++)
        if (m->tenant[i] == wf_mutex_self)
            return i;
        else if (!m->tenant[i] && slot < 0)
            slot = i;
    return slot;
}

/* We came by ticket, so we are not about to use our slot. */
static RARE void give_slot_back(struct wf_mutex *m)
{
    for (int i = 0; i < WF_MUTEX_SLOTS; i++)
        if (m->tenant[i] == wf_mutex_self) {
            m->tenant[i] = 0;
            m->crowded = false;
        }
}

static RARE void bias(struct wf_mutex *m)
{
    int slot = -1;

    m->run = 0;
    if (wf_mutex_self != WF_MUTEX_NOBODY && have_barrier())
        slot = find_slot(m);
    m->crowded = slot < 0;
    if (slot < 0)
        return;
    m->tenant[slot] = wf_mutex_self;
    m->in = &m->inside[slot];
    wf_store_relaxed(m->in, 1);
    wf_store_release(&m->owner,
                     wf_mutex_self << WF_MUTEX_SLOT_BITS | (uint32_t)slot);
    /* the ticket goes on; who has the next one finds us inside */
    wf_mutex_pass(m);
}

/* Entered by ticket: is it time for a bias? */
static __attribute__((noinline)) void consider(struct wf_mutex *m)
{
    if (m->last != wf_mutex_self) {
        m->last = wf_mutex_self;
        m->run = 0;
        if (m->crowded)
            give_slot_back(m);
    } else if (++m->run >= (uint32_t)PATIENCE << m->revoked &&
               !wf_mutex_contended(m))
        bias(m);
}

static RARE void end_ownership(struct wf_mutex *m)
{
    if (!wf_load_relaxed(&m->owner))
        return; /* one that tried has */
    wf_store_relaxed(&m->owner, 0);
    all_pass_barrier();
    if (m->revoked < DOUBLINGS)
        m->revoked++;
}

/* The owner of the bias that was revoked is in. */
static bool owner_inside(struct wf_mutex *m)
{
    return wf_load_acquire(m->in) != 0; /* pairs with the release in unlock */
}

/* It is our turn: until the owner is out. */
static RARE void end_bias(struct wf_mutex *m)
{
    end_ownership(m);
    for (int i = 0; i < SPINS && owner_inside(m); i++)
        wf_cpu_relax();
    while (owner_inside(m))
        wf_futex_wait(m->in, 1, NULL);
    m->in = NULL;
}

void wf_mutex_left(wf_atomic_u32 *inside)
{
    wf_store_release(inside, 0);
    wf_futex_wake(inside);
}

/* ---- tickets ----------------------------------------------------------------- */

static uint32_t bed(uint32_t ticket)
{
    return UINT32_C(1) << ticket % WF_MUTEX_BEDS;
}

/* Whoever sleeps with that bit, or is about to, looks again. */
static void wake(struct wf_mutex *m, uint32_t ticket)
{
    atomic_fetch_and_explicit(&m->asleep, ~bed(ticket), memory_order_relaxed);
    wf_add_acq_rel(&m->woken, 1);
    wf_futex_wake_bits(&m->woken, bed(ticket));
}

static inline void wake_sleeper(struct wf_mutex *m, uint32_t ticket)
{
    if (__builtin_expect(wf_load_relaxed(&m->asleep) & bed(ticket), 0))
        wake(m, ticket);
}

/* The next ticket enters a lock that was left open. */
static bool enter_open(struct wf_mutex *m, uint32_t ticket, uint32_t serving)
{
    if (serving + 1 != ticket || !wf_mutex_close_open(m, wf_load_relaxed(&m->open)))
        return false;
    wf_store_relaxed(&m->serving, ticket);
    return true;
}

/* It is this ticket's turn, or it has made it so. */
static bool look(struct wf_mutex *m, uint32_t ticket)
{
    /* pairs with the release in pass */
    uint32_t serving = wf_load_acquire(&m->serving);

    return serving == ticket || enter_open(m, ticket, serving);
}

/* For OPEN_NS, or until the turn has come. */
static void spin(struct wf_mutex *m, uint32_t ticket)
{
    uint64_t start = wf_clock_ns();

    for (uint32_t i = 1; wf_load_relaxed(&m->serving) != ticket; i++) {
        if (i % CLOCK_EVERY == 0 && wf_clock_ns() - start >= OPEN_NS)
            return;
        wf_cpu_relax();
    }
}

/* Only the next ticket asks, and who asks runs. */
static void ask(struct wf_mutex *m, uint32_t ticket)
{
    if (wf_load_relaxed(&m->serving) + 1 == ticket)
        wf_store_relaxed(&m->asked, ticket);
}

static void ask_no_more(struct wf_mutex *m, uint32_t ticket)
{
    if (wf_load_relaxed(&m->asked) == ticket)
        wf_store_relaxed(&m->asked, ticket - 1);
}

/* Until somebody wakes this one. true: it did not come to that, it has entered. */
static bool lie_down(struct wf_mutex *m, uint32_t ticket)
{
    uint32_t woken = wf_load_acquire(&m->woken); /* before anybody sees the bit */
    bool in;

    atomic_fetch_or_explicit(&m->asleep, bed(ticket), memory_order_relaxed);
    if (have_barrier())
        all_pass_barrier(); /* also those who leave it open */
    else
        wf_fence_full(); /* pairs with the fence in pass */
    in = look(m, ticket);
    if (in)
        wake(m, ticket); /* another one may have the same bit */
    else
        wf_futex_wait_bits(&m->woken, woken, bed(ticket));
    return in;
}

static bool await_awake(struct wf_mutex *m, uint32_t ticket)
{
    for (int i = 0; i < LOOKS; i++) {
        spin(m, ticket);
        if (look(m, ticket))
            return true;
        ask(m, ticket);
    }
    ask_no_more(m, ticket);
    return false;
}

void wf_mutex_take(struct wf_mutex *m)
{
    uint32_t ticket;

    if (inherits(m) || wf_mutex_return(m))
        return;
    ticket = wf_add_acq_rel(&m->next, 1);
    /* pairs with the release in pass */
    if (wf_load_acquire(&m->serving) != ticket)
        while (!await_awake(m, ticket) && !lie_down(m, ticket))
            ;
    if (m->in)
        end_bias(m);
    consider(m);
}

bool wf_mutex_claim(struct wf_mutex *m)
{
    uint32_t ticket;

    if (wf_mutex_lock_own(m) || inherits(m))
        return true;
    ticket = wf_load_acquire(&m->serving); /* pairs with the release in pass */
    if (!wf_cas_acq_rel(&m->next, &ticket, ticket + 1))
        return false;
    if (m->in)
        end_bias(m);
    consider(m);
    return true;
}

void wf_mutex_pass(struct wf_mutex *m)
{
    uint32_t ticket = wf_load_relaxed(&m->serving) + 1;

    wf_store_release(&m->serving, ticket);
    /* pairs with the barrier in lie_down, and that of submitters: progress/submit.c */
    wf_fence_full();
    wake_sleeper(m, ticket);
}

void wf_mutex_linger(struct wf_mutex *m)
{
    uint32_t ticket = wf_load_relaxed(&m->serving) + 1;

    if (!wf_mutex_contended(m) || wf_load_relaxed(&m->asked) == ticket ||
        wf_mutex_self == WF_MUTEX_NOBODY || !have_barrier()) {
        wf_mutex_pass(m);
        return;
    }
    wf_store_release(&m->open, wf_mutex_self); /* pairs with wf_mutex_close_open */
    wf_mutex_hold_compiler();
    wake_sleeper(m, ticket);
}

bool wf_mutex_take_now(struct wf_mutex *m)
{
    uint32_t ticket;

    if (inherits(m))
        return true;
    ticket = wf_load_acquire(&m->serving); /* pairs with the release in pass */
    if (!wf_cas_acq_rel(&m->next, &ticket, ticket + 1))
        return false;
    if (m->in) {
        end_ownership(m);
        if (owner_inside(m)) {
            wf_mutex_pass(m);
            return false;
        }
        m->in = NULL;
    }
    consider(m);
    return true;
}
