/* Locks of windows (core/rma/lock_word.c): one lock with both kinds, the two
 * levels, and a lock whose holder ends.
 * CLAIM  Writers exclude all others and see what they wrote, lock_all excludes
 * exclusive locks, a waiter is woken when its turn has come, nested locks do
 * not wait for each other, and all waiters end when the lock is lost.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "machine.h"

enum { MEMBERS = 3, WF_RMA_ANY_MEMBER = 65535, MPI_SUCCESS = 0 };
enum { LOST = 1 };
#define wf_error(...) LOST
#define wf_fence_compiler() ((void)0)
#define sched_yield() rl::yield(1, $)

//@ core/rma/header.h: wf_rma_waiting wf_lock_word wf_lock_node
//@ core/rma/lock_word.h: wf_hold_kind wf_rma_lock
//@ core/rma/lock_state.h: wf_lock_tail wf_lock_head wf_lock_exclusive
//@ core/rma/lock_state.h: wf_lock_shared wf_lock_with_queue
//@ core/rma/lock_state.h: wf_lock_is_open wf_lock_amount
//@ core/rma/lock_word.c: signal_member signal_head
//@ core/rma/lock_word.c: set_intent read_holds record_holds
//@ core/rma/lock_word.c: signal_waiters leave_word lose_lock
//@ core/rma/lock_word.c: report_lost take_out wf_lock_word_fail_owner
//@ core/rma/lock_word.c: claim_node release_node join_queue find_next
//@ core/rma/lock_word.c: enter_from_queue wait_in_queue enter_at_once
//@ core/rma/lock_word.c: try_shared try_announced try_to_enter
//@ core/rma/lock_word.c: record_entry enter_by_queue enter_word leave_lock
//@ core/rma/lock_word.c: wait_reserved count_reserved
//@ core/rma/lock_word.c: wf_lock_word_enter_nested enter_level
//@ core/rma/lock_word.c: wf_rma_lock() wf_rma_unlock()
//@ core/rma/lock_word.c: wf_rma_lock_all() wf_rma_unlock_all()

/* A member sleeps on its bell, and a change is ordered before the bell. */
static futex_word *bells;

static int sleep_on_bell(void *me, const wf_atomic_u32 *word, uint32_t value,
                         uint32_t)
{
    futex_word *bell = &bells[(size_t)me];
    uint32_t seen = bell->load(rl::mo_acquire, $);

    if (const_cast<wf_atomic_u32 *>(word)->load(rl::mo_relaxed, $) == value)
        wf_futex_wait(bell, seen, NULL);
    return MPI_SUCCESS;
}

static void ring_bell(void *, uint32_t member)
{
    bells[member].fetch_add(1, rl::mo_release, $);
    wf_futex_wake(&bells[member]);
}

struct locks {
    struct wf_lock_word word;
    struct wf_lock_node nodes[MEMBERS];

    struct wf_rma_lock seen_by(struct wf_rma_waiting *w, uint32_t me,
                               bool window_wide)
    {
        struct wf_rma_lock l = {&word,   nodes, nodes + me, w,
                                MEMBERS, me,    window_wide};

        *w = {sleep_on_bell, ring_bell, (void *)(size_t)me};
        return l;
    }
};

struct one_lock : rl::test_suite<one_lock, MEMBERS> {
    struct locks lock;
    futex_word bell[MEMBERS];
    plain<int> data;

    void before()
    {
        bells = bell;
        data = 0;
    }

    void thread(unsigned me)
    {
        struct wf_rma_waiting w;
        struct wf_rma_lock l = lock.seen_by(&w, me, false);

        for (int i = 0; i < 2; i++) {
            bool writes = me == 0 || (me == 1 && i == 1);
            wf_hold_kind kind = writes ? WF_HOLD_EXCLUSIVE : WF_HOLD_SHARED;

            RL_ASSERT(enter_word(&l, kind) == MPI_SUCCESS);
            if (writes)
                data = data + 1;
            else
                RL_ASSERT(data >= 0);
            leave_lock(&l, kind);
        }
    }

