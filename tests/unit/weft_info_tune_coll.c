/* weft-info --tune-collectives: rules from measurements that are given here.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/collectives.h"
#include "config_rig.h"

#include "tools/weft-info/tune_coll.c"

/* Not run here. */
int tune_job(const char *ranks, const char *route, const char *set,
             const char *const *words, double *us, int most)
{
    return 0;
}

/* An algorithm that takes so long in each of two rounds, size by size. */
static struct coll_trial elapsed_time(const char *name, const double *us)
{
    struct coll_trial t = {.algorithm = name, .sizes = COLL_SIZES,
                           .rounds = 2};
    for (int i = 0; i < COLL_SIZES; i++)
        t.us[i][0] = t.us[i][1] = us[i];
    return t;
}

static const double ten[] = {10, 10, 10, 10, 10, 10};

static void assert_rules(const double *ring, const double *blocks,
                         const char *wanted)
{
    struct coll_trial t[3] = {elapsed_time("auto", ten),
                              elapsed_time("ring", ring),
                              elapsed_time("blocks", blocks)};
    char rules[1024], ini[1200];
    tune_coll_rules(t, 3, 4, rules, sizeof rules);
    assert_string_equal(rules, wanted);
    snprintf(ini, sizeof ini, "[collectives]\nallreduce = %s\n",
             wanted[0] != '\0' ? wanted : "auto");
    wf_config_free(parse_good(ini));
}

static void an_algorithm_not_clearly_faster_changes_nothing(void **state)
{
    const double little[] = {9.5, 9.5, 9.5, 9.5, 9.5, 9.5};
    assert_rules(little, ten, "");
}

static void sizes_that_follow_each_other_are_one_rule(void **state)
{
    const double middle_sizes[] = {10, 10, 5, 5, 10, 10};
    assert_rules(middle_sizes, ten, "ring 4096-262143 ranks:4");
}

static void the_ends_are_open(void **state)
{
    const double small[] = {5, 5, 10, 10, 10, 10};
    const double large[] = {10, 10, 10, 10, 10, 5};
    const double all[] = {5, 5, 5, 5, 5, 5};
    assert_rules(small, large,
                 "ring -4095 ranks:4, blocks 2097152- ranks:4");
    assert_rules(all, ten, "ring ranks:4");
}

static void the_fastest_of_several_is_taken(void **state)
{
    const double five[] = {5, 5, 5, 5, 5, 5}, four[] = {4, 6, 6, 6, 6, 6};
    assert_rules(five, four, "blocks -511 ranks:4, ring 512- ranks:4");
}

static void one_round_that_disagrees_is_enough(void **state)
{
    struct coll_trial t[2] = {elapsed_time("auto", ten),
                              elapsed_time("ring", ten)};
    for (int i = 0; i < COLL_SIZES; i++)
        t[1].us[i][0] = 2;
    t[1].us[3][1] = 11;
    assert_int_equal(tune_coll_best(t, 2, 3), 0);
    t[1].us[3][1] = 2;
    assert_int_equal(tune_coll_best(t, 2, 3), 1);
}

static void one_round_alone_decides_nothing(void **state)
{
    const double half[] = {5, 5, 5, 5, 5, 5};
    struct coll_trial t[2] = {elapsed_time("auto", ten),
                              elapsed_time("ring", half)};
    t[0].rounds = t[1].rounds = 1;
    assert_int_equal(tune_coll_best(t, 2, 0), 0);
}

static void the_parser_makes_the_rule_that_was_measured(void **state)
{
    const double middle_sizes[] = {10, 10, 5, 5, 10, 10};
    struct coll_trial t[2] = {elapsed_time("auto", ten),
                              elapsed_time("ring", middle_sizes)};
    char rules[256], ini[300];
    tune_coll_rules(t, 2, 4, rules, sizeof rules);
    snprintf(ini, sizeof ini, "[collectives]\nallreduce = %s\n", rules);
    struct wf_config *c = parse_good(ini);
    const struct wf_coll_rules *all = wf_config_collectives(c);
    const struct wf_coll_rule *r = all->of[WF_COLL_ALLREDUCE];
    assert_int_equal(all->count[WF_COLL_ALLREDUCE], 1);
    assert_int_equal(r->algorithm, WF_ALG_RING);
    assert_true(r->bytes == 4096 && r->bytes_most == 262143);
    assert_true(r->ranks == 4 && r->ranks_most == 4);
    wf_config_free(c);
}

static void an_algorithm_that_did_not_run_is_not_taken(void **state)
{
    struct coll_trial t[2] = {elapsed_time("auto", ten),
                              elapsed_time("ring", ten)};
    t[1].rounds = 0;
    assert_int_equal(tune_coll_best(t, 2, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_algorithm_not_clearly_faster_changes_nothing),
        cmocka_unit_test(sizes_that_follow_each_other_are_one_rule),
        cmocka_unit_test(the_ends_are_open),
        cmocka_unit_test(the_fastest_of_several_is_taken),
        cmocka_unit_test(one_round_that_disagrees_is_enough),
        cmocka_unit_test(one_round_alone_decides_nothing),
        cmocka_unit_test(the_parser_makes_the_rule_that_was_measured),
        cmocka_unit_test(an_algorithm_that_did_not_run_is_not_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
