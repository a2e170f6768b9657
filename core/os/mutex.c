/* The slow paths of the fair mutex: tickets, sleeping, and the beginning and
 * end of a bias. mutex.h says how and why.
 *
 * OPTIMIZE  size
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
#include "os/tuning.h"

#define RARE __attribute__((cold, noinline))

_Thread_local uint32_t wf_mutex_thread_id WF_TLS_NEAR =
    WF_MUTEX_THREAD_ID_UNSET;

/* ---- membarrier ---------------------------------------------------------- */

static bool has_membarrier(void)
{
    enum { UNKNOWN, THERE, MISSING };
    static wf_atomic_u32 state; /* of the kernel; found out once */
    uint32_t s = wf_load_relaxed(&state);

    if (s == UNKNOWN) {
        s = wf_membarrier_register_own() ? THERE : MISSING;
        wf_store_relaxed(&state, s);
    }
    return s == THERE;
}

void wf_mutex_prepare(void)
{
    (void)has_membarrier();
}

/* Makes all threads pass a full barrier. This cannot fail after a registration,
 * which a process that was forked may have to repeat. */
static RARE void fence_all_threads(void)
{
    if (wf_membarrier_own())
        return;
    if (!wf_membarrier_register_own() || !wf_membarrier_own()) {
        fputs("weft: the kernel refuses membarrier, which it granted before; "
              "a lock cannot be taken safely\n",
              stderr);
        abort();
    }
}

/* ---- thread ids ---------------------------------------------------------- */

/* A thread that starts gets the least id that is free, and with it the slots
 * and the biases of the thread that had it and has ended. That thread is in no
 * lock, and everything it did comes before, by the order of `used_ids`. So
 * programs that start threads again and again need no more slots than they have
 * threads at a time, and revoke nothing. */
enum { FIRST_ID = WF_MUTEX_THREAD_ID_UNSET + 1 };

static wf_atomic_u64 used_ids; /* bit i: the id FIRST_ID + i is in use */
static pthread_key_t key; /* its value is the id; tells when a thread ends */
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static RARE void release_thread_id(void *id)
{
    uint64_t bit = UINT64_C(1) << ((uintptr_t)id - FIRST_ID);

    WEFT_ASSERT((uintptr_t)id >= FIRST_ID && (uintptr_t)id - FIRST_ID < 64);
    WEFT_ASSERT(wf_load_relaxed(&used_ids) & bit);
    wf_mutex_thread_id =
        WF_MUTEX_THREAD_ID_UNSET; /* other destructors may still lock */
    /* pairs with allocate_thread_id */
    atomic_fetch_and_explicit(&used_ids, ~bit, memory_order_acq_rel);
}

static RARE void create_exit_key(void)
{
    if (pthread_key_create(&key, release_thread_id) != 0)
        abort(); /* nor could there be thread-local memory */
}

static RARE uint32_t allocate_thread_id(void)
{
    uint64_t all = wf_load_relaxed(&used_ids), bit;

    do {
        bit = ~all & (all + 1); /* the least free id */
        if (!bit)
            return WF_MUTEX_NO_THREAD_ID;
        /* pairs with release_thread_id */
    } while (!wf_cas_acq_rel(&used_ids, &all, all | bit));
    return FIRST_ID + (uint32_t)__builtin_ctzll(bit);
}

static RARE void assign_thread_id(void)
{
    WEFT_ASSERT(wf_mutex_thread_id == WF_MUTEX_THREAD_ID_UNSET);
    pthread_once(&key_once, create_exit_key);
    wf_mutex_thread_id = allocate_thread_id();
    if (wf_mutex_thread_id != WF_MUTEX_NO_THREAD_ID)
        pthread_setspecific(key, (void *)(uintptr_t)wf_mutex_thread_id);
}

/* Gives the thread its id at its first lock, and enters if the lock is biased
 * to that id. */
static RARE bool lock_first_time(struct wf_mutex *m)
{
    assign_thread_id();
    return wf_mutex_try_biased(m);
}

static inline bool lock_inherited(struct wf_mutex *m)
{
    return wf_mutex_thread_id == WF_MUTEX_THREAD_ID_UNSET && lock_first_time(m);
}

