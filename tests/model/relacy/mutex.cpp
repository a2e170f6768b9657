/* The fair mutex (core/os/mutex.h): tickets that sleep, returns, the bias, its
 * end by membarrier, or its suspension; threads that only try, and one that has
 * the number of a thread that has ended.
 * CLAIM  One thread is inside at a time, after all that the ones before it
 * wrote there; and one that waits is woken.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "machine.h"

#define RARE

enum { THREADS = 3 };
static uint32_t self[THREADS];
#define wf_mutex_thread_id self[rl::thread_index()]

enum {
    WF_MUTEX_SPINS_FOR_OWNER = 1,
    WF_MUTEX_BIAS_AFTER_ENTRIES = 1,
    WF_MUTEX_DOUBLINGS_MAX = 0,
    WF_MUTEX_OPEN_NS = 1,
    WF_MUTEX_TRIES_BEFORE_SLEEP = 1,
    WF_MUTEX_SPINS_PER_CLOCK = 2
};
static bool barrier; /* as the kernel has it */
static bool has_membarrier() { return barrier; }
static wf_atomic_u64 *taken_now;
#define used_ids (*taken_now)
static void assign_thread_id();
struct wf_mutex;
void wf_mutex_wake_revoker(wf_atomic_u32 *inside);
bool wf_mutex_try_by_ticket(struct wf_mutex *);
#define wf_mutex_compiler_fence() ((void)0)

enum {
    WF_MUTEX_SLOT_BITS = 1,
    WF_MUTEX_SLOTS = 2,
    WF_MUTEX_THREAD_ID_UNSET = 1,
    WF_MUTEX_SLEEP_BITS = 2
};
#define wf_membarrier_register_own() true
//@ core/os/mutex.h: WF_MUTEX_NO_THREAD_ID
//@ core/os/mutex.h: wf_mutex{owner_word last_thread entries_in_row revoked no_slot_left slot_owner}
//@ core/os/mutex.c: fence_all_threads
void wf_mutex_lock_by_ticket(struct wf_mutex *);
void wf_mutex_pass_ticket(struct wf_mutex *);
void wf_mutex_pass_or_leave_open(struct wf_mutex *);
void wf_mutex_pass_or_leave_open(struct wf_mutex *);
//@ core/os/mutex.h: wf_mutex_is_own_bias wf_mutex_inside_word
//@ core/os/mutex.h: wf_mutex_publish_inside wf_mutex_enter_biased
//@ core/os/mutex.h: wf_mutex_try_biased wf_mutex_claim_open
//@ core/os/mutex.h: wf_mutex_reenter_open wf_mutex_reenter
//@ core/os/mutex.h: wf_mutex_lock wf_mutex_leave wf_mutex_unlock
//@ core/os/mutex.h: wf_mutex_unlock_open wf_mutex_try
//@ core/os/mutex.h: wf_mutex_contended
enum { FIRST_ID = WF_MUTEX_THREAD_ID_UNSET + 1 };
//@ core/os/mutex.c: release_thread_id allocate_thread_id lock_first_time
//@ core/os/mutex.c: lock_inherited find_slot release_own_slot bias_to_self
//@ core/os/mutex.c: consider_bias take_up_own_bias revoke_bias
//@ core/os/mutex.c: is_owner_inside revoke_and_await_exit
//@ core/os/mutex.c: wf_mutex_wake_revoker
//@ core/os/mutex.c: sleep_bit_of wake_ticket wake_if_asleep enter_open_as_next
//@ core/os/mutex.c: try_turn
//@ core/os/mutex.c: spin_for_turn ask_for_turn withdraw_request
//@ core/os/mutex.c: sleep_until_woken spin_and_try wf_mutex_lock_by_ticket
//@ core/os/mutex.c: wf_mutex_pass_ticket
//@ core/os/mutex.c: wf_mutex_pass_or_leave_open try_turn_at_once
//@ core/os/mutex.c: wf_mutex_try_by_ticket
//@ core/os/mutex.c: suspend_bias wf_mutex_try_suspending
//@ core/os/mutex.c: wf_mutex_unlock_resuming

static void assign_thread_id() { wf_mutex_thread_id = allocate_thread_id(); }

enum how {
    LOCK,
    STEP_OUT,
    AGAIN,
    NO_BARRIER,
    TRY,
    INHERIT,
    SUSPEND /* one thread suspends the bias, if nobody is inside */
};

/* One enters often enough to be the owner, the others come once each. */
template <how HOW>
struct mutex_holds : rl::test_suite<mutex_holds<HOW>, THREADS> {
    struct wf_mutex m;
    plain<int> inside;
    plain<int> counted;
    int times[THREADS];
    uint32_t suspended; /* of the thread that suspends */
    wf_atomic_u64 numbers;
    atom<int> gone; /* orders nothing */

    void before()
    {
        taken_now = &numbers;
        barrier = HOW != NO_BARRIER;
        for (int i = 0; i < THREADS; i++)
            self[i] = WF_MUTEX_THREAD_ID_UNSET, times[i] = 0;
    }

    void be_inside(unsigned me)
    {
        RL_ASSERT(inside++ == 0);
        counted++;
        times[me]++;
        inside -= 1;
        if (me == 2 && (HOW == SUSPEND))
            wf_mutex_unlock_resuming(&m, suspended);
        else if (HOW == LOCK || HOW == TRY)
            wf_mutex_unlock(&m);
        else
            wf_mutex_unlock_open(&m);
    }

    /* Without a call at first; then whoever waits for us must not wait for
     * long. */
    void enter()
    {
        wf_atomic_u32 *vain = NULL;

        if (HOW == AGAIN && wf_mutex_reenter(&m, &vain))
            return;
        if (vain)
            wf_mutex_wake_revoker(vain);
        wf_mutex_lock(&m);
    }

    static int entries_of(unsigned me)
    {
        bool suspends = HOW == SUSPEND;

        return me == 0 ? (suspends ? 8 : 4) : HOW != SUSPEND;
    }

    /* Come until a bias was suspended twice: what one visit gives back the next
     * takes. */
    void suspend()
    {
        for (int n = 0; n < 2 && !gone.load(rl::mo_relaxed, $);) {
            rl::yield(1, $);
            if (wf_mutex_try_suspending(&m, &suspended)) {
                n += suspended != 0;
                be_inside(2);
            }
        }
    }

    void thread(unsigned me)
    {
        if (me == 2 && (HOW == SUSPEND)) {
            suspend();
            return;
        }
        while (HOW == INHERIT && me == 2 && !gone.load(rl::mo_relaxed, $))
            rl::yield(1, $);
        for (int i = 0; i < entries_of(me); i++) {
            if (me == 2 && HOW == TRY && !wf_mutex_try(&m))
                continue;
            if (me != 2 || HOW != TRY)
                enter();
            be_inside(me);
        }
        if (HOW == INHERIT)
            release_thread_id((void *)(uintptr_t)wf_mutex_thread_id);
        if (me == 0)
            gone.store(1, rl::mo_relaxed, $);
    }

    void after()
    {
        RL_ASSERT(counted == times[0] + times[1] + times[2]);
        RL_ASSERT(times[0] == entries_of(0) && times[1] == entries_of(1));
    }
};

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    return !(
        does_hold<mutex_holds<LOCK>>() && does_hold<mutex_holds<STEP_OUT>>() &&
        does_hold<mutex_holds<AGAIN>>() &&
        does_hold<mutex_holds<NO_BARRIER>>() && does_hold<mutex_holds<TRY>>() &&
        does_hold<mutex_holds<INHERIT>>() &&
        does_hold<mutex_holds<SUSPEND>>());
}
