/* Accumulates on mapped memory (core/rma/atomic.h) against a model: every
 * predefined operation on every predefined type it takes, between random
 * layouts, aligned and not. Bytes that are no data must stay as they are.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma_layouts.h"

#include "datatype/op.h"
#include "datatype/op_kernels.h"
#include "rma/atomic.h"

enum { ROUNDS = 24 };

static _Alignas(64) char result_memory[ROOM], result_model[ROOM];
static _Alignas(64) char old_array[ELEMENTS * 32], new_array[ELEMENTS * 32];

static void compare_with_model(struct rig_shared *s, bool bulk, MPI_Op op,
                               const struct wf_type *basic)
{
    struct wf_rma_domain d = rig_domain(s, 1, bulk);
    struct drawn_side target, origin, result;
    int n = (int)draw_between(1, draw_between(0, 2) ? 40 : ELEMENTS), rc;
    bool fetch = draw_between(0, 1);

    draw_side(&target, s->window, n, basic);
    draw_side(&origin, origin_memory, n, basic);
    draw_side(&result, result_memory, n, basic);
    fill_bytes(s->window, ROOM);
    fill_bytes(origin_memory, ROOM);
    memcpy(window_model, s->window, ROOM);
    memcpy(result_model, result_memory, ROOM);
    to_array(&target.side, basic, old_array, n);
    memcpy(new_array, old_array, sizeof old_array);
    to_array(&origin.side, basic, origin_array, n);
    assert_int_equal(wf_op_apply(NULL, wf_op_of(op), origin_array, new_array,
                                 (uint64_t)n,
                                 (struct wf_type *)(uintptr_t)basic),
                     MPI_SUCCESS);
    from_array(&target.side, basic, new_array, n, window_model - s->window);
    if (fetch) {
        from_array(&result.side, basic, old_array, n,
                   result_model - result_memory);
        rc = wf_rma_get_accumulate(&d, wf_op_of(op), &target.side, &origin.side,
                                   &result.side);
    } else {
        rc = wf_rma_accumulate(&d, wf_op_of(op), &target.side, &origin.side);
    }
    assert_int_equal(rc, MPI_SUCCESS);
    if (memcmp(s->window, window_model, ROOM) ||
        memcmp(result_memory, result_model, ROOM))
        fail_msg("%s, operation %#x, %d elements", wf_type_name(basic),
                 wf_op_of(op)->predefined, n);
    for (int i = 0; i < WF_RMA_STRIPES; i++)
        assert_int_equal(wf_load_relaxed(&d.stripes[i].owner), 0);
    free_side(&target);
    free_side(&origin);
    free_side(&result);
}

static const MPI_Op operations[] = {
    MPI_SUM,  MPI_MIN,  MPI_MAX, MPI_PROD, MPI_BAND,   MPI_BOR,    MPI_BXOR,
    MPI_LAND, MPI_LOR, MPI_LXOR, MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE,
    MPI_NO_OP};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static void accumulates_do_what_the_model_does(void **state)
{
    struct rig_shared *s = rig_map();
    int pairs = 0;

    for (uintptr_t abi = 0x200; abi < WF_TYPES_END; abi++) {
        const struct wf_type *basic = wf_type_find_predefined(abi);

        if (!basic || basic->size == 0)
            continue;
        for (int o = 0; o < OPERATIONS; o++) {
            if (wf_rma_check_op(wf_op_of(operations[o]), basic) != MPI_SUCCESS)
                continue;
            pairs++;
            for (int i = 0; i < ROUNDS; i++)
                compare_with_model(s, i % 4 == 3, operations[o], basic);
        }
    }
    assert_true(pairs > 300);
    rig_unmap(s);
}

static void one_element_is_fetched_and_changed(void **state)
{
    struct rig_shared *s = rig_map();
    struct wf_rma_domain d = rig_domain(s, 0, false);
    _Alignas(16) char origin[32], result[32], old[32], then[32];

    for (int i = 0; i < 20000; i++) {
        uintptr_t abi = (uintptr_t)draw_between(0x200, WF_TYPES_END - 1);
        const struct wf_type *t = wf_type_find_predefined(abi);
        MPI_Op op = operations[draw_between(0, OPERATIONS - 1)];
        char *at = s->window + draw_between(0, 500) * 16;

        if (!t || t->size == 0 ||
            wf_rma_check_op(wf_op_of(op), t) != MPI_SUCCESS)
            continue;
        at += draw_between(0, 3) ? 0 : draw_between(1, 15);
        fill_bytes(s->window, 16384);
        fill_bytes(origin, sizeof origin);
        memcpy(result, origin, sizeof result);
        memcpy(old, origin, sizeof old);
        memcpy(then, at, sizeof then);
        wf_type_copy(t, at, 1, t, old, 1);
        wf_op_apply(NULL, wf_op_of(op), origin, then, 1,
                    (struct wf_type *)(uintptr_t)t);
        assert_int_equal(wf_rma_fetch_and_op(&d, wf_op_of(op), t, at, origin,
                                             result),
                         MPI_SUCCESS);
        assert_memory_equal(result, old, sizeof old);
        assert_memory_equal(at, then, sizeof then);
    }
    rig_unmap(s);
}

static void one_element_is_compared_and_swapped(void **state)
{
    struct rig_shared *s = rig_map();
    static const MPI_Datatype types[] = {
        MPI_INT8_T, MPI_SHORT, MPI_INT,      MPI_LONG,   MPI_BYTE,
        MPI_C_BOOL, MPI_AINT,  MPI_INTEGER,  MPI_LOGICAL};

    for (int i = 0; i < 4000; i++) {
        struct wf_rma_domain d = rig_domain(s, 0, i % 2);
        const struct wf_type *t = wf_type_of(types[draw_between(0, 8)]);
        char origin[8], compare[8], result[8], old[8], *at = s->window + 24;
        struct wf_rma_swap swap = {origin, compare, result};
        size_t n = (size_t)t->size;

        at += draw_between(0, 2) ? 0 : draw_between(1, 7);
        fill_bytes(s->window, 64);
        fill_bytes(origin, sizeof origin);
        memcpy(old, at, sizeof old);
        memcpy(compare, at, sizeof compare);
        if (i % 3 == 0)
            compare[draw_between(0, (int64_t)n - 1)] ^= 64;
        assert_int_equal(wf_rma_compare_and_swap(&d, t, at, &swap),
                         MPI_SUCCESS);
        assert_memory_equal(result, old, n);
        assert_memory_equal(at, i % 3 ? origin : old, n);
        assert_memory_equal(at + n, old + n, sizeof old - n);
    }
    rig_unmap(s);
}

static void what_is_not_allowed_changes_nothing(void **state)
{
    struct rig_shared *s = rig_map();
    struct wf_rma_domain d = rig_domain(s, 0, false);
    double data[4] = {1, 2, 3, 4}, result[4] = {0};
    struct wf_type *dbl = wf_type_of(MPI_DOUBLE);
    struct wf_rma_side target = {s->window, dbl, 4}, origin = {data, dbl, 4};
    struct wf_rma_swap swap = {data, data, result};
    struct wf_op user = {.object = {WF_KIND_OP, 1}};
    int one[2] = {1, 1};
    MPI_Aint disps[2] = {0, 8};
    MPI_Datatype types[2] = {MPI_DOUBLE, MPI_INT}, mixed;

    assert_int_equal(
        wf_rma_accumulate(&d, wf_op_of(MPI_BAND), &target, &origin),
        MPI_ERR_OP);
    assert_int_equal(wf_rma_accumulate(&d, &user, &target, &origin),
                     MPI_ERR_OP);
    origin.count = 3;
    assert_int_equal(
        wf_rma_accumulate(&d, wf_op_of(MPI_SUM), &target, &origin),
        MPI_ERR_COUNT);
    origin = (struct wf_rma_side){data, wf_type_of(MPI_INT64_T), 4};
    assert_int_equal(
        wf_rma_accumulate(&d, wf_op_of(MPI_SUM), &target, &origin),
        MPI_ERR_TYPE);
    wf_mpi_type_create_struct(&wf, 2, (struct wf_ints){one, sizeof *one},
                              (struct wf_ints){disps, sizeof *disps}, types,
                              &mixed);
    origin = (struct wf_rma_side){data, wf_type_of(mixed), 1};
    assert_int_equal(
        wf_rma_accumulate(&d, wf_op_of(MPI_REPLACE), &origin, &origin),
        MPI_ERR_TYPE);
    wf_mpi_type_free(&wf, &mixed);
    assert_int_equal(wf_rma_compare_and_swap(&d, dbl, s->window, &swap),
                     MPI_ERR_TYPE);
    for (int i = 0; i < 64; i++)
        assert_int_equal(s->window[i], 0);
    /* the same machine type by another name, and nothing at all */
    target.type = wf_type_of(MPI_LONG);
    origin = (struct wf_rma_side){data, wf_type_of(MPI_INT64_T), 4};
    assert_int_equal(
        wf_rma_accumulate(&d, wf_op_of(MPI_SUM), &target, &origin),
        MPI_SUCCESS);
    assert_memory_equal(s->window, data, sizeof data);
    target.count = 0;
    assert_int_equal(
        wf_rma_accumulate(&d, wf_op_of(MPI_SUM), &target, &origin),
        MPI_SUCCESS);
    rig_unmap(s);
}

