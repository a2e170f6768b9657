/* A receive that polls for its message where ranks outnumber CPUs gives its CPU away
 * between two looks (docs/design.md, "Waiting").
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "progress_rig.h"

enum { FEW = 8, LONG = 1000000000 /* ns */ };

static wf_atomic_u32 arrived;

static void begin_with(int ranks)
{
    options.spin = WF_AUTO;
    rig_open((struct wf_instance){.local_count = ranks}, 0);
    wf_progress_crowded(&wf); /* asked at the first wait */
    wf_store_relaxed(&arrived, 0);
}

/* Until it is time to wait in earnest. */
static void look_in_vain(void)
{
    int looks = 0;

    while (wf_progress_spin_on(&wf, &wf.eps[0], &arrived, &looks))
        ;
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
    begin_with(4);
    look_in_vain();
    assert_in_range(yields, 2, FEW);
    wf_progress_fini(&wf);
}

static void once_is_enough_for_a_message_that_came_meanwhile(void **state)
{
    begin_with(4);
    meanwhile = arrive;
    look_in_vain();
    assert_int_equal(yields, 1);
    wf_progress_fini(&wf);
}

static void not_again_beside_a_process_that_computes(void **state)
{
    begin_with(4);
    meanwhile = compute;
    look_in_vain();
    assert_int_equal(yields, 1);
    wf_progress_fini(&wf);
}

static void with_a_cpu_for_each_rank_nobody_gives_it_away(void **state)
{
    begin_with(2);
    look_in_vain();
    assert_int_equal(yields, 0);
    wf_progress_fini(&wf);
}

/* The section is not left here, and they may be waiting for it. */
static void nor_beside_threads(void **state)
{
    begin_with(4);
    wf.api.on = true;
    look_in_vain();
    assert_int_equal(yields, 0);
    wf.api.on = false;
    wf_progress_fini(&wf);
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