    void after() { RL_ASSERT(data == 3); }
};

/* A window of which two targets are locked. */
template <class SUITE> struct two_targets : rl::test_suite<SUITE, MEMBERS> {
    struct locks all, target[2];
    futex_word bell[MEMBERS];
    plain<int> data[2];

    void before()
    {
        bells = bell;
        data[0] = data[1] = 0;
    }

    void lock_one(struct wf_rma_lock *a, uint32_t me, int which)
    {
        struct wf_rma_waiting w;
        struct wf_rma_lock l = target[which].seen_by(&w, me, false);

        RL_ASSERT(wf_rma_lock(a, &l, true, false) == MPI_SUCCESS);
        data[which] = data[which] + 1;
        wf_rma_unlock(a, &l, true);
    }
};

struct two_levels : two_targets<two_levels> {
    void thread(unsigned me)
    {
        struct wf_rma_waiting w;
        struct wf_rma_lock a = all.seen_by(&w, me, true);

        if (me == 0) {
            for (int i = 0; i < 2; i++) {
                RL_ASSERT(wf_rma_lock_all(&a) == MPI_SUCCESS);
                RL_ASSERT(data[0] + data[1] >= 0);
                wf_rma_unlock_all(&a);
            }
            return;
        }
        lock_one(&a, me, 0);
        lock_one(&a, me, me - 1);
    }

    void after() { RL_ASSERT(data[0] == 3 && data[1] == 1); }
};

/* Member 0 has ended as a holder; member 1 says so, and member 2 wants the
 * lock, by a reserved hold if it is nested, and so does member 1 then. */
template <bool READER, bool NESTED>
struct holder_ends : rl::test_suite<holder_ends<READER, NESTED>, MEMBERS - 1> {
    struct locks lock;
    futex_word bell[MEMBERS];

    void before()
    {
        struct wf_rma_waiting w;
        struct wf_rma_lock l = lock.seen_by(&w, 0, false);

        bells = bell;
        enter_word(&l, READER ? WF_HOLD_SHARED : WF_HOLD_EXCLUSIVE);
    }

    void thread(unsigned me)
    {
        struct wf_rma_waiting w;
        struct wf_rma_lock l = lock.seen_by(&w, me + 1, false);

        if (me == 0)
            wf_lock_word_fail_owner(&l, 0);
        if (NESTED && me == 1) {
            RL_ASSERT(wf_lock_word_enter_nested(&l, WF_HOLD_SHARED) == LOST);
            return;
        }
        if (enter_word(&l, WF_HOLD_EXCLUSIVE) == MPI_SUCCESS) {
            RL_ASSERT(READER);
            leave_lock(&l, WF_HOLD_EXCLUSIVE);
        } else {
            RL_ASSERT(!READER);
        }
    }
};

/* Members 0 and 1 hold one lock each and want the other's, beside a writer of
 * both. */
struct two_locks : two_targets<two_locks> {
    void thread(unsigned me)
    {
        struct wf_rma_waiting w;
        struct wf_rma_lock a = all.seen_by(&w, me, true), l[2];

        if (me == 2) {
            for (int i = 0; i < 2; i++)
                lock_one(&a, me, i);
            return;
        }
        for (int i = 0; i < 2; i++)
            l[i] = target[(me + i) % 2].seen_by(&w, me, false);
        RL_ASSERT(wf_rma_lock(&a, &l[0], false, false) == MPI_SUCCESS);
        RL_ASSERT(wf_rma_lock(&a, &l[1], false, true) == MPI_SUCCESS);
        RL_ASSERT(data[0] + data[1] >= 0);
        wf_rma_unlock(&a, &l[1], false);
        wf_rma_unlock(&a, &l[0], false);
    }
};

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    return !(does_hold<one_lock>() && does_hold<two_levels>() &&
             does_hold<two_locks>() &&
             does_hold<holder_ends<false, false>>() &&
             does_hold<holder_ends<false, true>>() &&
             does_hold<holder_ends<true, false>>());
}
