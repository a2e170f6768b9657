/* Locks of windows in shared memory (core/rma/lock_word.h): who is inside with
 * whom, and in which order.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma_rig.h"

enum { ROUNDS = 2000, TARGETS = 3 };

/* The holders of a target's lock keep this in its window. */
struct inside {
    wf_atomic_u32 readers, writers;
    uint64_t plain; /* only the lock orders this */
};

static struct inside *inside_of(struct rig_member *m, uint32_t target)
{
    return (void *)(m->shared->window + 4096 * target);
}

static void enter_as_writer(struct inside *in)
{
    RIG_CHECK(wf_add_acq_rel(&in->writers, 1) == 0);
    RIG_CHECK(wf_load_relaxed(&in->readers) == 0);
    in->plain++;
}

static void leave_as_writer(struct inside *in)
{
    wf_add_acq_rel(&in->writers, UINT32_MAX);
}

static void enter_as_reader(struct inside *in)
{
    wf_add_acq_rel(&in->readers, 1);
    RIG_CHECK(wf_load_relaxed(&in->writers) == 0);
    (void)*(volatile uint64_t *)&in->plain;
}

static void leave_as_reader(struct inside *in)
{
    wf_add_acq_rel(&in->readers, UINT32_MAX);
}

/* ---- exclusion and order ------------------------------------------------- */

/* Counts an entry, and checks how many were counted since the member stood in
 * the queue: one who stood there before enters once, and one who was inside may
 * count itself late. Beside a reader other readers enter, but no writer. */
static void check_order(struct rig_member *m, bool exclusive)
{
    struct rig_shared *s = m->shared;
    uint32_t now = wf_add_acq_rel(&s->entries, 1), writers;

    writers = exclusive ? wf_add_acq_rel(&s->exclusive_entries, 1)
                        : wf_load_acquire(&s->exclusive_entries);
    if (m->waited && exclusive)
        RIG_CHECK(now - m->first_wait <= 2 * (RIG_MEMBERS - 1));
    if (m->waited)
        RIG_CHECK(writers - m->first_exclusive <= RIG_MEMBERS - 1);
    m->waited = false;
}

static void use_one_lock(struct rig_member *m)
{
    struct wf_rma_lock l = rig_lock(m, 1);
    struct inside *in = inside_of(m, 1);
    uint64_t seed = 88172645463325252u + m->me, writes = 0;

    for (int i = 0; i < ROUNDS; i++) {
        bool exclusive = rig_random(&seed) % 3 == 0;
        enum wf_hold_kind kind = exclusive ? WF_HOLD_EXCLUSIVE : WF_HOLD_SHARED;

        if (rig_random(&seed) % 8 || !wf_lock_word_try(&l, kind))
            RIG_CHECK(wf_lock_word_enter(&l, kind) == MPI_SUCCESS);
        check_order(m, exclusive);
        (exclusive ? enter_as_writer : enter_as_reader)(in);
        if (rig_random(&seed) % 16 == 0)
            sched_yield();
        writes += exclusive;
        (exclusive ? leave_as_writer : leave_as_reader)(in);
        wf_lock_word_leave(&l, kind);
    }
    (void)wf_add_acq_rel(&m->shared->sum, writes);
}

static void check_one_lock(struct rig_shared *s)
{
    struct inside *in = (void *)(s->window + 4096);

    assert_int_equal(in->plain, wf_load_relaxed(&s->sum));
    assert_int_equal(wf_load_relaxed(&rig_header(s, 1)->lock.state), 0);
    assert_int_equal(wf_load_relaxed(&rig_header(s, 1)->lock.failed), 0);
}

static void readers_and_writers_exclude_each_other(void **state)
{
    struct rig_shared *s = rig_map();

    rig_run_processes(s, RIG_MEMBERS, use_one_lock);
    check_one_lock(s);
    rig_unmap(s);
}

static void threads_exclude_each_other_as_well(void **state)
{
    struct rig_shared *s = rig_map();

    rig_run_threads(s, 4, use_one_lock);
    check_one_lock(s);
    rig_unmap(s);
}

/* Everybody who waits writes, and holds the lock until somebody else waits, so
 * that all waits are full ones. */