/* ---- the bias ------------------------------------------------------------ */

/* Returns this thread's slot, or a free one, or -1. */
static int find_slot(const struct wf_mutex *m)
{
    int slot = -1;

    for (int i = 0; i < WF_MUTEX_SLOTS; i++)
        if (m->slot_owner[i] == wf_mutex_thread_id)
            return i;
        else if (!m->slot_owner[i] && slot < 0)
            slot = i;
    return slot;
}

/* Gives up this thread's slot. It has entered by ticket, so it is not about to
 * use the slot. */
static RARE void release_own_slot(struct wf_mutex *m)
{
    for (int i = 0; i < WF_MUTEX_SLOTS; i++)
        if (m->slot_owner[i] == wf_mutex_thread_id) {
            m->slot_owner[i] = 0;
            m->no_slot_left = false;
        }
}

static RARE void bias_to_self(struct wf_mutex *m)
{
    int slot = -1;

    m->entries_in_row = 0;
    if (wf_mutex_thread_id != WF_MUTEX_NO_THREAD_ID && has_membarrier())
        slot = find_slot(m);
    m->no_slot_left = slot < 0;
    if (slot < 0)
        return;
    WEFT_ASSERT(!m->owner_word && !wf_load_relaxed(&m->owner));
    WEFT_ASSERT(!wf_load_relaxed(&m->inside[slot]));
    m->slot_owner[slot] = wf_mutex_thread_id;
    m->owner_word = &m->inside[slot];
    wf_store_relaxed(m->owner_word, 1);
    wf_store_release(&m->owner,
                     wf_mutex_thread_id << WF_MUTEX_SLOT_BITS | (uint32_t)slot);
    /* the thread of the next ticket finds this one inside */
    wf_mutex_pass_ticket(m);
}

/* Counts an entry by ticket, and biases the lock to this thread if it has
 * entered often enough. */
static __attribute__((noinline)) void consider_bias(struct wf_mutex *m)
{
    if (m->last_thread != wf_mutex_thread_id) {
        m->last_thread = wf_mutex_thread_id;
        m->entries_in_row = 0;
        if (m->no_slot_left)
            release_own_slot(m);
    } else if (++m->entries_in_row >= (uint32_t)WF_MUTEX_BIAS_AFTER_ENTRIES
                                          << m->revoked &&
               !wf_mutex_contended(m)) {
        bias_to_self(m);
    }
}

/* Takes up a bias to this thread that was suspended while it waited for its
 * turn. The caller's ticket has it. */
static RARE bool take_up_own_bias(struct wf_mutex *m)
{
    if (!wf_mutex_is_own_bias(wf_load_relaxed(&m->owner)))
        return false;
    wf_store_relaxed(m->owner_word, 1);
    wf_mutex_pass_ticket(m); /* the next one finds this thread inside */
    return true;
}

static RARE void revoke_bias(struct wf_mutex *m)
{
    WEFT_ASSERT(m->owner_word);
    if (!wf_load_relaxed(&m->owner))
        return; /* a thread that only tried to enter has done it */
    wf_store_relaxed(&m->owner, 0);
    fence_all_threads();
    if (m->revoked < WF_MUTEX_DOUBLINGS_MAX)
        m->revoked++;
}

static bool is_owner_inside(struct wf_mutex *m)
{
    /* pairs with the release in wf_mutex_leave */
    return wf_load_acquire(m->owner_word) != 0;
}

/* Ends the bias and waits until the owner is out. The caller's ticket has its
 * turn. */
static RARE void revoke_and_await_exit(struct wf_mutex *m)
{
    revoke_bias(m);
    for (int i = 0; i < WF_MUTEX_SPINS_FOR_OWNER && is_owner_inside(m); i++)
        wf_cpu_relax();
    while (is_owner_inside(m))
        wf_futex_wait(m->owner_word, 1, NULL);
    WEFT_ASSERT(!wf_load_relaxed(&m->owner) &&
                m->revoked <= WF_MUTEX_DOUBLINGS_MAX);
    m->owner_word = NULL;
}

void wf_mutex_wake_revoker(wf_atomic_u32 *inside)
{
    wf_store_release(inside, 0);
    wf_futex_wake(inside);
}

