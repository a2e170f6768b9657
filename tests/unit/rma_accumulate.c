/* Accumulates on mapped memory (core/rma/atomic.h) against a model: every
 * predefined operation on every predefined type it takes, between random
 * layouts, aligned and not. And the copies and range checks of direct.h.
 *
 * The model packs the target, applies the operation to arrays, and unpacks; so
 * bytes that are no data must stay as they are.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma_rig.h"

#include "core_api.h"
#include "datatype/move.h"
#include "datatype/op.h"
#include "datatype/op_kernels.h"
#include "datatype/predefined.h"
#include "object/error.h"
#include "process/rank.h"
#include "rma/atomic.h"
#include "rma/direct.h"

enum { ROUNDS = 24, ELEMENTS = 300, ROOM = 48 << 10 };

static struct wf_rank wf_rank;
static struct wf_instance wf = {.rank = &wf_rank};
static uint64_t seed = 88172645463325252u;

static int64_t draw_between(int64_t low, int64_t high)
{
    return low + (int64_t)(rig_random(&seed) % (uint64_t)(high - low + 1));
}

/* Bytes that are finite numbers whatever they are taken for. */
static void fill_bytes(char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (char)(rig_random(&seed) % 64);
}

/* ---- random layouts ------------------------------------------------------ */

/* A side of `elements` elements of a basic type, within `room` bytes at `at`,
 * no two of them in one place. */
struct drawn_side {
    struct wf_rma_side side;
    MPI_Datatype made;
};

static MPI_Datatype draw_indexed(const struct wf_type *basic, int n, bool bytes,
                                 int64_t *span)
{
    enum { PARTS = 40 };
    int parts = (int)draw_between(1, n < PARTS ? n : PARTS), lengths[PARTS];
    MPI_Aint disps[PARTS], at = 0;
    MPI_Datatype made;

    for (int i = 0; i < parts; i++) {
        lengths[i] = i == parts - 1 ? n : 1;
        n -= lengths[i];
        disps[i] = at;
        at += lengths[i] * basic->extent;
        at += bytes ? draw_between(0, 7) : draw_between(0, 2) * basic->extent;
    }
    *span = at + basic->extent;
    assert_int_equal(
        wf_mpi_type_create_hindexed(
            &wf, parts, (struct wf_ints){lengths, sizeof *lengths},
            (struct wf_ints){disps, sizeof *disps},
            (struct wf_type *)(uintptr_t)basic, &made),
        MPI_SUCCESS);
    return made;
}

static MPI_Datatype draw_vector(const struct wf_type *basic, int n, bool bytes,
                                int64_t *span)
{
    int64_t stride = basic->extent * draw_between(1, 3);
    MPI_Datatype made;

    stride += bytes ? draw_between(0, 7) : 0;
    *span = stride * n;
    if (draw_between(0, 1)) /* backwards, and a place before its address */
        stride = -stride;
    assert_int_equal(wf_mpi_type_create_hvector(
                         &wf, n, 1, stride, (struct wf_type *)(uintptr_t)basic,
                         &made),
                     MPI_SUCCESS);
    return made;
}

static MPI_Datatype draw_struct(const struct wf_type *basic, int n,
                                int64_t *span)
{
    int lengths[2] = {n / 2, n - n / 2};
    MPI_Aint disps[2] = {(n - n / 2 + 3) * basic->extent, 0};
    MPI_Datatype types[2], made;

    types[0] = types[1] = wf_type_handle((struct wf_type *)(uintptr_t)basic);
    *span = (n + 3) * basic->extent;
    assert_int_equal(wf_mpi_type_create_struct(
                         &wf, 2, (struct wf_ints){lengths, sizeof *lengths},
                         (struct wf_ints){disps, sizeof *disps}, types, &made),
                     MPI_SUCCESS);
    return made;
}

static void draw_side(struct drawn_side *d, char *memory, int n,
                      const struct wf_type *basic)
{
    bool bytes = draw_between(0, 2) == 0;
    int64_t span = n * basic->extent;
    struct wf_type *t;

    memory += 1024 + draw_between(0, 500) * 16;
    memory += draw_between(0, 3) == 0 ? draw_between(1, 15) : 0;
    d->made = MPI_DATATYPE_NULL;
    d->side = (struct wf_rma_side){memory, basic, (uint64_t)n};
    switch (draw_between(0, 4)) {
    case 0:
        return;
    case 1:
        d->made = draw_indexed(basic, n, bytes, &span);
        break;
    case 2:
        d->made = draw_vector(basic, n, bytes, &span);
        break;
    case 3:
        d->made = draw_struct(basic, n, &span);
        break;
    default:
        assert_int_equal(wf_mpi_type_contiguous(
                             &wf, n, (struct wf_type *)(uintptr_t)basic,
                             &d->made),
                         MPI_SUCCESS);
    }
    wf_mpi_type_commit(&wf, &d->made);
    t = wf_type_of(d->made);
    assert_true(span < ROOM - 10000);
    d->side.type = t;
    d->side.count = 1;
    d->side.buf = memory + (t->true_lb < 0 ? -t->true_lb : 0);
}