/* An owner of a stripe is gone. */
static void a_stripe_of_the_dead_is_taken_over(void **state)
{
    struct rig_shared *s = rig_map();
    struct wf_rma_domain d = rig_domain(s, 0, false);
    double one = 1, *at = (void *)(s->window + 2048), old = -1;

    wf_store_relaxed(&wf_rma_stripe_of(&d, at)->owner, 3 + 1);
    wf_store_relaxed(&s->gone[3], 1);
    assert_int_equal(wf_rma_fetch_and_op(&d, wf_op_of(MPI_SUM),
                                         wf_type_of(MPI_DOUBLE), at, &one,
                                         &old),
                     MPI_SUCCESS);
    assert_true(*at == 1 && old == 0);
    assert_int_equal(wf_load_relaxed(&wf_rma_stripe_of(&d, at)->owner), 0);
    rig_unmap(s);
}

/* A stripe that has an owner is a way to see who uses it: integers that are
 * aligned do not, except where the window is `bulk`. */
static void each_type_has_one_way(void **state)
{
    struct rig_shared *s = rig_map();
    static const struct {
        MPI_Datatype type;
        int offset;
        bool bulk, stripe;
    } ways[] = {
        {MPI_INT64_T, 0, false, false}, {MPI_INT64_T, 0, true, true},
        {MPI_INT64_T, 4, false, true},  {MPI_INT32_T, 4, false, false},
        {MPI_BYTE, 3, false, false},    {MPI_CHAR, 3, false, false},
        {MPI_SHORT, 1, false, true},    {MPI_FLOAT, 0, false, true},
        {MPI_DOUBLE, 0, false, true},   {MPI_2INT, 0, false, true},
        {MPI_COMPLEX, 0, false, true},  {MPI_C_BOOL, 1, false, false}};
    char value[16] = {0}, result[16];

    wf_store_relaxed(&s->gone[3], 1);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct wf_rma_domain d = rig_domain(s, 0, ways[i].bulk);
        const struct wf_type *t = wf_type_of(ways[i].type);
        MPI_Op ops[] = {MPI_NO_OP, MPI_REPLACE};

        for (int o = 0; o < 2; o++) {
            char *at = s->window + ways[i].offset;
            wf_atomic_u32 *owner = &wf_rma_stripe_of(&d, at)->owner;

            wf_store_relaxed(owner, 3 + 1);
            assert_int_equal(wf_rma_fetch_and_op(&d, wf_op_of(ops[o]), t, at,
                                                 value, result),
                             MPI_SUCCESS);
            assert_int_equal(wf_load_relaxed(owner), ways[i].stripe ? 0 : 4);
        }
    }
    rig_unmap(s);
}

