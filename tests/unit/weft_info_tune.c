/* weft-info --tune: what is chosen from measurements that are given here.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tools/weft-info/tune.c"
#include "tools/weft-info/tune_trial.c"

/* A trial of one size whose rounds took so long. */
static struct trial elapsed_time(int rounds, const double *us)
{
    struct trial t = {.kind = {"pong", 8, 8, 2}, .rounds = rounds};
    for (int r = 0; r < rounds; r++)
        t.us[r][0] = us[r];
    return t;
}

static void a_value_that_is_better_in_every_round_is_chosen(void **state)
{
    struct trial t[2] = {elapsed_time(3, (double[]){10, 11, 12}),
                         elapsed_time(3, (double[]){9, 9, 9})};
    assert_int_equal(tune_best(t, 2, 0.05), 1);
}

static void the_built_in_value_stays_when_little_is_gained(void **state)
{
    struct trial t[2] = {elapsed_time(3, (double[]){10, 10, 10}),
                         elapsed_time(3, (double[]){9.6, 9.6, 9.6})};
    assert_int_equal(tune_best(t, 2, 0.05), 0);
}

static void the_built_in_value_stays_when_one_round_disagrees(void **state)
{
    struct trial t[2] = {elapsed_time(3, (double[]){10, 10, 10}),
                         elapsed_time(3, (double[]){5, 11, 5})};
    assert_int_equal(tune_best(t, 2, 0.05), 0);
}

static void the_built_in_value_stays_after_too_few_rounds(void **state)
{
    struct trial t[2] = {elapsed_time(2, (double[]){10, 10}),
                         elapsed_time(2, (double[]){5, 5})};
    assert_int_equal(tune_best(t, 2, 0.05), 0);
}

static void a_value_that_cannot_be_set_is_not_chosen(void **state)
{
    struct trial t[2] = {elapsed_time(3, (double[]){10, 10, 10}),
                         elapsed_time(0, NULL)};
    assert_int_equal(tune_best(t, 2, 0.05), 0);
}

static void rounds_that_agree_are_of_a_quiet_machine(void **state)
{
    struct trial t[3] = {elapsed_time(5, (double[]){10, 10.5, 10, 30, 10}),
                         elapsed_time(5, (double[]){7, 7, 7.7, 7, 7.7}),
                         elapsed_time(0, NULL)};
    assert_true(tune_spread(t, 3) < loaded_spread); /* one outlier is nothing */
}

static void rounds_that_differ_are_of_a_busy_machine(void **state)
{
    struct trial t[3] = {elapsed_time(5, (double[]){10, 16, 9, 30, 12}),
                         elapsed_time(3, (double[]){7, 9, 12}),
                         elapsed_time(5, (double[]){5, 5, 8, 8, 20})};
    assert_true(tune_spread(t, 3) > loaded_spread);
}

static void one_restless_trial_is_no_busy_machine(void **state)
{
    struct trial t[3] = {elapsed_time(3, (double[]){10, 20, 30}),
                         elapsed_time(3, (double[]){7, 7, 7.1}),
                         elapsed_time(3, (double[]){5, 5.2, 5})};
    assert_true(tune_spread(t, 3) < loaded_spread);
}

static void too_few_rounds_tell_nothing_of_the_machine(void **state)
{
    struct trial t = elapsed_time(2, (double[]){10, 30});
    assert_true(tune_spread(&t, 1) == 0);
}

/* A busy machine gets one sentence, and no line that is a setting. */
static void a_busy_machine_gets_no_value(void **state)
{
    static struct tuning t;
    char text[4096] = "";
    FILE *out = tmpfile();
    int saved = dup(1), rc;
    assert_non_null(out);
    plan_trials(&t);
    for (int i = 0; i < t.count; i++) {
        t.trial[i].rounds = 5;
        for (int r = 0; r < 5; r++)
            for (int s = 0; s < TUNE_SIZES; s++)
                t.trial[i].us[r][s] = 1 + r;
    }
    fflush(stdout);
    assert_true(dup2(fileno(out), 1) == 1);
    rc = print_result(&t);
    fflush(stdout);
    dup2(saved, 1);
    rewind(out);
    assert_int_equal(rc, 1);
    assert_true(fread(text, 1, sizeof text - 1, out) > 0);
    fclose(out);
    assert_non_null(strstr(text, "this machine is busy"));
    assert_null(strchr(text, '='));
    assert_null(strchr(text, '['));
}