static void wait_in_turn(struct rig_member *m)
{
    struct wf_rma_lock l = rig_lock(m, 0);
    uint32_t longest = 0, waits = 0;
    uint64_t all = 0;

    (void)wf_add_acq_rel(&m->shared->sum, 1);
    while (wf_load_acquire(&m->shared->sum) < RIG_MEMBERS)
        sched_yield();
    for (int i = 0; i < ROUNDS / 4; i++) {
        uint32_t now, passed;

        RIG_CHECK(wf_lock_word_enter(&l, WF_HOLD_EXCLUSIVE) == MPI_SUCCESS);
        now = wf_add_acq_rel(&m->shared->entries, 1);
        passed = now - m->first_wait;
        if (m->waited) {
            longest = passed > longest ? passed : longest;
            all += passed + 1;
            waits++;
        }
        m->waited = false;
        /* the last one finds nobody, and does not wait for ever */
        for (int k = 0; k < 1000 && !(wf_load_relaxed(&l.word->state) >> 48);
             k++)
            sched_yield();
        wf_lock_word_leave(&l, WF_HOLD_EXCLUSIVE);
    }
    RIG_CHECK(longest < RIG_MEMBERS);
    if (waits)
        RIG_CHECK(longest <= 4 * (all + waits - 1) / waits);
}

static void nobody_waits_longer_than_its_turn(void **state)
{
    struct rig_shared *s = rig_map();

    rig_run_processes(s, RIG_MEMBERS, wait_in_turn);
    rig_unmap(s);
}

/* ---- two levels ---------------------------------------------------------- */

static void use_all_levels(struct rig_member *m)
{
    struct wf_rma_lock all = rig_all(m), l;
    uint64_t seed = 88172645463325252u + m->me, writes = 0;

    for (int i = 0; i < ROUNDS / 2; i++) {
        uint32_t target = rig_random(&seed) % TARGETS;
        int how = rig_random(&seed) % 4;

        l = rig_lock(m, target);
        if (how == 0) {
            RIG_CHECK(wf_rma_lock_all(&all) == MPI_SUCCESS);
            for (uint32_t t = 0; t < TARGETS; t++)
                enter_as_reader(inside_of(m, t));
            for (uint32_t t = 0; t < TARGETS; t++)
                leave_as_reader(inside_of(m, t));
            wf_rma_unlock_all(&all);
            continue;
        }
        if (!wf_rma_try_lock(&all, &l, how == 1))
            RIG_CHECK(wf_rma_lock(&all, &l, how == 1, false) == MPI_SUCCESS);
        (how == 1 ? enter_as_writer : enter_as_reader)(inside_of(m, target));
        if (rig_random(&seed) % 16 == 0)
            sched_yield();
        (how == 1 ? leave_as_writer : leave_as_reader)(inside_of(m, target));
        wf_rma_unlock(&all, &l, how == 1);
        writes += how == 1;
    }
    (void)wf_add_acq_rel(&m->shared->sum, writes);
}

static void check_all_levels(struct rig_shared *s)
{
    uint64_t writes = 0;

    for (uint32_t t = 0; t < TARGETS; t++) {
        writes += ((struct inside *)(void *)(s->window + 4096 * t))->plain;
        assert_int_equal(wf_load_relaxed(&rig_header(s, t)->lock.state), 0);
    }
    assert_int_equal(writes, wf_load_relaxed(&s->sum));
    assert_int_equal(wf_load_relaxed(&rig_header(s, 0)->all.state), 0);
}

static void lock_all_excludes_every_exclusive_lock(void **state)
{
    struct rig_shared *s = rig_map();

    rig_run_processes(s, RIG_MEMBERS, use_all_levels);
    check_all_levels(s);
    memset(s->window, 0, sizeof s->window);
    wf_store_relaxed(&s->sum, 0);
    rig_run_threads(s, 4, use_all_levels);
    check_all_levels(s);
    rig_unmap(s);
}

static void wait_for_lock_all(struct rig_member *m)
{
    struct wf_rma_lock all = rig_all(m);

    RIG_CHECK(wf_rma_lock_all(&all) == MPI_SUCCESS);
    wf_rma_unlock_all(&all);
}

