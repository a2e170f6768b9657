/* Grids, and which process becomes which rank when the launcher has said who
 * is on which node.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "boot/boot.h"
#include "process/rank.h"
#include "topo/reorder.h"

enum { MOST = 64 };

/* ---- grids --------------------------------------------------------------- */

static void coordinates_and_ranks_are_one_to_one(void **state)
{
    static const int dims[] = {3, 1, 4, 2}, periods[] = {0, 1, 1, 0};
    struct wf_grid g = {4, dims, periods};
    int coords[4];

    for (int rank = 0; rank < 24; rank++) {
        wf_grid_coords(&g, rank, coords);
        for (int d = 0; d < 4; d++)
            assert_in_range(coords[d], 0, dims[d] - 1);
        assert_int_equal(wf_grid_rank(&g, coords), rank);
    }
}

static void borders_have_no_neighbour_and_periods_wrap(void **state)
{
    static const int dims[] = {3, 4}, periods[] = {0, 1};
    struct wf_grid g = {2, dims, periods};
    const int corner[] = {2, 3};

    assert_int_equal(wf_grid_neighbor(&g, corner, 0, 1), MPI_PROC_NULL);
    assert_int_equal(wf_grid_neighbor(&g, corner, 0, -1), 7);
    assert_int_equal(wf_grid_neighbor(&g, corner, 0, -3), MPI_PROC_NULL);
    assert_int_equal(wf_grid_neighbor(&g, corner, 1, 1), 8);
    assert_int_equal(wf_grid_neighbor(&g, corner, 1, -4), 11);
    assert_int_equal(wf_grid_neighbor(&g, corner, 1, INT32_MAX), 10);
    assert_int_equal(wf_grid_neighbor(&g, corner, 1, -(int64_t)INT32_MIN), 11);
}

/* ---- orders -------------------------------------------------------------- */

static uint32_t node_of[MOST];
static struct wf_boot boot = {.node_of = node_of};
static struct wf_instance instance;
static struct wf_rank instance_rank = {.home = &instance, .boot = &boot};
static struct wf_instance instance = {.rank = &instance_rank};
static struct wf_group group = {.wf = &instance, .stride = 1};
static struct wf_comm comm = {.wf = &instance, .local = &group};

static void make_world(int n, int nodes, uint32_t (*node)(int rank))
{
    boot.size = (uint32_t)n;
    boot.node_count = (uint32_t)nodes;
    group.size = comm.size = n;
    for (int i = 0; i < n; i++)
        node_of[i] = node(i);
}

static uint32_t by_fours(int rank)
{
    return (uint32_t)rank / 4;
}

static uint32_t in_turn(int rank)
{
    return (uint32_t)rank % 4;
}

static uint32_t choose_node(int rank)
{
    return (uint32_t)rand() % 5;
}

static void check_permutation(const int *order, int n)
{
    bool seen[MOST] = {false};

    for (int i = 0; i < n; i++) {
        assert_in_range(order[i], 0, n - 1);
        assert_false(seen[order[i]]);
        seen[order[i]] = true;
    }
}

/* Edges between nodes, when order[v] has become rank v; NULL: v itself. */
static int count_cut(const struct wf_edges *g, const int *order)
{
    int n = 0;

    for (int v = 0; v < g->n; v++)
        for (int e = g->first[v]; e < g->first[v + 1]; e++) {
            int w = g->adjacent[e];
            n += node_of[order ? order[v] : v] != node_of[order ? order[w] : w];
        }
    return n;
}

static int grid_cut(const struct wf_grid *g, int n, const int *order)
{
    int first[MOST + 1], adjacent[MOST * 6], coords[3], at = 0;
    struct wf_edges e = {n, first, adjacent, NULL};

    for (int v = 0; v < n; v++) {
        first[v] = at;
        wf_grid_coords(g, v, coords);
        for (int i = 0; i < 2 * g->ndims; i++) {
            int w = wf_grid_neighbor(g, coords, i / 2, i % 2 ? 1 : -1);
            if (w >= 0)
                adjacent[at++] = w;
        }
    }
    first[n] = at;
    return count_cut(&e, order);
}

