/* MPI_Test, MPI_Iprobe and their like in a loop: where ranks outnumber CPUs such
 * a program gives its CPU away (docs/design.md, "Waiting").
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "progress/wait.h"
#include "protocol/queues.h"

enum { TESTS = 1000, QUICK = 100, SLOW = 1000000 /* ns */ };

struct weft_ep {
    int found; /* at the next poll */
};

static weft_ep fabric;
static struct wf_instance wf;
static struct wf_core_options options;
static uint64_t now;
static int yields;

/* In the place of the C library's. */
int sched_yield(void)
{
    yields++;
    return 0;
}

static uint64_t clock_now(void *clock)
{
    return now;
}

static int poll_once(weft_ep *ep, int budget)
{
    int found = ep->found;

    ep->found = 0;
    return found;
}

static const weft_ops ops = {.size = sizeof ops, .progress = poll_once};

static void begin_with(int ranks)
{
    options.spin = WF_AUTO;
    wf = (struct wf_instance){.options = &options,
                              .ep_count = 1,
                              .cpus = 2,
                              .local_count = ranks,
                              .now_ns = clock_now};
    fabric.found = yields = 0;
    assert_int_equal(wf_progress_init(&wf), 0);
    wf.eps[0].ops = &ops;
    wf.eps[0].wf = &wf;
    wf.eps[0].ep = &fabric;
    assert_int_equal(wf_progress_add(&wf, &wf.eps[0]), 0);
}

/* apart: ns between two tests, what the program does meanwhile */
static void test_in_vain(int times, unsigned apart)
{
    for (int i = 0; i < times; i++) {
        now += apart;
        wf_progress_test(&wf, UINT32_MAX);
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

static void who_computes_between_tests_keeps_the_cpu(void **state)
{
    begin_with(4);
    test_in_vain(TESTS, SLOW);
    assert_int_equal(yields, 0);
    wf_progress_fini(&wf);
}

static void with_a_cpu_for_each_rank_nobody_gives_it_away(void **state)
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
        cmocka_unit_test(who_computes_between_tests_keeps_the_cpu),
        cmocka_unit_test(with_a_cpu_for_each_rank_nobody_gives_it_away),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
