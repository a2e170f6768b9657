/* Copies between layouts and the check of a target's range (core/rma/direct.h).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma_layouts.h"

#include "rma/direct.h"

static void copies_join_any_two_layouts(void **state)
{
    struct rig_shared *s = rig_map();
    static const MPI_Datatype types[] = {MPI_CHAR, MPI_SHORT_INT, MPI_INT,
                                         MPI_DOUBLE, MPI_DOUBLE_INT,
                                         MPI_LONG_DOUBLE};

    for (int i = 0; i < 1500; i++) {
        const struct wf_type *basic = wf_type_of(types[i % 6]);
        struct drawn_side target, origin;
        int n = (int)draw_between(1, draw_between(0, 2) ? 40 : ELEMENTS);

        draw_side(&target, s->window, n, basic);
        draw_side(&origin, origin_memory, n, basic);
        fill_bytes(s->window, ROOM);
        fill_bytes(origin_memory, ROOM);
        memcpy(window_model, s->window, ROOM);
        to_array(&origin.side, basic, origin_array, n);
        from_array(&target.side, basic, origin_array, n,
                   window_model - s->window);
        wf_rma_copy(&target.side, &origin.side);
        assert_memory_equal(s->window, window_model, ROOM);
        free_side(&target);
        free_side(&origin);
    }
    rig_unmap(s);
}

/* Large segments on both sides are met without a stage. */
static void copies_join_large_segments(void **state)
{
    enum { BLOCK = 6000, BLOCKS = 5 };
    static char from[BLOCK * BLOCKS * 2], to[BLOCK * BLOCKS * 2];
    static char model[sizeof to];
    MPI_Datatype a, b;

    fill_bytes(from, sizeof from);
    wf_mpi_type_create_hvector(&wf, BLOCKS, BLOCK, BLOCK * 2,
                               wf_type_of(MPI_CHAR), &a);
    wf_mpi_type_create_hvector(&wf, BLOCKS - 1, BLOCK / 4 * 5, BLOCK * 2,
                               wf_type_of(MPI_CHAR), &b);
    wf_mpi_type_commit(&wf, &a);
    wf_mpi_type_commit(&wf, &b);
    assert_false(wf_type_of(a)->flags & WF_TYPE_SMALL_SEGMENTS);
    wf_rma_copy(&(struct wf_rma_side){to, wf_type_of(b), 1},
                &(struct wf_rma_side){from, wf_type_of(a), 1});
    wf_type_copy(wf_type_of(a), from, 1, wf_type_of(b), model, 1);
    assert_memory_equal(to, model, sizeof to);
    wf_mpi_type_free(&wf, &a);
    wf_mpi_type_free(&wf, &b);
}

/* ---- ranges -------------------------------------------------------------- */

static void targets_lie_inside_their_window(void **state)
{
    const struct wf_type *i32 = wf_type_of(MPI_INT);
    struct wf_type *back;
    MPI_Datatype made;

    assert_true(wf_rma_is_in_range(16, 0, i32, 4));
    assert_true(wf_rma_is_in_range(16, 12, i32, 1));
    assert_true(wf_rma_is_in_range(16, 16, i32, 0));
    assert_false(wf_rma_is_in_range(16, 0, i32, 5));
    assert_false(wf_rma_is_in_range(16, 13, i32, 1));
    assert_false(wf_rma_is_in_range(0, 0, i32, 1));
    assert_false(wf_rma_is_in_range(10, 8, i32, 1));
    assert_false(wf_rma_is_in_range(16, INT64_MAX - 2, i32, 1));
    assert_false(wf_rma_is_in_range(UINT64_MAX, INT64_MAX, i32, 1));
    assert_false(wf_rma_is_in_range(UINT64_MAX, UINT64_MAX, i32, 1));
    assert_false(wf_rma_is_in_range(16, 0, i32, UINT64_MAX));
    assert_false(wf_rma_is_in_range(16, 0, i32, INT64_MAX));
    assert_false(wf_rma_is_in_range(UINT64_MAX, 0, i32, INT64_MAX / 2));
    /* elements before the position */
    wf_mpi_type_create_hvector(&wf, 3, 1, -8, wf_type_of(MPI_INT), &made);
    back = wf_type_of(made);
    assert_true(wf_rma_is_in_range(20, 16, back, 1));
    assert_false(wf_rma_is_in_range(20, 15, back, 1));
    assert_false(wf_rma_is_in_range(20, 17, back, 1));
    wf_mpi_type_free(&wf, &made);
    /* elements, of which each lies before the last */
    wf_mpi_type_create_resized(&wf, wf_type_of(MPI_INT), 0, -8, &made);
    back = wf_type_of(made);
    assert_true(wf_rma_is_in_range(20, 16, back, 3));
    assert_false(wf_rma_is_in_range(20, 15, back, 3));
    assert_false(wf_rma_is_in_range(20, 17, back, 3));
    assert_false(wf_rma_is_in_range(UINT64_MAX, 16, back, INT64_MAX / 4));
    wf_mpi_type_free(&wf, &made);
    /* elements at one place, with more bytes than there are numbers */
    wf_mpi_type_create_resized(&wf, wf_type_of(MPI_INT), 0, 0, &made);
    back = wf_type_of(made);
    assert_true(wf_rma_is_in_range(20, 16, back, 1000));
    assert_false(wf_rma_is_in_range(20, 16, back, INT64_MAX / 2));
    wf_mpi_type_free(&wf, &made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_join_any_two_layouts),
        cmocka_unit_test(copies_join_large_segments),
        cmocka_unit_test(targets_lie_inside_their_window),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
