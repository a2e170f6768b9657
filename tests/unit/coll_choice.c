/* The choice of an algorithm where the ranks of a node share its CPUs: a rule
 * may ask for that, and it holds as soon as they have agreed on it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "coll/coll.h"
#include "coll/decision.h"
#include "coll/shm/shmcoll.h"
#include "process/rank.h"

enum { LONG = 32 * 1024 };

static struct wf_rank wf_rank;
static struct wf_instance wf = {.rank = &wf_rank};

static int choose_algorithm(enum wf_coll_kind kind, int size, uint64_t bytes,
                            struct wf_shmcoll *team)
{
    struct wf_comm comm = {.wf = &wf, .size = size, .shmcoll = team};

    return wf_coll_find_rule(&comm, kind, bytes, WF_ALG_ANY, NULL)->algorithm;
}

static void
a_long_bcast_of_many_ranks_that_share_cpus_comes_from_the_root(void **state)
{
    struct wf_shmcoll shares = {.oversubscribed = true};

    assert_int_equal(choose_algorithm(WF_COLL_BCAST, 16, 32 * LONG, &shares),
                     WF_ALG_LINEAR);
    assert_int_equal(choose_algorithm(WF_COLL_BCAST, 8, LONG, &shares),
                     WF_ALG_LINEAR);
    assert_int_equal(choose_algorithm(WF_COLL_BCAST, 4, LONG, &shares),
                     WF_ALG_LINEAR);
    assert_int_equal(choose_algorithm(WF_COLL_BCAST, 16, LONG - 1, &shares),
                     WF_ALG_BINOMIAL);
}

static void the_longest_bcast_of_ranks_that_share_cpus_does_too(void **state)
{
    struct wf_shmcoll shares = {.oversubscribed = true};

    for (int ranks = 3; ranks <= 16; ranks++)
        assert_int_equal(
            choose_algorithm(WF_COLL_BCAST, ranks, 512 * LONG, &shares),
            WF_ALG_LINEAR);
}

/* A limit that depends on more was measured on one machine, and is for
 * weft-info --tune-collectives. */
static void an_algorithm_has_one_limit_in_a_class_of_machines(void **state)
{
    const struct wf_coll_rule *r, *other;

    for (int kind = 0; kind < WF_COLL_KINDS; kind++) {
        int n = wf_coll_find_built_in_rules((enum wf_coll_kind)kind, &r);

        for (int i = 0; i < n; i++)
            for (int k = 0; k < i; k++) {
                other = &r[k];
                assert_false(r[i].algorithm == other->algorithm &&
                             r[i].crowded == other->crowded &&
                             r[i].nodes == other->nodes &&
                             r[i].bytes_most < UINT64_MAX &&
                             other->bytes_most < UINT64_MAX);
            }
    }
}

static void a_bcast_is_a_chain_where_each_rank_has_a_cpu(void **state)
{
    struct wf_shmcoll apart = {.oversubscribed = false};

    assert_int_equal(choose_algorithm(WF_COLL_BCAST, 16, LONG, &apart),
                     WF_ALG_BINOMIAL);
    assert_int_equal(choose_algorithm(WF_COLL_BCAST, 16, 32 * LONG, &apart),
                     WF_ALG_CHAIN);
}

static void a_bcast_is_a_chain_before_ranks_have_agreed(void **state)
{
    assert_int_equal(choose_algorithm(WF_COLL_BCAST, 16, LONG, NULL),
                     WF_ALG_BINOMIAL);
}

/* Each round of Bruck would be a turn of the run queue. */
static void an_alltoall_on_shared_cpus_has_no_rounds(void **state)
{
    struct wf_shmcoll shares = {.oversubscribed = true},
                      apart = {.oversubscribed = false};

    assert_int_equal(choose_algorithm(WF_COLL_ALLTOALL, 16, 8, &shares),
                     WF_ALG_PAIRWISE);
    assert_int_equal(choose_algorithm(WF_COLL_ALLTOALL, 16, 8, &apart),
                     WF_ALG_BRUCK);
}

/* A message, and a connection, for each pair cost more than the rounds. */
static void an_alltoall_of_many_ranks_has_few_partners(void **state)
{
    struct wf_shmcoll shares = {.oversubscribed = true};

    assert_int_equal(choose_algorithm(WF_COLL_ALLTOALL, 256, 8, &shares),
                     WF_ALG_BRUCK);
    assert_int_equal(choose_algorithm(WF_COLL_ALLTOALL, 64, 1024, &shares),
                     WF_ALG_BRUCK);
    assert_int_equal(choose_algorithm(WF_COLL_ALLTOALL, 256, LONG, &shares),
                     WF_ALG_PAIRWISE);
}

/* These are collectives in which each rank puts its result once where all can
 * read it. */
static void a_long_allreduce_on_shared_cpus_goes_by_blocks(void **state)
{
    struct wf_shmcoll shares = {.oversubscribed = true},
                      apart = {.oversubscribed = false};

    assert_int_equal(
        choose_algorithm(WF_COLL_ALLREDUCE, 16, 32 * LONG, &shares),
        WF_ALG_BLOCKS);
    assert_int_equal(choose_algorithm(WF_COLL_ALLREDUCE, 16, 32 * LONG, &apart),
                     WF_ALG_RING);
}

static void a_rule_of_the_file_may_ask_for_it(void **state)
{
    struct wf_coll_rule rule = wf_coll_rule_always(WF_ALG_RING);
    struct wf_coll_rules rules = {.of[WF_COLL_ALLREDUCE] = &rule,
                                  .count[WF_COLL_ALLREDUCE] = 1};
    struct wf_shmcoll shares = {.oversubscribed = true},
                      apart = {.oversubscribed = false};

    rule.crowded = true;
    wf.rank->coll_rules = &rules;
    assert_int_equal(choose_algorithm(WF_COLL_ALLREDUCE, 2, 8, &shares),
                     WF_ALG_RING);
    assert_int_equal(choose_algorithm(WF_COLL_ALLREDUCE, 2, 8, &apart),
                     WF_ALG_RECURSIVE_DOUBLING);
    wf.rank->coll_rules = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_long_bcast_of_many_ranks_that_share_cpus_comes_from_the_root),
        cmocka_unit_test(the_longest_bcast_of_ranks_that_share_cpus_does_too),
        cmocka_unit_test(an_algorithm_has_one_limit_in_a_class_of_machines),
        cmocka_unit_test(a_bcast_is_a_chain_where_each_rank_has_a_cpu),
        cmocka_unit_test(a_bcast_is_a_chain_before_ranks_have_agreed),
        cmocka_unit_test(an_alltoall_on_shared_cpus_has_no_rounds),
        cmocka_unit_test(an_alltoall_of_many_ranks_has_few_partners),
        cmocka_unit_test(a_long_allreduce_on_shared_cpus_goes_by_blocks),
        cmocka_unit_test(a_rule_of_the_file_may_ask_for_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
