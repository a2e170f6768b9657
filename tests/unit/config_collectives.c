/* [collectives]: rules as written, and every kind of mistake in them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <limits.h>

#include "config/collectives.h"
#include "config/shared.h"
#include "config_rig.h"

#include "config/coll_rules.h"

static void assert_rule(const struct wf_coll_rule *r, int algorithm,
                        uint64_t bytes, uint64_t most)
{
    assert_int_equal(r->algorithm, algorithm);
    assert_int_equal(r->bytes, bytes);
    assert_int_equal(r->bytes_most, most);
}

static void without_the_section_there_are_no_rules(void **state)
{
    struct wf_config *c = parse_good(NULL);
    for (int i = 0; i < WF_COLL_KINDS; i++)
        assert_int_equal(wf_config_collectives(c)->count[i], 0);
    wf_config_free(c);
}

static void auto_is_no_rule(void **state)
{
    struct wf_config *c = parse_good("[collectives]\nbcast = auto\n");
    assert_int_equal(wf_config_collectives(c)->count[WF_COLL_BCAST], 0);
    wf_config_free(c);
}

static void rules_keep_their_order_sizes_and_conditions(void **state)
{
    struct wf_config *c = parse_good(
        "[collectives]\nallreduce = recursive_doubling -4K,"
        "blocks  4K-1M ranks:4-16 nodes:2-, blocks ranks:8- crowded # tail\n");
    const struct wf_coll_rules *all = wf_config_collectives(c);
    const struct wf_coll_rule *r = all->of[WF_COLL_ALLREDUCE];
    assert_int_equal(all->count[WF_COLL_ALLREDUCE], 3);
    assert_int_equal(all->count[WF_COLL_REDUCE], 0);
    assert_rule(&r[0], WF_ALG_RECURSIVE_DOUBLING, 0, 4096);
    assert_int_equal(r[0].nodes, 1);
    assert_int_equal(r[0].ranks, 1);
    assert_int_equal(r[0].ranks_most, INT_MAX);
    assert_rule(&r[1], WF_ALG_BLOCKS, 4096, 1 << 20);
    assert_int_equal(r[1].nodes, 2);
    assert_int_equal(r[1].ranks, 4);
    assert_int_equal(r[1].ranks_most, 16);
    assert_rule(&r[2], WF_ALG_BLOCKS, 0, UINT64_MAX);
    assert_int_equal(r[2].ranks, 8);
    assert_true(r[2].crowded && !r[1].crowded);
    wf_config_free(c);
}

static void an_unknown_algorithm_shows_those_that_there_are(void **state)
{
    assert_problem("[collectives]\nallgather = bruk -4K, ring\n",
                   "text:2:13: allgather: 'bruk' is not an algorithm of it; "
                   "did you mean 'bruck'? known: ");
    assert_problem("[collectives]\nbcast = pairwise\n",
                   "bcast: 'pairwise' is not an algorithm of it");
}

static void an_unknown_collective_shows_those_that_there_are(void **state)
{
    assert_problem("[collectives]\nalreduce = ring\n",
                   "text:2:1: unknown key 'alreduce' in [collectives]; did you "
                   "mean 'allreduce'?");
}

static void an_invalid_condition_is_a_problem(void **state)
{
    assert_problem("[collectives]\nbcast = chain 4K-1K\n",
                   "bcast: '4K-1K' after 'chain' is none of: a range of sizes "
                   "(16K-1M), ranks:4-16, nodes:2-, crowded");
    assert_problem("[collectives]\nbcast = chain -1K 2K-\n",
                   "bcast: '2K-' after 'chain' is none of: ranks:4-16, "
                   "nodes:2-, crowded");
    assert_problem("[collectives]\nbcast = chain ranks:8-4\n",
                   "'ranks:8-4' after 'chain' is");
    assert_problem("[collectives]\nbcast = chain nodes:2-4\n",
                   "'nodes:2-4' after 'chain' is");
    assert_problem("[collectives]\nbcast = chain,, binomial\n",
                   "bcast: a rule between commas is empty");
    assert_problem("[collectives]\nbcast = chain 1K- binomial\n",
                   "bcast: 'binomial' after 'chain'");
    assert_problem("[collectives]\nbcast =\n", "bcast: ");
}

static void the_section_has_no_name_and_stands_once(void **state)
{
    assert_problem("[collectives x]\n", "[collectives] has no name; found 'x'");
    assert_problem("[collectives]\n[collectives]\n", "stands twice");
}

static void too_many_rules_are_a_problem(void **state)
{
    char text[1024] = "[collectives]\nbcast = chain";
    for (int i = 0; i < 32; i++)
        strcat(text, ",chain");
    assert_problem(text, "bcast: more than 32 rules");
}

static void processes_must_agree_on_the_rules(void **state)
{
    struct wf_config *a = parse_good("[collectives]\nbcast = chain\n");
    struct wf_config *b = parse_good("[collectives]\nbcast = binomial\n");
    struct wf_config *plain = parse_good(NULL);
    struct wf_config *same = parse_good("[collectives]\nbcast = auto\n");
    assert_true(wf_config_hash(a) != wf_config_hash(b));
    assert_true(wf_config_hash(a) != wf_config_hash(plain));
    assert_true(wf_config_hash(same) == wf_config_hash(plain));
    wf_config_free(a);
    wf_config_free(b);
    wf_config_free(plain);
    wf_config_free(same);
}

static void an_override_sets_rules(void **state)
{
    struct wf_config *c;
    const struct wf_coll_rules *all;
    setenv("WEFT_INI", "-", 1);
    setenv("WEFT_SET",
           "collectives.bcast=chain 4K- , binomial; core.log=error", 1);
    assert_int_equal(wf_config_load(&c, stderr), 0);
    all = wf_config_collectives(c);
    assert_int_equal(all->count[WF_COLL_BCAST], 2);
    assert_rule(&all->of[WF_COLL_BCAST][0], WF_ALG_CHAIN, 4096, UINT64_MAX);
    wf_config_free(c);
    unsetenv("WEFT_SET");
    unsetenv("WEFT_INI");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_the_section_there_are_no_rules),
        cmocka_unit_test(auto_is_no_rule),
        cmocka_unit_test(rules_keep_their_order_sizes_and_conditions),
        cmocka_unit_test(an_unknown_algorithm_shows_those_that_there_are),
        cmocka_unit_test(an_unknown_collective_shows_those_that_there_are),
        cmocka_unit_test(an_invalid_condition_is_a_problem),
        cmocka_unit_test(the_section_has_no_name_and_stands_once),
        cmocka_unit_test(too_many_rules_are_a_problem),
        cmocka_unit_test(processes_must_agree_on_the_rules),
        cmocka_unit_test(an_override_sets_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