/* An array is under the stripe of each of its pieces in turn. */
static void an_array_takes_the_stripe_of_each_piece(void **state)
{
    struct rig_shared *s = rig_map();
    struct wf_rma_domain d = rig_domain(s, 0, false);
    struct wf_type *t = wf_type_of(MPI_DOUBLE);
    struct wf_rma_side target = {s->window + 1000, t, ELEMENTS};
    struct wf_rma_side origin = {origin_memory, t, ELEMENTS};

    wf_store_relaxed(&s->gone[3], 1);
    for (int i = 0; i < 5; i++)
        wf_store_relaxed(&d.stripes[i].owner, 3 + 1);
    assert_int_equal(
        wf_rma_accumulate(&d, wf_op_of(MPI_SUM), &target, &origin),
        MPI_SUCCESS);
    for (int i = 0; i < 5; i++) /* bytes 1000 to 3399 */
        assert_int_equal(wf_load_relaxed(&d.stripes[i].owner), i < 4 ? 0 : 4);
    rig_unmap(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accumulates_do_what_the_model_does),
        cmocka_unit_test(one_element_is_fetched_and_changed),
        cmocka_unit_test(one_element_is_compared_and_swapped),
        cmocka_unit_test(what_is_not_allowed_changes_nothing),
        cmocka_unit_test(a_stripe_of_the_dead_is_taken_over),
        cmocka_unit_test(each_type_has_one_way),
        cmocka_unit_test(an_array_takes_the_stripe_of_each_piece),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
