/* A receive that polls for its message where ranks outnumber CPUs gives its CPU away
 * between two looks (docs/design.md, "Waiting").
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "progress_rig.h"

enum { FEW = 8, LONG = 1000000000 /* ns */ };

static wf_atomic_u32 arrived;

/* How often the CPU is given away in vain, until it is time to wait in earnest;
 * others do what they do meanwhile. */
static int times_given_away(int ranks, bool threads, void (*others)(void))
{
    int looks = 0;

    options.spin = WF_AUTO;
    rig_open((struct wf_instance){.local_count = ranks}, 0);
    wf_progress_crowded(&wf); /* asked at the first wait */
    wf_store_relaxed(&arrived, 0);
    meanwhile = others;
    wf.api.on = threads;
    while (wf_progress_spin_on(&wf, &wf.eps[0], &arrived, &looks))
        ;
    wf.api.on = false;
    wf_progress_fini(&wf);
    return yields;
}

static void arrive(void)
{
    wf_store_relaxed(&arrived, 1);
}

static void compute(void)
{
    now += LONG;
}

static void the_cpu_is_given_away_a_few_times(void **state)
{
    assert_in_range(times_given_away(4, false, NULL), 2, FEW);
}

static void once_is_enough_for_a_message_that_came_meanwhile(void **state)
{
    assert_int_equal(times_given_away(4, false, arrive), 1);
}

static void not_again_beside_a_process_that_computes(void **state)
{
    assert_int_equal(times_given_away(4, false, compute), 1);
}

static void with_a_cpu_for_each_rank_nobody_gives_it_away(void **state)
{
    assert_int_equal(times_given_away(2, false, NULL), 0);
}

/* The section is not left here, and they may be waiting for it. */
static void nor_beside_threads(void **state)
{
    assert_int_equal(times_given_away(4, true, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cpu_is_given_away_a_few_times),
        cmocka_unit_test(once_is_enough_for_a_message_that_came_meanwhile),
        cmocka_unit_test(not_again_beside_a_process_that_computes),
        cmocka_unit_test(with_a_cpu_for_each_rank_nobody_gives_it_away),
        cmocka_unit_test(nor_beside_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