static void rows_on_nodes_become_squares(void **state)
{
    static const int dims[] = {4, 4}, periods[] = {0, 0};
    struct wf_grid g = {2, dims, periods};
    int *order;

    make_world(16, 4, by_fours);
    assert_int_equal(grid_cut(&g, 16, NULL), 24);
    assert_int_equal(wf_reorder_grid(&comm, &g, &order), MPI_SUCCESS);
    assert_non_null(order);
    check_permutation(order, 16);
    assert_int_equal(grid_cut(&g, 16, order), 16);
    free(order);
}

static void processes_placed_in_turn_are_brought_together(void **state)
{
    static const int dims[] = {4, 4, 2}, periods[] = {1, 1, 0};
    struct wf_grid g = {3, dims, periods};
    int *order;

    make_world(32, 4, in_turn);
    assert_int_equal(wf_reorder_grid(&comm, &g, &order), MPI_SUCCESS);
    assert_non_null(order);
    check_permutation(order, 32);
    assert_int_equal(grid_cut(&g, 32, NULL), 96);
    assert_int_equal(grid_cut(&g, 32, order), 64);
    free(order);
}

static void a_good_order_is_left_alone(void **state)
{
    static const int dims[] = {4, 4}, narrow[] = {8, 2}, periods[] = {0, 0};
    struct wf_grid rows = {2, narrow, periods}, g = {2, dims, periods};
    int *order;

    make_world(16, 4, by_fours); /* two rows of two on each node */
    assert_int_equal(wf_reorder_grid(&comm, &rows, &order), MPI_SUCCESS);
    assert_null(order);
    boot.node_count = 1; /* or unknown */
    assert_int_equal(wf_reorder_grid(&comm, &g, &order), MPI_SUCCESS);
    assert_null(order);
}

static void partners_come_to_one_node(void **state)
{
    static const int first[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    static const int partner[] = {4, 5, 6, 7, 0, 1, 2, 3};
    struct wf_edges g = {8, first, partner, NULL};
    int *order;

    make_world(8, 2, by_fours);
    assert_int_equal(count_cut(&g, NULL), 8);
    assert_int_equal(wf_reorder_graph(&comm, &g, &order), MPI_SUCCESS);
    assert_non_null(order);
    check_permutation(order, 8);
    assert_int_equal(count_cut(&g, order), 0);
    for (int i = 0; i < 8; i++) {
        comm.rank = order[i];
        assert_int_equal(wf_reorder_rank(&comm, 8, order), i);
    }
    free(order);
}

static void no_order_is_ever_worse(void **state)
{
    int first[MOST + 1], adjacent[MOST * 6], found = 0;

    for (int seed = 1; seed < 200; seed++) {
        int n = 2 + seed % (MOST - 2), at = 0, *order;
        struct wf_edges g = {n, first, adjacent, NULL};
        srand((unsigned)seed);
        make_world(n, 5, choose_node);
        for (int v = 0; v < n; v++)
            for (int k = first[v] = at, more = k + rand() % 6; k < more; k++)
                adjacent[at++] = rand() % n;
        first[n] = at;
        assert_int_equal(wf_reorder_graph(&comm, &g, &order), MPI_SUCCESS);
        if (!order)
            continue;
        found++;
        check_permutation(order, n);
        assert_true(count_cut(&g, order) < count_cut(&g, NULL));
        free(order);
    }
    assert_true(found > 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coordinates_and_ranks_are_one_to_one),
        cmocka_unit_test(borders_have_no_neighbour_and_periods_wrap),
        cmocka_unit_test(rows_on_nodes_become_squares),
        cmocka_unit_test(processes_placed_in_turn_are_brought_together),
        cmocka_unit_test(a_good_order_is_left_alone),
        cmocka_unit_test(partners_come_to_one_node),
        cmocka_unit_test(no_order_is_ever_worse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
