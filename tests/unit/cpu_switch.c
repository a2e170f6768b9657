/* A thread changes its processor, and keeps the right to all it had.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "os/cpu.h"

/* On a busy machine the scheduler may bring it back at once. */
static void the_thread_runs_on_another_cpu_afterwards(void **state)
{
    cpu_set_t all;
    int moved = 0;

    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) < 2) {
        print_message("one processor: nowhere to go\n");
        skip();
    }
    for (int i = 0; i < 1000 && !moved; i++) {
        int before = sched_getcpu();
        wf_cpu_leave();
        moved = sched_getcpu() != before;
    }
    assert_true(moved);
}

static void the_processors_it_may_use_stay_the_same(void **state)
{
    cpu_set_t before, after;

    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    wf_cpu_leave();
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
}

static void a_bound_thread_stays(void **state)
{
    cpu_set_t all, one, after;
    int here = sched_getcpu();

    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    CPU_SET(here, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    wf_cpu_leave();
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&one, &after));
    assert_int_equal(sched_getcpu(), here);
    sched_setaffinity(0, sizeof all, &all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_thread_runs_on_another_cpu_afterwards),
        cmocka_unit_test(the_processors_it_may_use_stay_the_same),
        cmocka_unit_test(a_bound_thread_stays)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
