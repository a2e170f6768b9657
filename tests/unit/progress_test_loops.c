/* MPI_Test, MPI_Iprobe and their like in a loop: where ranks outnumber CPUs
 * such a program gives its CPU away (docs/internals/progress-and-wakeups.md).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/config.h"
#include "process/rank.h"
#include "progress/wait.h"
#include "progress_rig.h"

enum { TESTS = 1000, QUICK = 100, SLOW = 1000000 /* ns */ };

static void begin_with(int ranks)
{
    options.spin = WF_AUTO;
    rig_open((struct wf_rank){.local_count = (uint32_t)ranks}, 0);
}

/* apart: ns between two tests, what the program does meanwhile */
static void test_in_vain(int times, unsigned apart)
{
    for (int i = 0; i < times; i++) {
        now += apart;
        wf_progress_poll_for_test(&wf, UINT32_MAX, NULL);
    }
}

static void a_loop_of_tests_gives_the_cpu_away(void **state)
{
    begin_with(4);
    test_in_vain(TESTS, QUICK);
    assert_in_range(yields, TESTS - 32, TESTS);
    wf_progress_fini(&wf);
}

static void a_few_tests_do_not(void **state)
{
    begin_with(4);
    for (int i = 0; i < TESTS; i++) {
        fabric.found = 1;
        test_in_vain(4, QUICK);
    }
    assert_int_equal(yields, 0);
    wf_progress_fini(&wf);
}

static void a_rank_that_computes_between_tests_keeps_the_cpu(void **state)
{
    begin_with(4);
    test_in_vain(TESTS, SLOW);
    assert_int_equal(yields, 0);
    wf_progress_fini(&wf);
}

static void with_a_cpu_for_each_rank_there_is_no_yield(void **state)
{
    begin_with(1);
    test_in_vain(TESTS, QUICK);
    assert_int_equal(yields, 0);
    wf_progress_fini(&wf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_of_tests_gives_the_cpu_away),
        cmocka_unit_test(a_few_tests_do_not),
        cmocka_unit_test(a_rank_that_computes_between_tests_keeps_the_cpu),
        cmocka_unit_test(with_a_cpu_for_each_rank_there_is_no_yield),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