/* ---- tickets ------------------------------------------------------------- */

static uint32_t sleep_bit_of(uint32_t ticket)
{
    return UINT32_C(1) << ticket % WF_MUTEX_SLEEP_BITS;
}

/* Makes every thread that sleeps on the ticket's bit, or is about to, try
 * again. */
static void wake_ticket(struct wf_mutex *m, uint32_t ticket)
{
    atomic_fetch_and_explicit(&m->asleep, ~sleep_bit_of(ticket),
                              memory_order_relaxed);
    wf_add_acq_rel(&m->woken, 1);
    wf_futex_wake_bits(&m->woken, sleep_bit_of(ticket));
}

static inline void wake_if_asleep(struct wf_mutex *m, uint32_t ticket)
{
    if (__builtin_expect(wf_load_relaxed(&m->asleep) & sleep_bit_of(ticket), 0))
        wake_ticket(m, ticket);
}

/* Enters a lock that was left open, if `ticket` is the next. */
static bool enter_open_as_next(struct wf_mutex *m, uint32_t ticket,
                               uint32_t serving)
{
    if (serving + 1 != ticket ||
        !wf_mutex_claim_open(m, wf_load_relaxed(&m->open)))
        return false;
    wf_store_relaxed(&m->serving, ticket);
    return true;
}

/* Tells whether the ticket may enter; enters an open lock for it. */
static bool try_turn(struct wf_mutex *m, uint32_t ticket)
{
    /* pairs with the release in wf_mutex_pass_ticket */
    uint32_t serving = wf_load_acquire(&m->serving);

    return serving == ticket || enter_open_as_next(m, ticket, serving);
}

/* Spins for WF_MUTEX_OPEN_NS, or until the ticket's turn has come. */
static void spin_for_turn(struct wf_mutex *m, uint32_t ticket)
{
    uint64_t start = wf_clock_ns();

    for (uint32_t i = 1; wf_load_relaxed(&m->serving) != ticket; i++) {
        if (i % WF_MUTEX_SPINS_PER_CLOCK == 0 &&
            wf_clock_ns() - start >= WF_MUTEX_OPEN_NS)
            return;
        wf_cpu_relax();
    }
}

/* Asks for the turn if the ticket is the next; its thread must keep running. */
static void ask_for_turn(struct wf_mutex *m, uint32_t ticket)
{
    if (wf_load_relaxed(&m->serving) + 1 == ticket)
        wf_store_relaxed(&m->asked, ticket);
}

static void withdraw_request(struct wf_mutex *m, uint32_t ticket)
{
    if (wf_load_relaxed(&m->asked) == ticket)
        wf_store_relaxed(&m->asked, ticket - 1);
}

/* Sleeps until the ticket's bit is woken. Returns true if it has entered
 * instead. */
static bool sleep_until_woken(struct wf_mutex *m, uint32_t ticket)
{
    uint32_t woken = wf_load_acquire(&m->woken); /* before the bit is set */
    bool in;

    atomic_fetch_or_explicit(&m->asleep, sleep_bit_of(ticket),
                             memory_order_relaxed);
    if (has_membarrier())
        /* pairs with wf_mutex_pass_or_leave_open, wf_mutex_pass_ticket */
        fence_all_threads();
    else
        wf_fence_full(); /* pairs with the fence in wf_mutex_pass_ticket */
    in = try_turn(m, ticket);
    if (in)
        wake_ticket(m, ticket); /* a thread with the same bit may sleep */
    else
        wf_futex_wait_bits(&m->woken, woken, sleep_bit_of(ticket));
    return in;
}

/* Spins, tries to enter, and asks for the turn, several times. Returns false
 * when it is time to sleep. */
static bool spin_and_try(struct wf_mutex *m, uint32_t ticket)
{
    for (int i = 0; i < WF_MUTEX_TRIES_BEFORE_SLEEP; i++) {
        spin_for_turn(m, ticket);
        if (try_turn(m, ticket))
            return true;
        ask_for_turn(m, ticket);
    }
    withdraw_request(m, ticket);
    return false;
}

