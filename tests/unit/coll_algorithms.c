/* Every collective, in every form, on 1..9, 16 and 17 ranks and over
 * intercommunicators, against results computed in plain loops.
 *
 * A failure names the case; COLL_SEED=n starts the seeds elsewhere, and
 * COLL_SEEDS=n takes at most n of them for each case.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_checks.h"

static void all_collectives(uint64_t count)
{
    static void (*const checks[])(void) = {
        check_barrier,   check_bcast,      check_gather,
        check_gatherv,   check_scatter,    check_scatterv,
        check_allgather, check_allgatherv, check_alltoall,
        check_reduce,    check_allreduce,  check_reduce_scatter_block,
        check_reduce_scatter};

    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        choose_case(count, !is_inter());
        checks[i]();
    }
    choose_case(count, !is_inter());
    check_alltoallv(false);
    choose_case(count, !is_inter());
    check_alltoallv(true);
    for (int exclusive = 0; !is_inter() && exclusive < 2; exclusive++) {
        choose_case(count, true);
        check_scan(exclusive);
    }
}

static uint64_t first_seed(void)
{
    const char *s = getenv("COLL_SEED");
    return s ? strtoull(s, NULL, 0) : 1;
}

/* How many seeds a case takes that wants this many. */
static uint64_t seeds_of(uint64_t wanted)
{
    const char *s = getenv("COLL_SEEDS");
    const uint64_t most = s ? strtoull(s, NULL, 0) : wanted;
    return most < wanted ? most : wanted;
}

static void collectives_agree_with_plain_loops(void **state)
{
    static const int sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17};
    static const uint64_t sizes_of_vectors[] = {0, 1, 2, 7, 300};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (size_t k = 0; k < 5; k++)
            for (uint64_t seed = 0; seed < seeds_of(3); seed++) {
                world_open(sizes[i], 0, first_seed() + seed);
                all_collectives(sizes_of_vectors[k]);
                world_close();
            }
}

static void long_vectors_take_other_algorithms(void **state)
{
    for (int n = 1; n <= 9; n++)
        for (uint64_t seed = 0; seed < seeds_of(2); seed++) {
            world_open(n, 0, first_seed() + 100 + seed);
            all_collectives(1000); /* 8 kB: trees that take turns with temps */
            all_collectives(9001); /* 72 kB: blocks, ring */
            choose_case(40001, false); /* 320 kB: chain */
            check_bcast();
            world_close();
        }
}

/* Vectors whose blocks have several pieces, and more operands than slots. */
static void reductions_by_blocks(const uint64_t count)
{
    for (int k = 0; k < 4; k++) {
        cs = (typeof(cs)){.count = count, .type = &pair_type,
                          .other = &pair_type, .in_place = k & 1,
                          .op = k & 2 ? &sum_op : &compose_op,
                          .root = world_size - 1};
        check_allreduce();
        check_reduce();
        check_reduce_scatter();
    }
}

static void blocks_are_reduced_piece_by_piece(void **state)
{
    static const struct {
        int ranks;
        uint64_t count;
    } shapes[] = {{2, 40001}, {3, 26000}, {19, 2100}};

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        world_open(shapes[i].ranks, 0, first_seed() + 400);
        reductions_by_blocks(shapes[i].count);
        world_close();
    }
}

static void intercommunicators_exchange_between_groups(void **state)
{
    for (int n = 2; n <= 9; n++)
        for (int left = 1; left < n; left++)
            for (uint64_t seed = 0; seed < seeds_of(3); seed++) {
                world_open(n, left, first_seed() + 200 + seed);
                all_collectives(seed);
                all_collectives(5 + 100 * seed);
                world_close();
            }
}

static void check_alltoallw(void)
{
    check_alltoallv(true);
}

static void check_inclusive(void)
{
    check_scan(false);
}

static void check_exclusive(void)
{
    check_scan(true);
}

/* The checks that follow the rules of each collective. */
static void (*const checks_of[WF_COLL_KINDS][2])(void) = {
    [WF_COLL_ALLGATHER] = {check_allgather, check_allgatherv},
    [WF_COLL_ALLREDUCE] = {check_allreduce},
    [WF_COLL_ALLTOALL] = {check_alltoall, check_alltoallw},
    [WF_COLL_BARRIER] = {check_barrier},
    [WF_COLL_BCAST] = {check_bcast},
    [WF_COLL_GATHER] = {check_gather},
    [WF_COLL_REDUCE] = {check_reduce},
    [WF_COLL_REDUCE_SCATTER] = {check_reduce_scatter,
                                check_reduce_scatter_block},
    [WF_COLL_SCAN] = {check_inclusive, check_exclusive},
    [WF_COLL_SCATTER] = {check_scatter},
};