/* Four sizes, one round. */
static struct trial over_sizes(const double *us)
{
    struct trial t = {.kind = {"pong", 1, 8, 2}, .rounds = 1};
    memcpy(t.us[0], us, 4 * sizeof *us);
    return t;
}

static int find_crossover(const double *eager, const double *asking, int now)
{
    struct trial e = over_sizes(eager), a = over_sizes(asking);
    return tune_crossover(&e, &a, now, 0.05);
}

static void eager_ends_where_asking_first_becomes_faster(void **state)
{
    const double eager[] = {1, 1, 1, 9}, asking[] = {2, 2, 2, 2};
    assert_int_equal(find_crossover(eager, asking, 0), 2);
    assert_int_equal(find_crossover(eager, asking, 3), 2);
}

static void one_odd_size_does_not_end_eager(void **state)
{
    const double eager[] = {1, 2.1, 1, 1}, asking[] = {2, 2, 2, 2};
    assert_int_equal(find_crossover(eager, asking, 0), 3);
}

static void the_limit_stays_when_both_take_as_long(void **state)
{
    const double eager[] = {2, 2, 2, 2}, asking[] = {2, 2.01, 2, 2.01};
    assert_int_equal(find_crossover(eager, asking, 1), 1);
}

static void a_larger_limit_needs_a_gain_at_each_size(void **state)
{
    const double eager[] = {1, 1, 1, 1}, asking[] = {2, 2, 1.04, 1.04};
    assert_int_equal(find_crossover(eager, asking, 1), 1);
    assert_int_equal(find_crossover(eager, asking, 3), 3);
}

static void nothing_is_eager_when_asking_is_always_faster(void **state)
{
    const double eager[] = {2, 2, 2, 2}, asking[] = {1, 1, 1, 1};
    assert_int_equal(find_crossover(eager, asking, 2), -1);
}

static void sizes_count_as_one_mean(void **state)
{
    struct trial t = over_sizes((double[]){1, 4, 16, 64});
    assert_int_equal(trial_sizes(&t.kind), 4);
    assert_true(fabs(trial_mean(&t) - 8) < 1e-9);
    assert_true(trial_at(&t, 2) == 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_that_is_better_in_every_round_is_chosen),
        cmocka_unit_test(the_built_in_value_stays_when_little_is_gained),
        cmocka_unit_test(the_built_in_value_stays_when_one_round_disagrees),
        cmocka_unit_test(the_built_in_value_stays_after_too_few_rounds),
        cmocka_unit_test(a_value_that_cannot_be_set_is_not_chosen),
        cmocka_unit_test(rounds_that_agree_are_of_a_quiet_machine),
        cmocka_unit_test(rounds_that_differ_are_of_a_busy_machine),
        cmocka_unit_test(one_restless_trial_is_no_busy_machine),
        cmocka_unit_test(too_few_rounds_tell_nothing_of_the_machine),
        cmocka_unit_test(a_busy_machine_gets_no_value),
        cmocka_unit_test(eager_ends_where_asking_first_becomes_faster),
        cmocka_unit_test(one_odd_size_does_not_end_eager),
        cmocka_unit_test(the_limit_stays_when_both_take_as_long),
        cmocka_unit_test(a_larger_limit_needs_a_gain_at_each_size),
        cmocka_unit_test(nothing_is_eager_when_asking_is_always_faster),
        cmocka_unit_test(sizes_count_as_one_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
