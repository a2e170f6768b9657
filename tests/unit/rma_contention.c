/* Accumulates of many processes and threads at once (core/rma/atomic.h): none
 * is lost, and no element is read half written.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma_rig.h"

#include <pthread.h> /* rig_run_threads */

#include "datatype/op.h"
#include "datatype/predefined.h"
#include "rma/atomic.h"

enum { ROUNDS = 3000, READS = 100000, ARRAYS = 200, ARRAY = 700 };
/* Where the data of a test lie in the window. */
enum { AT_WORDS = 0, AT_APART = 1024 - 5, AT_WIDE = 4096, AT_ARRAY = 8192 };

/* The window is `bulk` in the second run of a test. */
static bool is_bulk;

static void add_one(const struct wf_rma_domain *d, MPI_Datatype type, void *at,
                    const void *one)
{
    struct wf_type *t = wf_type_of(type);
    struct wf_rma_side target = {at, t, 1}, origin = {(void *)one, t, 1};

    RIG_CHECK(wf_rma_accumulate(d, wf_op_of(MPI_SUM), &target, &origin) ==
              MPI_SUCCESS);
}

/* A counter by compare and swap. */
static void add_by_swap(const struct wf_rma_domain *d, void *at)
{
    uint32_t seen = 0, compare, value;
    struct wf_rma_swap swap = {&value, &compare, &seen};

    do {
        compare = seen;
        value = compare + 1;
        RIG_CHECK(wf_rma_compare_and_swap(d, wf_type_of(MPI_UINT32_T), at,
                                          &swap) == MPI_SUCCESS);
    } while (seen != compare);
}

static void add_to_all(struct rig_member *m)
{
    struct wf_rma_domain d = rig_domain(m->shared, m->me, is_bulk);
    char *words = m->shared->window + AT_WORDS;
    char *apart = m->shared->window + AT_APART;
    char *wide = m->shared->window + AT_WIDE;
    const uint64_t one = 1;
    const double one_d = 1, two_d[2] = {1, 2};
    const long double one_l = 1;

    for (int i = 0; i < ROUNDS; i++) {
        uint64_t old;

        add_one(&d, MPI_UINT8_T, words, &one);
        add_one(&d, MPI_UINT16_T, words + 2, &one);
        add_one(&d, MPI_UINT32_T, words + 4, &one);
        RIG_CHECK(wf_rma_fetch_and_op(&d, wf_op_of(MPI_SUM),
                                      wf_type_of(MPI_UINT64_T), words + 8, &one,
                                      &old) == MPI_SUCCESS);
        RIG_CHECK(wf_rma_fetch_and_op(&d, wf_op_of(MPI_BXOR),
                                      wf_type_of(MPI_UINT64_T), words + 16,
                                      &one, &old) == MPI_SUCCESS);
        add_by_swap(&d, words + 24);
        add_one(&d, MPI_DOUBLE, words + 32, &one_d);
        add_one(&d, MPI_C_DOUBLE_COMPLEX, wide, two_d);
        add_one(&d, MPI_LONG_DOUBLE, wide + 16, &one_l);
        /* not aligned, and over the end of a piece */
        add_one(&d, MPI_UINT64_T, apart, &one);
        add_one(&d, MPI_DOUBLE, apart + 16, &one_d);
        add_by_swap(&d, apart + 33);
    }
}

static void check_all(struct rig_shared *s, uint64_t n)
{
    char *words = s->window + AT_WORDS, *apart = s->window + AT_APART;
    uint64_t u64;
    uint32_t u32;
    uint16_t u16;
    double dbl[2];
    long double ld;

    assert_int_equal((uint8_t)words[0], (uint8_t)n);
    memcpy(&u16, words + 2, 2);
    assert_int_equal(u16, (uint16_t)n);
    memcpy(&u32, words + 4, 4);
    assert_int_equal(u32, n);
    memcpy(&u64, words + 8, 8);
    assert_int_equal(u64, n);
    memcpy(&u64, words + 16, 8);
    assert_int_equal(u64, n % 2);
    memcpy(&u32, words + 24, 4);
    assert_int_equal(u32, n);
    memcpy(dbl, words + 32, 8);
    assert_true(dbl[0] == (double)n);
    memcpy(dbl, s->window + AT_WIDE, 16);
    assert_true(dbl[0] == (double)n && dbl[1] == 2 * (double)n);
    memcpy(&ld, s->window + AT_WIDE + 16, sizeof ld);
    assert_true(ld == (long double)n);
    memcpy(&u64, apart, 8);
    assert_int_equal(u64, n);
    memcpy(dbl, apart + 16, 8);
    assert_true(dbl[0] == (double)n);
    memcpy(&u32, apart + 33, 4);
    assert_int_equal(u32, n);
}

static void sums_of_many_processes_are_exact(void **state)
{
    for (int i = 0; i < 2; i++) {
        struct rig_shared *s = rig_map();

        is_bulk = i;
        rig_run_processes(s, 4, add_to_all);
        check_all(s, 4 * ROUNDS);
        rig_unmap(s);
    }
}

static void sums_of_many_threads_are_exact(void **state)
{
    for (int i = 0; i < 2; i++) {
        struct rig_shared *s = rig_map();

        is_bulk = i;
        rig_run_threads(s, 3, add_to_all);
        check_all(s, 3 * ROUNDS);
        rig_unmap(s);
    }
}

