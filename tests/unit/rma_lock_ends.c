/* Locks of windows in shared memory (core/rma/lock_word.h) when a member ends
 * that holds one or waits for it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma_rig.h"

enum { KILLS = 60 };

static void hold_until_killed(struct rig_member *m, enum wf_hold_kind kind)
{
    struct wf_rma_lock l = rig_lock(m, 0);

    RIG_CHECK(wf_lock_word_enter(&l, kind) == MPI_SUCCESS);
    raise(SIGKILL);
}

static void die_as_writer(struct rig_member *m)
{
    hold_until_killed(m, WF_HOLD_EXCLUSIVE);
}

static void die_as_reader(struct rig_member *m)
{
    hold_until_killed(m, WF_HOLD_SHARED);
}

static void die_with_both_levels(struct rig_member *m)
{
    struct wf_rma_lock all = rig_all(m), l = rig_lock(m, 2);

    RIG_CHECK(wf_rma_lock(&all, &l, true, false) == MPI_SUCCESS);
    raise(SIGKILL);
}

static void wait_and_be_told(struct rig_member *m)
{
    struct wf_rma_lock l = rig_lock(m, 0);

    RIG_CHECK(wf_lock_word_enter(&l, WF_HOLD_EXCLUSIVE) ==
              MPI_ERR_PROC_ABORTED);
    RIG_CHECK(wf_lock_word_enter(&l, WF_HOLD_SHARED) == MPI_ERR_PROC_ABORTED);
}

static void wait_and_enter(struct rig_member *m)
{
    struct wf_rma_lock l = rig_lock(m, 0);

    RIG_CHECK(wf_lock_word_enter(&l, WF_HOLD_EXCLUSIVE) == MPI_SUCCESS);
    wf_lock_word_leave(&l, WF_HOLD_EXCLUSIVE);
}

static void expect_kill(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void await_tail(const struct wf_rma_lock *l, uint32_t member)
{
    while (wf_load_relaxed(&l->word->state) >> 48 != member + 1)
        sched_yield();
}

static void who_waits_for_a_dead_writer_is_told(void **state)
{
    struct rig_shared *s = rig_map();
    struct rig_member m;
    struct wf_rma_lock l;
    pid_t waits[2];

    rig_join(&m, s, 3);
    l = rig_lock(&m, 0);
    expect_kill(rig_fork(s, 0, die_as_writer));
    waits[0] = rig_fork(s, 1, wait_and_be_told);
    await_tail(&l, 1);
    waits[1] = rig_fork(s, 2, wait_and_be_told);
    await_tail(&l, 2);
    wf_lock_word_fail_owner(&l, 0);
    wf_lock_word_fail_owner(&l, 0); /* others find it, too */
    rig_expect_exit(waits[0]);
    rig_expect_exit(waits[1]);
    rig_unmap(s);
}

static void a_dead_reader_is_taken_out(void **state)
{
    struct rig_shared *s = rig_map();
    struct rig_member m;
    struct wf_rma_lock l;
    pid_t waits;

    rig_join(&m, s, 3);
    l = rig_lock(&m, 0);
    assert_int_equal(wf_lock_word_enter(&l, WF_HOLD_SHARED), MPI_SUCCESS);
    expect_kill(rig_fork(s, 0, die_as_reader));
    waits = rig_fork(s, 1, wait_and_enter);
    await_tail(&l, 1);
    wf_lock_word_fail_owner(&l, 0);
    wf_lock_word_fail_owner(&l, 0);
    assert_int_equal(wf_load_relaxed(&l.word->state) & 0xffff, 1);
    wf_lock_word_leave(&l, WF_HOLD_SHARED);
    rig_expect_exit(waits);
    assert_int_equal(wf_load_relaxed(&l.word->state), 0);
    rig_unmap(s);
}