/* Member 1 waits with lock_all; member 0, for whose lock it waits, takes one
 * more. */
static void a_second_exclusive_lock_passes_who_waits_for_the_first(void **state)
{
    struct rig_shared *s = rig_map();
    struct rig_member m;
    struct wf_rma_lock all, one, two;
    pid_t pid;

    rig_join(&m, s, 0);
    all = rig_all(&m);
    one = rig_lock(&m, 1);
    two = rig_lock(&m, 2);
    assert_int_equal(wf_rma_lock(&all, &one, true, false), MPI_SUCCESS);
    pid = rig_fork(s, 1, wait_for_lock_all);
    while (!(wf_load_relaxed(&all.word->state) >> 48))
        sched_yield();
    assert_int_equal(wf_rma_lock(&all, &two, true, false), MPI_SUCCESS);
    wf_rma_unlock(&all, &one, true);
    wf_rma_unlock(&all, &two, true);
    rig_expect_exit(pid);
    rig_unmap(s);
}

/* ---- two locks at once --------------------------------------------------- */

/* Takes two locks in an order of its own, beside writers of both. */
static void hold_two_shared(struct rig_member *m)
{
    struct wf_rma_lock all = rig_all(m), l[2];
    uint64_t seed = 88172645463325252u + m->me;

    for (int i = 0; i < ROUNDS; i++) {
        int first = rig_random(&seed) % 2;
        bool writes = m->me >= 2;

        l[0] = rig_lock(m, (uint32_t)first);
        l[1] = rig_lock(m, (uint32_t)!first);
        RIG_CHECK(wf_rma_lock(&all, &l[0], writes, false) == MPI_SUCCESS);
        (writes ? enter_as_writer
                : enter_as_reader)(inside_of(m, (uint32_t)first));
        if (!writes) {
            sched_yield();
            RIG_CHECK(wf_rma_lock(&all, &l[1], false, true) == MPI_SUCCESS);
            enter_as_reader(inside_of(m, (uint32_t)!first));
            leave_as_reader(inside_of(m, (uint32_t)!first));
            wf_rma_unlock(&all, &l[1], false);
        }
        (writes ? leave_as_writer
                : leave_as_reader)(inside_of(m, (uint32_t)first));
        wf_rma_unlock(&all, &l[0], writes);
    }
}

static void two_shared_locks_in_any_order_end(void **state)
{
    struct rig_shared *s = rig_map();

    rig_run_processes(s, 4, hold_two_shared);
    for (uint32_t t = 0; t < 2; t++)
        assert_int_equal(wf_load_relaxed(&rig_header(s, t)->lock.state), 0);
    rig_unmap(s);
}

/* Member 1 holds a shared lock and wants an exclusive one, while one who waits
 * with lock_all stands before it, and the holder of an exclusive lock wants
 * that shared one. */
static void wait_for_announced(struct rig_member *m)
{
    struct wf_rma_lock all = rig_all(m), one = rig_lock(m, 1);
    struct wf_rma_lock two = rig_lock(m, 2);

    RIG_CHECK(wf_rma_lock(&all, &one, false, false) == MPI_SUCCESS);
    wf_store_release(&m->shared->stop, 1);
    while (!(wf_load_relaxed(&all.word->state) >> 48))
        sched_yield();
    RIG_CHECK(wf_rma_lock(&all, &two, true, true) == MPI_SUCCESS);
    wf_rma_unlock(&all, &two, true);
    wf_rma_unlock(&all, &one, false);
}

static void an_exclusive_lock_beside_a_shared_one_ends(void **state)
{
    struct rig_shared *s = rig_map();
    struct wf_rma_lock all, three, one;
    struct rig_member m;
    pid_t pids[2];

    rig_join(&m, s, 0);
    all = rig_all(&m);
    three = rig_lock(&m, 3);
    one = rig_lock(&m, 1);
    assert_int_equal(wf_rma_lock(&all, &three, true, false), MPI_SUCCESS);
    pids[0] = rig_fork(s, 1, wait_for_announced);
    while (!wf_load_acquire(&s->stop))
        sched_yield();
    pids[1] = rig_fork(s, 2, wait_for_lock_all);
    assert_int_equal(wf_rma_lock(&all, &one, true, true), MPI_SUCCESS);
    wf_rma_unlock(&all, &one, true);
    wf_rma_unlock(&all, &three, true);
    rig_expect_exit(pids[0]);
    rig_expect_exit(pids[1]);
    assert_int_equal(wf_load_relaxed(&all.word->state), 0);
    rig_unmap(s);
}

