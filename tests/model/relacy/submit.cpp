/* Submissions to a section (core/lock/critical.h, granularity lock-free): of
 * the code of the section, its mutex and its stack.
 * CLAIM  Each submission is run once, inside, by somebody; none is left when
 * all have gone.
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
enum { WF_SUBMITS = true };
enum {
    WF_MUTEX_SLOT_BITS = 1,
    WF_MUTEX_SLOTS = 2,
    WF_MUTEX_THREAD_ID_UNSET = 1,
    WF_MUTEX_SLEEP_BITS = 2
};
static bool barrier; /* as the kernel has it */
static bool has_membarrier() { return barrier; }
static void assign_thread_id() { wf_mutex_thread_id = 2 + rl::thread_index(); }
static void fence_all_threads() { rl::systemwide_fence($); }
#define wf_mutex_compiler_fence() ((void)0)
#define wf_section_entering(rank, object) ((void)0)
#define wf_section_left(rank, object) ((void)0)
#define __builtin_expect(x, y) (x)

void wf_mutex_wake_revoker(wf_atomic_u32 *inside);
bool wf_mutex_try_by_ticket(struct wf_mutex *);
void wf_mutex_lock_by_ticket(struct wf_mutex *);
void wf_mutex_pass_ticket(struct wf_mutex *);
void wf_mutex_pass_or_leave_open(struct wf_mutex *);
//@ core/os/mutex.h: WF_MUTEX_NO_THREAD_ID
//@ core/os/mutex.h: wf_mutex{owner_word last_thread entries_in_row revoked no_slot_left slot_owner}
//@ core/os/mutex.h: wf_mutex_is_own_bias wf_mutex_inside_word
//@ core/os/mutex.h: wf_mutex_publish_inside wf_mutex_enter_biased
//@ core/os/mutex.h: wf_mutex_try_biased wf_mutex_claim_open
//@ core/os/mutex.h: wf_mutex_reenter_open wf_mutex_reenter
//@ core/os/mutex.h: wf_mutex_contended wf_mutex_lock wf_mutex_leave
//@ core/os/mutex.h: wf_mutex_unlock
//@ core/os/mutex.h: wf_mutex_unlock_open
//@ core/os/mutex.c: lock_first_time lock_inherited find_slot release_own_slot
//@ core/os/mutex.c: bias_to_self consider_bias take_up_own_bias revoke_bias
//@ core/os/mutex.c: is_owner_inside await_exit revoke_and_await_exit
//@ core/os/mutex.c: wf_mutex_wake_revoker
//@ core/os/mutex.c: sleep_bit_of wake_ticket wake_if_asleep enter_open_as_next
//@ core/os/mutex.c: try_turn
//@ core/os/mutex.c: spin_for_turn ask_for_turn withdraw_request
//@ core/os/mutex.c: sleep_until_woken spin_and_try wf_mutex_lock_by_ticket
//@ core/os/mutex.c: wf_mutex_try_revoking wf_mutex_pass_ticket
//@ core/os/mutex.c: wf_mutex_pass_or_leave_open
//@ core/os/stack.h: wf_stack_link{next} wf_stack wf_stack_push
//@ core/os/stack.h: wf_stack_has_items
//@ core/os/stack.h: wf_stack_reverse wf_stack_take_all
//@ core/lock/critical.h: wf_cs
void wf_cs_try_run_submitted(struct wf_cs *);
//@ core/lock/critical.h: wf_cs_deferred_unlock
static struct wf_cs_deferred_unlock deferred[THREADS];
#define wf_cs_deferred_unlock deferred[rl::thread_index()]
void wf_cs_finish_deferred_unlock();
//@ core/lock/critical.h: wf_cs_run_deferred_unlock wf_cs_has_submitted
//@ core/lock/critical.h: wf_cs_run_submitted wf_cs_submit wf_cs_lock
//@ core/lock/critical.h: wf_cs_try_relock wf_cs_unlock_by wf_cs_unlock
//@ core/lock/submit.c: wf_cs_try_run_submitted

struct order {
    struct wf_stack_link link; /* first */
    plain<int> started;
};

void wf_cs_finish_deferred_unlock()
{
    struct wf_cs *inside = wf_cs_deferred_unlock.inside;
    wf_atomic_u32 *failed_slot = wf_cs_deferred_unlock.failed_bias_slot;

    wf_cs_deferred_unlock.inside = NULL;
    wf_cs_deferred_unlock.failed_bias_slot = NULL;
    if (failed_slot)
        wf_mutex_wake_revoker(failed_slot);
    if (inside)
        wf_cs_unlock(inside);
}

template <bool BARRIER>
struct submissions_run : rl::test_suite<submissions_run<BARRIER>, THREADS> {
    struct wf_cs cs;
    struct order orders[THREADS][2];
    plain<int> inside;
    plain<int> started;

    static submissions_run *of(struct wf_cs *cs)
    {
        return wf_container(cs, submissions_run, cs);
    }

    static void run_all(struct wf_cs *cs)
    {
        submissions_run *t = of(cs);
        struct wf_stack_link *next, *l = wf_stack_take_all(&cs->submitted);

        RL_ASSERT(t->inside++ == 0);
        for (l = wf_stack_reverse(l); l; l = next) {
            next = l->next;
            RL_ASSERT(((struct order *)l)->started++ == 0);
            t->started++;
        }
        t->inside -= 1;
    }

    void before()
    {
        for (int i = 0; i < THREADS; i++)
            self[i] = WF_MUTEX_THREAD_ID_UNSET, deferred[i].inside = NULL,
            deferred[i].failed_bias_slot = NULL;
        barrier = BARRIER;
        cs.on = cs.threads = true;
        cs.run = run_all;
    }

    /* A call that may not be submitted. */
    void enter()
    {
        if (!wf_cs_try_relock(&cs)) {
            wf_cs_run_deferred_unlock();
            wf_cs_lock(&cs);
        }
        RL_ASSERT(inside++ == 0);
        inside -= 1;
        wf_cs_unlock(&cs);
    }

    void thread(unsigned me)
    {
        if (me < 2)
            wf_cs_submit(&cs, &orders[me][0].link);
        enter();
        if (me == 0)
            enter();
        else
            wf_cs_submit(&cs, &orders[me][1].link);
    }

    void after()
    {
        RL_ASSERT(!wf_stack_has_items(&cs.submitted));
        RL_ASSERT(started == 4);
    }
};

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    return !(does_hold<submissions_run<true>>() &&
             does_hold<submissions_run<false>>());
}
