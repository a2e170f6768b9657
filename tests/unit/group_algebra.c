/* Groups: every operation against a plain model, on a made-up job of 64.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "group/comm.h"
#include "core_api.h"
#include "group/group.h"
#include "instance/env.h"
#include "process/rank.h"
#include "report/error.h"

static struct wf_instance wf;
static struct wf_rank wf_rank = {.home = &wf, .id = 5, .job.size = 64};
static struct wf_instance wf = {.rank = &wf_rank};
static struct wf_group *world;

static struct wf_group *group_of(MPI_Group g)
{
    return wf_group_of(&wf, g);
}

static struct wf_group *make_group(int n, const uint32_t *procs)
{
    uint32_t *copy = malloc((size_t)(n + 1) * sizeof *copy);
    memcpy(copy, procs, (size_t)n * sizeof *copy);
    return wf_group_create(&wf, n, copy);
}

static void expect_result(MPI_Group handle, int n, const uint32_t *procs)
{
    struct wf_group *g = group_of(handle);
    assert_non_null(g);
    assert_int_equal(g->size, n);
    for (int i = 0; i < n; i++)
        assert_int_equal(wf_group_proc(g, i), procs[i]);
    assert_int_equal(wf_mpi_group_free(&wf, &handle), MPI_SUCCESS);
    assert_ptr_equal(handle, MPI_GROUP_NULL);
}

static void evenly_spaced_members_take_no_array(void **state)
{
    struct wf_group *g = make_group(4, (uint32_t[]){40, 30, 20, 10});
    assert_null(g->procs);
    assert_int_equal(g->stride, -10);
    assert_int_equal(wf_group_rank_of(g, 20), 2);
    assert_int_equal(wf_group_rank_of(g, 15), MPI_UNDEFINED);
    assert_int_equal(wf_group_rank_of(g, 50), MPI_UNDEFINED);
    wf_group_put(g);
    g = make_group(3, (uint32_t[]){1, 5, 2});
    assert_non_null(g->procs);
    assert_int_equal(g->rank, 1);
    wf_group_put(g);
}

static void set_operations_keep_the_order_of_the_standard(void **state)
{
    struct wf_group *a = make_group(4, (uint32_t[]){7, 3, 9, 1});
    struct wf_group *b = make_group(4, (uint32_t[]){1, 2, 3, 4});
    MPI_Group g;
    wf_mpi_group_union(&wf, a, b, &g);
    expect_result(g, 6, (uint32_t[]){7, 3, 9, 1, 2, 4});
    wf_mpi_group_intersection(&wf, a, b, &g);
    expect_result(g, 2, (uint32_t[]){3, 1});
    wf_mpi_group_difference(&wf, a, b, &g);
    expect_result(g, 2, (uint32_t[]){7, 9});
    wf_mpi_group_difference(&wf, a, a, &g);
    assert_ptr_equal(g, MPI_GROUP_EMPTY);
    wf_mpi_group_union(&wf, group_of(MPI_GROUP_EMPTY),
                       group_of(MPI_GROUP_EMPTY), &g);
    assert_ptr_equal(g, MPI_GROUP_EMPTY);
    wf_group_put(a);
    wf_group_put(b);
}

static void ranges_include_and_exclude(void **state)
{
    int up[2][3] = {{10, 16, 3}, {2, 0, -1}};
    int all[1][3] = {{0, 63, 1}};
    MPI_Group g;
    assert_int_equal(wf_mpi_group_range_incl(&wf, world, 2, up, &g), 0);
    expect_result(g, 6, (uint32_t[]){10, 13, 16, 2, 1, 0});
    assert_int_equal(wf_mpi_group_range_excl(&wf, world, 1, all, &g), 0);
    assert_ptr_equal(g, MPI_GROUP_EMPTY);
    assert_int_equal(
        wf_mpi_group_excl(&wf, world, 62,
                          (int[62]){0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                    11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32,
                                    33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
                                    44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54,
                                    55, 56, 57, 58, 59, 60, 61},
                          &g),
        0);
    expect_result(g, 2, (uint32_t[]){62, 63});
}

static void wrong_ranks_are_named(void **state)
{
    MPI_Group g;
    int twice[2] = {3, 3};
    int still[1][3] = {{0, 5, 0}};
    int over[1][3] = {{60, 70, 5}};
    assert_int_equal(wf_mpi_group_incl(&wf, world, 2, twice, &g), MPI_ERR_RANK);
    assert_non_null(strstr(wf_error_last()->text, "a second time"));
    assert_int_equal(wf_mpi_group_range_incl(&wf, world, 1, still, &g),
                     MPI_ERR_ARG);
    assert_int_equal(wf_mpi_group_range_incl(&wf, world, 1, over, &g),
                     MPI_ERR_RANK);
    assert_non_null(strstr(wf_error_last()->text, "rank 65"));
}

static void comparison_tells_order_from_membership(void **state)
{
    struct wf_group *a = make_group(3, (uint32_t[]){1, 5, 2});
    struct wf_group *b = make_group(3, (uint32_t[]){1, 2, 5});
    struct wf_group *c = make_group(3, (uint32_t[]){1, 2, 6});
    int result;
    wf_mpi_group_compare(&wf, a, a, &result);
    assert_int_equal(result, MPI_IDENT);
    wf_mpi_group_compare(&wf, a, b, &result);
    assert_int_equal(result, MPI_SIMILAR);
    wf_mpi_group_compare(&wf, b, c, &result);
    assert_int_equal(result, MPI_UNEQUAL);
    wf_group_put(a);
    wf_group_put(b);
    wf_group_put(c);
}

static void ranks_translate_between_groups(void **state)
{
    struct wf_group *a = make_group(3, (uint32_t[]){9, 4, 7});
    int in[4] = {4, MPI_PROC_NULL, 9, 8}, out[4];
    assert_int_equal(wf_mpi_group_translate_ranks(&wf, world, 4, in, a, out),
                     MPI_SUCCESS);
    assert_int_equal(out[0], 1);
    assert_int_equal(out[1], MPI_PROC_NULL);
    assert_int_equal(out[2], 0);
    assert_int_equal(out[3], MPI_UNDEFINED);
    wf_group_put(a);
}

static int begin_case(void **state)
{
    if (wf_env_init(&wf) != 0)
        return -1;
    world = wf_group_create_regular(&wf, 64, 0, 1);
    return world ? 0 : -1;
}

static int end_case(void **state)
{
    wf_group_put(world);
    wf_env_fini(&wf);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evenly_spaced_members_take_no_array),
        cmocka_unit_test(set_operations_keep_the_order_of_the_standard),
        cmocka_unit_test(ranges_include_and_exclude),
        cmocka_unit_test(wrong_ranks_are_named),
        cmocka_unit_test(comparison_tells_order_from_membership),
        cmocka_unit_test(ranks_translate_between_groups),
    };
    return cmocka_run_group_tests(tests, begin_case, end_case);
}