void wf_mutex_lock_by_ticket(struct wf_mutex *m)
{
    uint32_t ticket;

    if (lock_inherited(m) || wf_mutex_reenter_open(m))
        return;
    ticket = wf_add_acq_rel(&m->next, 1);
    /* pairs with the release in wf_mutex_pass_ticket */
    if (wf_load_acquire(&m->serving) != ticket)
        while (!spin_and_try(m, ticket) && !sleep_until_woken(m, ticket))
            ;
    if (m->owner_word) {
        if (take_up_own_bias(m))
            return;
        revoke_and_await_exit(m);
    }
    consider_bias(m);
}

void wf_mutex_pass_ticket(struct wf_mutex *m)
{
    uint32_t ticket = wf_load_relaxed(&m->serving) + 1;

    WEFT_ASSERT((int32_t)(wf_load_relaxed(&m->next) - ticket) >= 0);
    wf_store_release(&m->serving, ticket);
    /* pairs with the barrier in sleep_until_woken */
    wf_fence_full();
    wake_if_asleep(m, ticket);
}

void wf_mutex_pass_or_leave_open(struct wf_mutex *m)
{
    uint32_t ticket = wf_load_relaxed(&m->serving) + 1;

    if (!wf_mutex_contended(m) || wf_load_relaxed(&m->asked) == ticket ||
        wf_mutex_thread_id == WF_MUTEX_NO_THREAD_ID || !has_membarrier()) {
        wf_mutex_pass_ticket(m);
        return;
    }
    WEFT_ASSERT(!wf_load_relaxed(&m->open) && !m->owner_word);
    /* pairs with wf_mutex_claim_open */
    wf_store_release(&m->open, wf_mutex_thread_id);
    wf_mutex_compiler_fence();
    wake_if_asleep(m, ticket);
}

/* Takes the ticket that has its turn, unless another thread has it. */
static bool try_turn_at_once(struct wf_mutex *m)
{
    uint32_t ticket = wf_load_acquire(
        &m->serving); /* pairs with the release in wf_mutex_pass_ticket */

    return wf_cas_acq_rel(&m->next, &ticket, ticket + 1);
}

bool wf_mutex_try_by_ticket(struct wf_mutex *m)
{
    if (lock_inherited(m))
        return true;
    if (!try_turn_at_once(m))
        return false;
    if (m->owner_word) {
        if (take_up_own_bias(m))
            return true;
        revoke_bias(m);
        if (is_owner_inside(m)) {
            wf_mutex_pass_ticket(m);
            return false;
        }
        m->owner_word = NULL;
    }
    consider_bias(m);
    return true;
}

/* ---- suspending a bias --------------------------------------------------- */

/* Ends the bias for as long as the caller is inside. Returns it; 0: another
 * thread has ended it for good. */
static RARE uint32_t suspend_bias(struct wf_mutex *m)
{
    uint32_t owner = wf_load_relaxed(&m->owner);

    if (!owner)
        return 0;
    wf_store_relaxed(&m->owner, 0);
    fence_all_threads();
    return owner;
}

bool wf_mutex_try_suspending(struct wf_mutex *m, uint32_t *suspended)
{
    *suspended = 0;
    if (!try_turn_at_once(m))
        return false;
    if (!m->owner_word)
        return true;
    *suspended = suspend_bias(m);
    if (is_owner_inside(m)) {
        if (*suspended)
            /* pairs with wf_mutex_publish_inside */
            wf_store_release(&m->owner, *suspended);
        wf_mutex_pass_ticket(m);
        return false;
    }
    m->owner_word = NULL;
    return true;
}

void wf_mutex_unlock_resuming(struct wf_mutex *m, uint32_t suspended)
{
    uint32_t slot = suspended & (WF_MUTEX_SLOTS - 1);

    if (m->owner_word) { /* the caller has left and become the owner */
        wf_mutex_unlock(m);
        return;
    }
    if (suspended && m->slot_owner[slot] == suspended >> WF_MUTEX_SLOT_BITS) {
        m->owner_word = &m->inside[slot];
        /* pairs with wf_mutex_publish_inside */
        wf_store_release(&m->owner, suspended);
    }
    wf_mutex_pass_ticket(m);
}