static void free_side(struct drawn_side *d)
{
    if (d->made != MPI_DATATYPE_NULL)
        wf_mpi_type_free(&wf, &d->made);
}

/* ---- model --------------------------------------------------------------- */

static char packed[ROOM];

static void to_array(const struct wf_rma_side *s, const struct wf_type *basic,
                     void *array, int n)
{
    uint64_t bytes = (uint64_t)(n * basic->size);

    wf_type_pack(s->type, s->buf, s->count, 0, packed, bytes);
    wf_type_unpack(basic, array, (uint64_t)n, 0, packed, bytes);
}

/* Writes an array to the place of a side in another copy of its memory. */
static void from_array(const struct wf_rma_side *s, const struct wf_type *basic,
                       const void *array, int n, ptrdiff_t other)
{
    uint64_t bytes = (uint64_t)(n * basic->size);

    wf_type_pack(basic, array, (uint64_t)n, 0, packed, bytes);
    wf_type_unpack(s->type, (char *)s->buf + other, s->count, 0, packed, bytes);
}

static _Alignas(64) char origin_memory[ROOM], result_memory[ROOM];
static _Alignas(64) char window_model[ROOM], result_model[ROOM];
static _Alignas(64) char old_array[ELEMENTS * 32], new_array[ELEMENTS * 32];
static _Alignas(64) char origin_array[ELEMENTS * 32];

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

/* ---- copies -------------------------------------------------------------- */

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

static int check_range(int64_t disp, int64_t unit, uint64_t size,
                       const struct wf_type *t, uint64_t count)
{
    struct wf_rma_place place = {disp, unit, size};
    int64_t offset = -1;
    int rc = wf_rma_check_range(&place, t, count, &offset);

    if (rc == MPI_SUCCESS)
        assert_int_equal(offset, count ? disp * unit : 0);
    return rc;
}

static void targets_lie_inside_their_window(void **state)
{
    const struct wf_type *i32 = wf_type_of(MPI_INT);
    struct wf_type *back;
    MPI_Datatype made;

    assert_int_equal(check_range(0, 4, 16, i32, 4), MPI_SUCCESS);
    assert_int_equal(check_range(3, 4, 16, i32, 1), MPI_SUCCESS);
    assert_int_equal(check_range(4, 4, 16, i32, 0), MPI_SUCCESS);
    assert_int_equal(check_range(INT64_MAX, 8, 16, i32, 0), MPI_SUCCESS);
    assert_int_equal(check_range(0, 4, 16, i32, 5), MPI_ERR_RMA_RANGE);
    assert_int_equal(check_range(13, 1, 16, i32, 1), MPI_ERR_RMA_RANGE);
    assert_int_equal(check_range(-1, 4, 16, i32, 1), MPI_ERR_RMA_RANGE);
    assert_int_equal(check_range(0, 1, 0, i32, 1), MPI_ERR_RMA_RANGE);
    assert_int_equal(check_range(INT64_MAX / 2, 4, 16, i32, 1),
                     MPI_ERR_RMA_RANGE);
    assert_int_equal(check_range(1, INT64_MAX, 16, i32, 1), MPI_ERR_RMA_RANGE);
    assert_int_equal(check_range(INT64_MAX, 1, UINT64_MAX, i32, 1),
                     MPI_ERR_RMA_RANGE);
    assert_int_equal(check_range(0, 1, 16, i32, UINT64_MAX),
                     MPI_ERR_RMA_RANGE);
    assert_int_equal(check_range(0, 1, 16, i32, INT64_MAX), MPI_ERR_RMA_RANGE);
    assert_non_null(strstr(wf_error_last()->text, "beyond 2^63"));
    assert_int_equal(check_range(2, 4, 10, i32, 1), MPI_ERR_RMA_RANGE);
    assert_non_null(strstr(wf_error_last()->text, "bytes 8 to 11"));
    assert_non_null(strstr(wf_error_last()->text, "10 bytes"));
    /* elements before the displacement */
    wf_mpi_type_create_hvector(&wf, 3, 1, -8, wf_type_of(MPI_INT), &made);
    back = wf_type_of(made);
    assert_int_equal(check_range(16, 1, 20, back, 1), MPI_SUCCESS);
    assert_int_equal(check_range(15, 1, 20, back, 1), MPI_ERR_RMA_RANGE);
    assert_int_equal(check_range(17, 1, 20, back, 1), MPI_ERR_RMA_RANGE);
    wf_mpi_type_free(&wf, &made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accumulates_do_what_the_model_does),
        cmocka_unit_test(one_element_is_fetched_and_changed),
        cmocka_unit_test(one_element_is_compared_and_swapped),
        cmocka_unit_test(what_is_not_allowed_changes_nothing),
        cmocka_unit_test(a_stripe_of_the_dead_is_taken_over),
        cmocka_unit_test(copies_join_any_two_layouts),
        cmocka_unit_test(copies_join_large_segments),
        cmocka_unit_test(targets_lie_inside_their_window),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
