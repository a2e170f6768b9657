/* weft-info --collective: what is drawn, and what wrong arguments are told.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/collectives.h"
#include "weft_info_rig.h"

#include "tools/weft-info/draw.c"
#include "tools/weft-info/plan.c"

/* Returns the output to `fd` of a drawing that must have this status. */
static char *draw_to(int fd, const char *ini, struct draw_arguments a,
                     int status)
{
    struct wf_config *c = parse_good(ini);
    capture_begin(fd);
    int rc = info_draw(wf_config_collectives(c), &a);
    char *text = capture_end(fd);
    wf_config_free(c);
    assert_int_equal(rc, status);
    return text;
}

static char *draw_text(const char *ini, struct draw_arguments a)
{
    return draw_to(1, ini, a, 0);
}

/* What is wrong with these arguments? */
static char *read_refusal(struct draw_arguments a)
{
    return draw_to(2, NULL, a, 2);
}

static void steps_have_rounds_sizes_and_partners(void **state)
{
    char *text = draw_text(
        NULL, (struct draw_arguments){.collective = "allreduce",
                                      .ranks = "4",
                                      .size = "1K",
                                      .algorithm = "recursive_doubling"});
    assert_says(text, "allreduce on 4 ranks, 1024 bytes (the vector)\n"
                      "algorithm  recursive_doubling: ");
    assert_says(text, "critical path  2 messages one after the other; at most "
                      "2048 bytes\n");
    assert_says(text, "in all         8 messages, 8192 bytes\n");
    assert_says(text, "rank 3\n  round  step        bytes\n"
                      "      1  send         1024 to 2\n");
    assert_says(text, "      1  recv         1024 from 2\n");
    assert_says(text, "      1  reduce       1024\n");
    assert_says(text, "      2  send         1024 to 1\n");
}

static void a_linear_broadcast_is_one_round_and_one_busy_rank(void **state)
{
    char *text = draw_text(NULL, (struct draw_arguments){.collective = "bcast",
                                                         .ranks = "9",
                                                         .size = "2",
                                                         .algorithm = "linear",
                                                         .root = "5"});
    assert_says(text, "bcast on 9 ranks, root 5, 2 bytes");
    assert_says(text, "critical path  1 message one after the other");
    assert_says(text, "at most 8 messages; most bytes are sent by rank 5: 16");
}

static void the_choice_is_that_of_mpi_ini(void **state)
{
    struct draw_arguments a = {
        .collective = "bcast", .ranks = "4", .size = "100"};
    assert_says(draw_text(NULL, a), "algorithm  binomial: ");
    assert_says(draw_text("[collectives]\nbcast = chain -100\n", a),
                "algorithm  chain: ");
    a.size = "101";
    assert_says(draw_text("[collectives]\nbcast = chain -100\n", a),
                "algorithm  binomial: ");
}

/* A few cells of decision.def; bytes of all blocks where there are blocks. */
static void the_built_in_choice_depends_on_size_and_ranks(void **state)
{
    static const char *const cells[][5] = {
        {"allreduce", "8", "256K", "nodes", "2"},
        {"allreduce", "8", "512K", "ring", "2"},
        {"allreduce", "8", "256K", "ring", "8"},
        {"allgather", "8", "64", "nodes", "2"},
        {"bcast", "8", "4K", "binomial", "2"},
        {"bcast", "8", "8K", "nodes", "2"},
        {"allgather", "2", "8", "recursive_doubling"},
        {"allgather", "4", "32K", "recursive_doubling"},
        {"allgather", "8", "1M", "recursive_doubling"},
        {"allgather", "6", "60K", "bruck"},
        {"allgather", "6", "1M", "ring"},
        {"allreduce", "8", "16K", "recursive_doubling"},
        {"allreduce", "8", "128K", "blocks"},
        {"allreduce", "8", "256K", "ring"},
        {"allreduce", "3", "256K", "blocks"},
        {"allreduce", "65", "256K", "blocks"},
        {"allreduce", "100", "64", "recursive_doubling"},
        {"reduce", "2", "1M", "binomial"},
        {"reduce", "8", "128K", "binomial"},
        {"reduce", "8", "1M", "chain"},
        {"reduce", "100", "1M", "blocks"},
        {"reduce_scatter", "8", "128K", "blocks"},
        {"reduce_scatter", "8", "1M", "ring"},
        {"scan", "8", "32K", "chain"},
        {"scan", "8", "32K", "recursive_doubling", "2"},
        {"scan", "17", "32K", "recursive_doubling"},
        {"exscan", "8", "64K", "chain"},
        {"scan", "2", "4M", "recursive_doubling"},
        {"alltoall", "8", "256", "bruck", "2"},
        {"alltoall", "8", "256", "pairwise"},
        {"alltoall", "9", "256", "bruck"},
        {"bcast", "8", "128K", "binomial"},
        {"bcast", "8", "256K", "chain"},
        {"bcast", "65", "1M", "binomial"},
        {"barrier", "3", "0", "dissemination"}};

    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        char line[64];
        snprintf(line, sizeof line, "algorithm  %s: ", cells[i][3]);
        assert_says(
            draw_text(NULL, (struct draw_arguments){.collective = cells[i][0],
                                                    .ranks = cells[i][1],
                                                    .size = cells[i][2],
                                                    .nodes = cells[i][4]}),
            line);
    }
}