static void who_waits_behind_a_dead_waiter_is_told(void **state)
{
    struct rig_shared *s = rig_map();
    struct rig_member m;
    struct wf_rma_lock l;
    pid_t dies, waits;

    rig_join(&m, s, 3);
    l = rig_lock(&m, 0);
    assert_int_equal(wf_lock_word_enter(&l, WF_HOLD_SHARED), MPI_SUCCESS);
    dies = rig_fork(s, 0, die_as_writer);
    await_tail(&l, 0);
    waits = rig_fork(s, 1, wait_and_be_told);
    await_tail(&l, 1);
    kill(dies, SIGKILL);
    expect_kill(dies);
    wf_lock_word_fail_owner(&l, 0);
    rig_expect_exit(waits);
    wf_lock_word_leave(&l, WF_HOLD_SHARED);
    rig_unmap(s);
}

static void a_dead_exclusive_holder_fails_lock_all(void **state)
{
    struct rig_shared *s = rig_map();
    struct rig_member m;
    struct wf_rma_lock all, one, two;

    rig_join(&m, s, 3);
    all = rig_all(&m);
    one = rig_lock(&m, 1);
    two = rig_lock(&m, 2);
    expect_kill(rig_fork(s, 0, die_with_both_levels));
    wf_lock_word_fail_owner(&all, 0);
    wf_lock_word_fail_owner(&two, 0);
    assert_int_equal(wf_rma_lock_all(&all), MPI_ERR_PROC_ABORTED);
    assert_int_equal(wf_rma_lock(&all, &two, true, false),
                     MPI_ERR_PROC_ABORTED);
    assert_int_equal(wf_rma_lock(&all, &one, true, false), MPI_SUCCESS);
    wf_rma_unlock(&all, &one, true);
    rig_unmap(s);
}

/* Locks of all kinds until the rig stops or an end is told. */
static void lock_until_stopped(struct rig_member *m)
{
    struct wf_rma_lock all = rig_all(m), l = rig_lock(m, 1);
    uint64_t seed = 88172645463325252u + m->me + (uint64_t)getpid();
    int rc = MPI_SUCCESS;

    (void)wf_add_acq_rel(&m->shared->entries, 1);
    while (!rc && !wf_load_acquire(&m->shared->stop)) {
        int how = rig_random(&seed) % 4;

        rc = how == 0 ? wf_rma_lock_all(&all)
                      : wf_rma_lock(&all, &l, how == 1, false);
        if (rc)
            break;
        if (how == 0)
            wf_rma_unlock_all(&all);
        else
            wf_rma_unlock(&all, &l, how == 1);
    }
    RIG_CHECK(rc == MPI_SUCCESS || rc == MPI_ERR_PROC_ABORTED);
}

/* Wherever a member ends, none waits for ever. */
static void a_member_may_end_anywhere(void **state)
{
    enum { N = 4 };
    uint64_t seed = 4711;

    for (int round = 0; round < KILLS; round++) {
        struct rig_shared *s = rig_map();
        struct rig_member m;
        struct wf_rma_lock all, l;
        pid_t pids[N];

        rig_join(&m, s, N);
        all = rig_all(&m);
        l = rig_lock(&m, 1);
        for (uint32_t i = 0; i < N; i++)
            pids[i] = rig_fork(s, i, lock_until_stopped);
        while (wf_load_acquire(&s->entries) < N)
            sched_yield();
        for (uint64_t i = rig_random(&seed) % 200; i > 0; i--)
            sched_yield();
        kill(pids[0], SIGKILL);
        expect_kill(pids[0]);
        wf_lock_word_fail_owner(&all, 0);
        wf_lock_word_fail_owner(&l, 0);
        wf_store_release(&s->stop, 1);
        for (int i = 1; i < N; i++)
            rig_expect_exit(pids[i]);
        rig_unmap(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_for_a_dead_writer_is_told),
        cmocka_unit_test(a_dead_reader_is_taken_out),
        cmocka_unit_test(who_waits_behind_a_dead_waiter_is_told),
        cmocka_unit_test(a_dead_exclusive_holder_fails_lock_all),
        cmocka_unit_test(a_member_may_end_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