/* On n ranks of several nodes, with few elements and many. */
static void force_algorithm(enum wf_coll_kind kind, int algorithm, int n)
{
    static const uint64_t counts_of_elements[] = {1, 7, 300};
    const struct wf_coll_rule rule = wf_coll_rule_always(algorithm);
    struct wf_coll_rules rules = {.count = {0}};

    rules.of[kind] = &rule;
    rules.count[kind] = 1;
    world_rules = &rules;
    for (uint64_t k = 0; k < 3; k++) {
        world_nodes = 1 + (int)((k + (uint64_t)n) % 4);
        world_open(n, 0, first_seed() + 500 + k);
        for (int i = 0; i < 2 && checks_of[kind][i]; i++) {
            choose_case(counts_of_elements[k], true);
            checks_of[kind][i]();
        }
        world_close();
    }
    world_rules = NULL;
    world_nodes = 1;
}

static void every_algorithm_agrees_with_plain_loops(void **state)
{
    for (int n = 1; n <= 17; n++)
        for (int kind = 0; kind < WF_COLL_KINDS; kind++)
            for (int a = 0; a < WF_ALGORITHMS; a++)
                if (wf_coll_kinds[kind].algorithms >> a & 1)
                    force_algorithm((enum wf_coll_kind)kind, a, n);
}

/* Segments of chains, and vectors that are cut into blocks. */
static void algorithms_for_long_vectors_work_in_segments(void **state)
{
    static const struct {
        enum wf_coll_kind kind;
        int algorithm;
    } cases[] = {{WF_COLL_REDUCE, WF_ALG_CHAIN},
                 {WF_COLL_SCAN, WF_ALG_CHAIN},
                 {WF_COLL_BCAST, WF_ALG_CHAIN},
                 {WF_COLL_BCAST, WF_ALG_SCATTER_ALLGATHER},
                 {WF_COLL_ALLREDUCE, WF_ALG_RING},
                 {WF_COLL_ALLREDUCE, WF_ALG_RABENSEIFNER}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct wf_coll_rule rule =
            wf_coll_rule_always(cases[i].algorithm);
        struct wf_coll_rules rules = {.count = {0}};
        rules.of[cases[i].kind] = &rule;
        rules.count[cases[i].kind] = 1;
        world_rules = &rules;
        for (int n = 2; n <= 5; n++)
            for (uint64_t seed = 0; seed < seeds_of(4); seed++) {
                world_open(n, 0, first_seed() + 600 + seed);
                choose_case(70001, true); /* more segments than slots */
                checks_of[cases[i].kind][0]();
                world_close();
            }
        world_rules = NULL;
    }
}

static int copies_of(const struct wf_sched *s)
{
    int n = 0;

    for (int i = 0; i < s->vertices; i++)
        n += s->v[i].kind == WF_VERTEX_COPY;
    return n;
}

/* Before an exchange in place blocks are packed away that are sent: not that of
 * the process itself, and none without bytes. */
static void in_place_only_sent_data_are_packed(void **state)
{
    int some[5] = {1, 1, 0, 1, 1}, at[5] = {0, 1, 2, 3, 4};
    char memory[5 * 8];

    world_open(5, 0, 1);
    for (int r = 0; r < 5; r++) {
        struct wf_coll_args a = {.comm = &comms[r], .sbuf = MPI_IN_PLACE,
                                 .rbuf = memory, .rtype = &pair_type,
                                 .rcounts = {some, 4}, .rdispls = {at, 4}};
        struct wf_sched *s = wf_sched_create(&comms[r]);
        assert_int_equal(wf_build_alltoallv(s, &a), MPI_SUCCESS);
        assert_int_equal(copies_of(s), r == 2 ? 4 : 3);
        wf_sched_destroy(s);
    }
    world_close();
}

/* The cases above performed vertices at once and recorded others. */
static void blocking_runs_were_direct(void **state)
{
    assert_true(direct_sends > 1000 && direct_recvs > 1000);
    assert_true(direct_refusals > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collectives_agree_with_plain_loops),
        cmocka_unit_test(long_vectors_take_other_algorithms),
        cmocka_unit_test(blocks_are_reduced_piece_by_piece),
        cmocka_unit_test(intercommunicators_exchange_between_groups),
        cmocka_unit_test(every_algorithm_agrees_with_plain_loops),
        cmocka_unit_test(algorithms_for_long_vectors_work_in_segments),
        cmocka_unit_test(in_place_only_sent_data_are_packed),
        cmocka_unit_test(blocking_runs_were_direct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