static void between_nodes_only_leaders_speak(void **state)
{
    char *text = draw_text(NULL, (struct draw_arguments){.collective = "bcast",
                                                         .ranks = "8",
                                                         .nodes = "2",
                                                         .size = "1K",
                                                         .algorithm = "nodes",
                                                         .root = "1"});
    assert_says(text, "bcast on 8 ranks of 2 nodes, root 1");
    assert_says(text, "algorithm  nodes: ");
    assert_says(text, ", 1024 of them between nodes\n");
    assert_says(text, "rank 4 (node 1)\n");
}

static void a_barrier_has_no_bytes(void **state)
{
    char *text = draw_text(
        NULL, (struct draw_arguments){.collective = "barrier", .ranks = "5"});
    assert_says(text, "barrier on 5 ranks\nalgorithm  dissemination: ");
    assert_says(text,
                "critical path  3 messages one after the other; at most 0 "
                "bytes\n");
}

static void every_collective_can_be_drawn_by_every_algorithm(void **state)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        for (int k = 0; k < WF_ALGORITHMS; k++) {
            struct draw_arguments a = {.collective = known[i].name,
                                       .ranks = "8",
                                       .nodes = "2",
                                       .size = "4K"};
            if (!(wf_coll_kinds[known[i].kind].algorithms >> k & 1))
                continue;
            a.algorithm = wf_coll_algorithms[k].name;
            assert_says(draw_text(NULL, a), a.algorithm);
        }
}

static void dot_has_a_cluster_per_rank_and_an_edge_per_message(void **state)
{
    char *text = draw_text(NULL, (struct draw_arguments){.collective = "bcast",
                                                         .ranks = "2",
                                                         .size = "8",
                                                         .dot = true});
    assert_string_equal(text, "digraph \"bcast\" {\n  rankdir=LR;\n"
                              "  node [shape=box];\n"
                              "  subgraph cluster_0 {\n    label=\"rank 0\";\n"
                              "    v0 [label=\"send 8\"];\n  }\n"
                              "  subgraph cluster_1 {\n    label=\"rank 1\";\n"
                              "    v1 [label=\"recv 8\"];\n  }\n"
                              "  v0 -> v1 [color=blue];\n}\n");
}

static void wrong_arguments_are_explained(void **state)
{
    assert_says(read_refusal((struct draw_arguments){.collective = "alreduce",
                                                     .ranks = "4"}),
                "--collective 'alreduce' cannot be drawn; did you mean "
                "'allreduce'? known: allgather ");
    assert_says(read_refusal((struct draw_arguments){.collective = "bcast"}),
                "--collective 'bcast' needs --ranks N as well");
    assert_says(read_refusal((struct draw_arguments){.collective = "bcast",
                                                     .ranks = "4097"}),
                "--ranks '4097' is not a number of 1..4096");
    assert_says(read_refusal((struct draw_arguments){
                    .collective = "bcast", .ranks = "4", .nodes = "5"}),
                "--nodes '5' is not a number of 1..4");
    assert_says(read_refusal((struct draw_arguments){
                    .collective = "bcast", .ranks = "4", .root = "4"}),
                "--root '4' is not a number of 0..3");
    assert_says(read_refusal((struct draw_arguments){
                    .collective = "scan", .ranks = "4", .root = "1"}),
                "--root '1' is for bcast, gather, reduce and scatter");
    assert_says(read_refusal((struct draw_arguments){
                    .collective = "bcast", .ranks = "4", .size = "4Q"}),
                "--size '4Q' is not a size up to 1T");
}

static void wrong_algorithms_are_explained(void **state)
{
    assert_says(read_refusal((struct draw_arguments){
                    .collective = "exscan", .ranks = "4", .algorithm = "rong"}),
                "--algorithm 'rong' is not an algorithm of scan");
    assert_says(read_refusal(
                    (struct draw_arguments){.collective = "allgather",
                                            .ranks = "6",
                                            .algorithm = "recursive_doubling"}),
                "--algorithm 'recursive_doubling' cannot do this call");
    assert_says(read_refusal((struct draw_arguments){
                    .collective = "bcast", .ranks = "4", .algorithm = "nodes"}),
                "--algorithm 'nodes' cannot do this call");
}

static void
the_rules_in_force_are_those_of_the_file_and_then_the_built_in(void **state)
{
    struct wf_config *c =
        parse_good("[collectives]\n"
                   "scan = chain 64K-1M ranks:2-8 nodes:2-\n");
    capture_begin(1);
    info_choice(WF_COLL_SCAN, wf_config_collectives(c));
    assert_string_equal(capture_end(1),
                        "    scan            chain 64K-1M ranks:2-8 nodes:2-, "
                        "recursive_doubling -65535 ranks:3- nodes:2-, "
                        "recursive_doubling -65535 ranks:17-, "
                        "chain ranks:3-64, recursive_doubling\n");
    wf_config_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_have_rounds_sizes_and_partners),
        cmocka_unit_test(a_linear_broadcast_is_one_round_and_one_busy_rank),
        cmocka_unit_test(the_choice_is_that_of_mpi_ini),
        cmocka_unit_test(the_built_in_choice_depends_on_size_and_ranks),
        cmocka_unit_test(between_nodes_only_leaders_speak),
        cmocka_unit_test(a_barrier_has_no_bytes),
        cmocka_unit_test(every_collective_can_be_drawn_by_every_algorithm),
        cmocka_unit_test(dot_has_a_cluster_per_rank_and_an_edge_per_message),
        cmocka_unit_test(wrong_arguments_are_explained),
        cmocka_unit_test(wrong_algorithms_are_explained),
        cmocka_unit_test(
            the_rules_in_force_are_those_of_the_file_and_then_the_built_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