/* A hold that is reserved among lock_all and its queue. */
static void reserve_announced(struct rig_member *m)
{
    struct wf_rma_lock all = rig_all(m), one = rig_lock(m, 1);
    struct wf_rma_lock two = rig_lock(m, 2);

    for (int i = 0; i < ROUNDS / 2; i++) {
        if (m->me % 2) {
            RIG_CHECK(wf_rma_lock_all(&all) == MPI_SUCCESS);
            enter_as_reader(inside_of(m, 2));
            leave_as_reader(inside_of(m, 2));
            wf_rma_unlock_all(&all);
            continue;
        }
        RIG_CHECK(wf_rma_lock(&all, &one, false, false) == MPI_SUCCESS);
        RIG_CHECK(wf_rma_lock(&all, &two, true, true) == MPI_SUCCESS);
        enter_as_writer(inside_of(m, 2));
        leave_as_writer(inside_of(m, 2));
        wf_rma_unlock(&all, &two, true);
        wf_rma_unlock(&all, &one, false);
    }
}

static void a_reserved_hold_excludes_lock_all(void **state)
{
    struct rig_shared *s = rig_map();

    rig_run_processes(s, 6, reserve_announced);
    assert_int_equal(wf_load_relaxed(&rig_header(s, 0)->all.state), 0);
    rig_run_threads(s, 4, reserve_announced);
    assert_int_equal(wf_load_relaxed(&rig_header(s, 0)->all.state), 0);
    rig_unmap(s);
}

/* ---- threads of one member ----------------------------------------------- */

struct thread_of_member {
    struct rig_member member;
    uint32_t target;
    int rc;
};

static void *lock_for_member(void *arg)
{
    struct thread_of_member *t = arg;
    struct wf_rma_lock all = rig_all(&t->member);
    struct wf_rma_lock l = rig_lock(&t->member, t->target);

    t->rc = wf_rma_lock(&all, &l, true, false);
    return NULL;
}

/* Two threads of a member wait at the same time: one stands in the queue of the
 * window-wide lock for both. */
static void two_threads_of_a_member_wait(void **state)
{
    struct rig_shared *s = rig_map();
    struct thread_of_member t[2];
    struct wf_rma_lock all, l;
    struct rig_member m;
    pthread_t threads[2];

    rig_join(&m, s, 0);
    all = rig_all(&m);
    assert_int_equal(wf_rma_lock_all(&all), MPI_SUCCESS);
    for (uint32_t i = 0; i < 2; i++) {
        rig_join(&t[i].member, s, 1);
        t[i].target = i + 1;
        pthread_create(&threads[i], NULL, lock_for_member, &t[i]);
        while (wf_load_acquire(&all.nodes[1].busy) != i + 1)
            sched_yield();
    }
    wf_rma_unlock_all(&all);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(t[i].rc, MPI_SUCCESS);
    }
    assert_int_equal(wf_load_relaxed(&all.word->state), 1 << 16);
    all = rig_all(&t[0].member);
    for (int i = 0; i < 2; i++) {
        l = rig_lock(&t[i].member, t[i].target);
        wf_rma_unlock(&all, &l, true);
    }
    assert_int_equal(wf_load_relaxed(&all.word->state), 0);
    rig_unmap(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_and_writers_exclude_each_other),
        cmocka_unit_test(threads_exclude_each_other_as_well),
        cmocka_unit_test(nobody_waits_longer_than_its_turn),
        cmocka_unit_test(lock_all_excludes_every_exclusive_lock),
        cmocka_unit_test(
            a_second_exclusive_lock_passes_who_waits_for_the_first),
        cmocka_unit_test(two_shared_locks_in_any_order_end),
        cmocka_unit_test(an_exclusive_lock_beside_a_shared_one_ends),
        cmocka_unit_test(a_reserved_hold_excludes_lock_all),
        cmocka_unit_test(two_threads_of_a_member_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