/* Arrays over many pieces, from different offsets, beside single elements. */
static void add_arrays(struct rig_member *m)
{
    struct wf_rma_domain d = rig_domain(m->shared, m->me, false);
    static const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT64_T, MPI_FLOAT};
    double one[ARRAY];
    int64_t one_i[ARRAY];
    float one_f[ARRAY];
    void *ones[] = {one, one_i, one_f};

    for (int i = 0; i < ARRAY; i++) {
        one[i] = 1;
        one_i[i] = 1;
        one_f[i] = 1;
    }
    for (int i = 0; i < ARRAYS; i++)
        for (int k = 0; k < 3; k++) {
            struct wf_type *t = wf_type_of(types[k]);
            char *at = m->shared->window + AT_ARRAY * (k + 1);
            int64_t half = ARRAY / 2 * t->size;
            struct wf_rma_side whole = {at, t, ARRAY}, part = {at + half, t, 9};
            struct wf_rma_side origin = {ones[k], t, ARRAY};

            RIG_CHECK(wf_rma_accumulate(&d, wf_op_of(MPI_SUM), &whole,
                                        &origin) == MPI_SUCCESS);
            origin.count = 9;
            RIG_CHECK(wf_rma_accumulate(&d, wf_op_of(MPI_SUM), &part,
                                        &origin) == MPI_SUCCESS);
        }
}

static void check_arrays(struct rig_shared *s, int members)
{
    for (int i = 0; i < ARRAY; i++) {
        bool twice = i >= ARRAY / 2 && i < ARRAY / 2 + 9;
        int n = members * ARRAYS * (twice ? 2 : 1);

        assert_true(((double *)(void *)(s->window + AT_ARRAY))[i] == n);
        assert_int_equal(((int64_t *)(void *)(s->window + 2 * AT_ARRAY))[i], n);
        assert_true(((float *)(void *)(s->window + 3 * AT_ARRAY))[i] ==
                    (float)n);
    }
}

static void arrays_are_added_element_by_element(void **state)
{
    struct rig_shared *s = rig_map();

    rig_run_processes(s, 4, add_arrays);
    check_arrays(s, 4);
    memset(s->window, 0, sizeof s->window);
    rig_run_threads(s, 3, add_arrays);
    check_arrays(s, 3);
    rig_unmap(s);
}

/* Even members replace two halves that are equal, odd ones read. */
static void replace_or_read(struct rig_member *m)
{
    struct wf_rma_domain d = rig_domain(m->shared, m->me, false);
    struct wf_type *t = wf_type_of(MPI_C_DOUBLE_COMPLEX);
    char *at = m->shared->window + AT_WIDE;

    for (int i = 0; i < READS; i++) {
        double value[2] = {i + 0.5 * m->me, i + 0.5 * m->me}, seen[2];
        char *place = i % 2 ? at : at + 128 - 8; /* over two lines */

        if (m->me % 2 == 0) {
            RIG_CHECK(wf_rma_fetch_and_op(&d, wf_op_of(MPI_REPLACE), t, place,
                                          value, seen) == MPI_SUCCESS);
        } else {
            struct wf_rma_side target = {place, t, 1}, result = {seen, t, 1};

            RIG_CHECK(wf_rma_get_accumulate(&d, wf_op_of(MPI_NO_OP), &target,
                                            NULL, &result) == MPI_SUCCESS);
        }
        RIG_CHECK(seen[0] == seen[1]);
    }
}

static void nobody_reads_half_of_an_element(void **state)
{
    struct rig_shared *s = rig_map();

    rig_run_processes(s, 4, replace_or_read);
    rig_run_threads(s, 4, replace_or_read);
    rig_unmap(s);
}

/* One that is killed while others accumulate: they go on. */
static void add_until_stopped(struct rig_member *m)
{
    struct wf_rma_domain d = rig_domain(m->shared, m->me, false);
    const long double one = 1;

    (void)wf_add_acq_rel(&m->shared->entries, 1);
    while (!wf_load_acquire(&m->shared->stop))
        add_one(&d, MPI_LONG_DOUBLE, m->shared->window + AT_WIDE, &one);
}

static void stripes_outlive_their_owners(void **state)
{
    for (int round = 0; round < 30; round++) {
        struct rig_shared *s = rig_map();
        pid_t pids[3];
        int status;

        for (uint32_t i = 0; i < 3; i++)
            pids[i] = rig_fork(s, i, add_until_stopped);
        while (wf_load_acquire(&s->entries) < 3)
            sched_yield();
        for (int i = 0; i < round; i++)
            sched_yield();
        kill(pids[0], SIGKILL);
        assert_int_equal(waitpid(pids[0], &status, 0), pids[0]);
        wf_store_release(&s->gone[0], 1);
        wf_store_release(&s->stop, 1);
        rig_expect_exit(pids[1]);
        rig_expect_exit(pids[2]);
        rig_unmap(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_many_processes_are_exact),
        cmocka_unit_test(sums_of_many_threads_are_exact),
        cmocka_unit_test(arrays_are_added_element_by_element),
        cmocka_unit_test(nobody_reads_half_of_an_element),
        cmocka_unit_test(stripes_outlive_their_owners),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
