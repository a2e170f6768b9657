/* Datatypes as objects: predefined facts, bounds, contents, names, errors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>
/* */
#include <cmocka.h>

#include "report/state.h"
#include "datatype/move.h"
#include "datatype/named.h"
#include "datatype/segments.h"
#include "type_rig.h"

#include "datatype/predefined.h"
#include "protocol/request.h"

static struct wf_ints check_counts(const MPI_Count *a)
{
    return (struct wf_ints){a, sizeof *a};
}

static void predefined_types_have_the_sizes_of_their_C_types(void **state)
{
    static const struct {
        MPI_Datatype type;
        size_t size, extent;
        const char *name;
    } known[] = {
        {MPI_INT, sizeof(int), sizeof(int), "MPI_INT"},
        {MPI_LONG_DOUBLE, sizeof(long double), sizeof(long double),
         "MPI_LONG_DOUBLE"},
        {MPI_WCHAR, sizeof(wchar_t), sizeof(wchar_t), "MPI_WCHAR"},
        {MPI_C_BOOL, sizeof(_Bool), sizeof(_Bool), "MPI_C_BOOL"},
        {MPI_AINT, sizeof(MPI_Aint), sizeof(MPI_Aint), "MPI_AINT"},
        {MPI_PACKED, 1, 1, "MPI_PACKED"},
        {MPI_LOGICAL, 4, 4, "MPI_LOGICAL"},
        {MPI_REAL16, 16, 16, "MPI_REAL16"},
        {MPI_COMPLEX32, 32, 32, "MPI_COMPLEX32"},
        {MPI_REAL2, 2, 2, "MPI_REAL2"},
        {MPI_DOUBLE_COMPLEX, 16, 16, "MPI_DOUBLE_COMPLEX"},
        {MPI_SHORT_INT, 6, sizeof(wf_short_int), "MPI_SHORT_INT"},
        {MPI_DOUBLE_INT, 12, sizeof(wf_double_int), "MPI_DOUBLE_INT"},
        {MPI_LONG_DOUBLE_INT, sizeof(long double) + 4,
         sizeof(wf_long_double_int), "MPI_LONG_DOUBLE_INT"},
        {MPI_2INTEGER, 8, 8, "MPI_2INTEGER"},
    };
    char name[MPI_MAX_OBJECT_NAME];
    int n;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_int_equal(type_of(known[i].type)->size, known[i].size);
        extent_is(known[i].type, 0, (MPI_Count)known[i].extent);
        wf_mpi_type_get_name(&wf, type_of(known[i].type), name, &n);
        assert_string_equal(name, known[i].name);
        assert_int_equal(n, strlen(name));
        assert_ptr_equal(wf_type_handle(type_of(known[i].type)), known[i].type);
    }
}

static void an_invalid_handle_is_no_datatype(void **state)
{
    uint64_t other[4] = {WF_KIND_GROUP};
    int found = 0;

    assert_null(wf_type_of(MPI_DATATYPE_NULL));
    assert_null(wf_type_of((MPI_Datatype)0x204)); /* a gap in the ABI */
    assert_null(wf_type_of((MPI_Datatype)0x1ff));
    assert_null(wf_type_of((MPI_Datatype)0x2ff));
    assert_null(wf_type_of((MPI_Datatype)NULL));
    assert_null(wf_type_of((MPI_Datatype)other));
    for (uintptr_t v = 0x200; v < 0x300; v++)
        found += wf_type_of((MPI_Datatype)v) != NULL;
    assert_int_equal(found, 70);
}

static void struct_extent_is_rounded_to_the_strictest_alignment(void **state)
{
    MPI_Datatype t, nested, plain;
    MPI_Aint at[] = {0, 8};

    wf_mpi_type_create_struct(&wf, 2, ints_of((int[]){1, 1}),
                              (struct wf_ints){at, sizeof *at},
                              (MPI_Datatype[]){MPI_DOUBLE, MPI_CHAR}, &t);
    extent_is(t, 0, 16);
    assert_int_equal(type_of(t)->true_extent, 9);
    wf_mpi_type_create_resized(&wf, type_of(t), 0, 9, &nested);
    extent_is(nested, 0, 9);
    /* set bounds stick: no rounding in what is built from it */
    wf_mpi_type_contiguous(&wf, 3, type_of(nested), &plain);
    extent_is(plain, 0, 27);
    free_type(t);
    free_type(nested);
    free_type(plain);
}

static void empty_types_have_no_extent(void **state)
{
    MPI_Datatype none, empty;
    MPI_Aint at[] = {100};

    wf_mpi_type_contiguous(&wf, 0, type_of(MPI_INT), &none);
    extent_is(none, 0, 0);
    wf_mpi_type_create_struct(&wf, 1, ints_of((int[]){4}),
                              (struct wf_ints){at, sizeof *at},
                              (MPI_Datatype[]){none}, &empty);
    extent_is(empty, 0, 0);
    assert_int_equal(type_of(empty)->size, 0);
    wf_type_pack(type_of(empty), NULL, 7, 0, NULL, 0);
    assert_int_equal(wf_type_list_segments(type_of(empty), NULL, 7, 0,
                                           &(struct iovec){0}, 1),
                     0);
    free_type(none);
    free_type(empty);
}

static void equal_placements_are_recognised_as_contiguous(void **state)
{
    MPI_Datatype t[5];

    wf_mpi_type_vector(&wf, 8, 4, 4, type_of(MPI_INT), &t[0]);
    wf_mpi_type_indexed(&wf, 3, ints_of((int[]){1, 2, 3}),
                        ints_of((int[]){0, 1, 3}), type_of(MPI_DOUBLE), &t[1]);
    wf_mpi_type_create_hvector(&wf, 5, 2, 8, type_of(MPI_INT), &t[2]);
    wf_mpi_type_contiguous(&wf, 7, type_of(t[2]), &t[3]);
    wf_mpi_type_create_subarray(&wf, 2, ints_of((int[]){4, 4}),
                                ints_of((int[]){4, 4}), ints_of((int[]){0, 0}),
                                MPI_ORDER_C, type_of(t[3]), &t[4]);
    for (int i = 0; i < 5; i++) {
        assert_true(wf_type_is_contiguous(type_of(t[i])));
        assert_int_equal(type_of(t[i])->size, type_of(t[i])->extent);
    }
    for (int i = 0; i < 5; i++)
        free_type(t[i]);
}

static void absolute_addresses_work_with_MPI_BOTTOM(void **state)
{
    double a = 1.5;
    int b = 7;
    char packed[12];
    MPI_Aint at[2];
    MPI_Datatype t;

    wf_mpi_get_address(&wf, &a, &at[0]);
    wf_mpi_get_address(&wf, &b, &at[1]);
    assert_int_equal(
        wf_mpi_type_create_struct(&wf, 2, ints_of((int[]){1, 1}),
                                  (struct wf_ints){at, sizeof *at},
                                  (MPI_Datatype[]){MPI_DOUBLE, MPI_INT}, &t),
        MPI_SUCCESS);
    wf_type_pack(type_of(t), MPI_BOTTOM, 1, 0, packed, 12);
    assert_memory_equal(packed, &a, 8);
    assert_memory_equal(packed + 8, &b, 4);
    a = b = 0;
    wf_type_unpack(type_of(t), MPI_BOTTOM, 1, 0, packed, 12);
    assert_true(a == 1.5);
    assert_int_equal(b, 7);
    free_type(t);
}

static void envelope_is(MPI_Datatype type, int combiner, int ni, int na, int nc,
                        int nd)
{
    MPI_Count got[4];
    int c;

    wf_mpi_type_get_envelope_c(&wf, type_of(type), &got[0], &got[1], &got[2],
                               &got[3], &c);
    assert_int_equal(c, combiner);
    assert_int_equal(got[0], ni);
    assert_int_equal(got[1], na);
    assert_int_equal(got[2], nc);
    assert_int_equal(got[3], nd);
}

static void contents_give_back_the_arguments(void **state)
{
    MPI_Aint at[] = {0, 64, 100}, addresses[3];
    MPI_Datatype inner, t, types[3];
    int blk[] = {1, 2, 3}, integers[8];

    wf_mpi_type_vector(&wf, 3, 2, 5, type_of(MPI_INT), &inner);
    envelope_is(inner, MPI_COMBINER_VECTOR, 3, 0, 0, 1);
    wf_mpi_type_get_contents(&wf, type_of(inner), 3, 0, 1, integers, NULL,
                             types);
    assert_int_equal(integers[0], 3);
    assert_int_equal(integers[1], 2);
    assert_int_equal(integers[2], 5);
    assert_ptr_equal(types[0], MPI_INT);
    wf_mpi_type_create_struct(&wf, 3, ints_of(blk),
                              (struct wf_ints){at, sizeof *at},
                              (MPI_Datatype[]){inner, MPI_CHAR, inner}, &t);
    free_type(inner);
    envelope_is(t, MPI_COMBINER_STRUCT, 4, 3, 0, 3);
    assert_int_equal(wf_mpi_type_get_contents(&wf, type_of(t), 3, 3, 3,
                                              integers, addresses, types),
                     MPI_ERR_ARG); /* one integer short */
    assert_int_equal(wf_mpi_type_get_contents(&wf, type_of(t), 4, 3, 3,
                                              integers, addresses, types),
                     MPI_SUCCESS);
    assert_int_equal(integers[0], 3);
    assert_memory_equal(integers + 1, blk, sizeof blk);
    assert_memory_equal(addresses, at, sizeof at);
    assert_ptr_equal(types[0], inner);
    assert_ptr_equal(types[1], MPI_CHAR);
    free_type(t);
    extent_is(types[0], 0, 48); /* the handles hold what they name */
    free_type(types[0]);
    free_type(types[2]);
}

static void large_constructors_show_counts(void **state)
{
    MPI_Count blk[] = {1, 2}, disp[] = {0, 4}, got[8], n[3];
    MPI_Count sizes[] = {4, 6}, subs[] = {2, 3}, starts[] = {1, 2};
    MPI_Datatype t, box, old;
    int integers[4], combiner;

    wf_mpi_type_indexed(&wf, 2, check_counts(blk), check_counts(disp),
                        type_of(MPI_INT), &t);
    envelope_is(t, MPI_COMBINER_INDEXED, 0, 0, 5, 1);
    assert_int_equal(wf_mpi_type_get_envelope(&wf, type_of(t), &n[0], &n[1],
                                              &n[2], &combiner),
                     MPI_ERR_TYPE);
    wf_mpi_type_get_contents_c(&wf, type_of(t), 0, 0, 5, 1, NULL, NULL, got,
                               &old);
    assert_int_equal(got[0], 2);
    assert_memory_equal(got + 1, blk, sizeof blk);
    assert_memory_equal(got + 3, disp, sizeof disp);
    wf_mpi_type_create_subarray(&wf, 2, check_counts(sizes), check_counts(subs),
                                check_counts(starts), MPI_ORDER_C,
                                type_of(MPI_INT), &box);
    envelope_is(box, MPI_COMBINER_SUBARRAY, 2, 0, 6, 1);
    wf_mpi_type_get_contents_c(&wf, type_of(box), 2, 0, 6, 1, integers, NULL,
                               got, &old);
    assert_int_equal(integers[0], 2);
    assert_int_equal(integers[1], MPI_ORDER_C);
    assert_memory_equal(got, sizes, sizeof sizes);
    assert_memory_equal(got + 2, subs, sizeof subs);
    assert_memory_equal(got + 4, starts, sizeof starts);
    free_type(t);
    free_type(box);
    wf_mpi_type_contiguous(&wf, (MPI_Count)1 << 40, type_of(MPI_INT), &t);
    envelope_is(t, MPI_COMBINER_CONTIGUOUS, 0, 0, 1, 1);
    assert_int_equal(type_of(t)->size, (int64_t)4 << 40);
    free_type(t);
    wf_call_now.large = true; /* as MPI_Type_vector_c announces itself */
    wf_mpi_type_vector(&wf, 1, 2, 3, type_of(MPI_INT), &t);
    wf_call_now.large = false;
    envelope_is(t, MPI_COMBINER_VECTOR, 0, 0, 3, 1);
    free_type(t);
}

static void predefined_types_have_no_contents_and_are_not_freed(void **state)
{
    MPI_Datatype t = MPI_INT;

    envelope_is(MPI_INT, MPI_COMBINER_NAMED, 0, 0, 0, 0);
    assert_int_equal(
        wf_mpi_type_get_contents(&wf, type_of(t), 0, 0, 0, NULL, NULL, NULL),
        MPI_ERR_TYPE);
    assert_int_equal(wf_mpi_type_free(&wf, &t), MPI_ERR_TYPE);
    assert_ptr_equal(t, MPI_INT);
}

static void impossible_spans_are_refused(void **state)
{
    MPI_Count blk[] = {1}, disp[] = {INT64_MAX / 2};
    MPI_Datatype t = MPI_DATATYPE_NULL, big;

    assert_int_equal(
        wf_mpi_type_contiguous(&wf, INT64_MAX, type_of(MPI_INT), &t),
        MPI_ERR_COUNT);
    assert_int_equal(
        wf_mpi_type_vector(&wf, INT64_MAX / 4, 1, 5, type_of(MPI_INT), &t),
        MPI_ERR_COUNT);
    assert_int_equal(wf_mpi_type_indexed(&wf, 1, check_counts(blk),
                                         check_counts(disp), type_of(MPI_INT),
                                         &t),
                     MPI_ERR_COUNT);
    assert_int_equal(
        wf_mpi_type_create_resized(&wf, type_of(MPI_INT), INT64_MAX, 1, &t),
        MPI_ERR_ARG);
    assert_ptr_equal(t, MPI_DATATYPE_NULL);
    wf_mpi_type_contiguous(&wf, INT64_MAX / 8, type_of(MPI_DOUBLE), &big);
    assert_int_equal(wf_mpi_type_contiguous(&wf, 2, type_of(big), &t),
                     MPI_ERR_COUNT);
    free_type(big);
}

static void a_freed_type_lives_on_in_types_built_from_it(void **state)
{
    MPI_Datatype column, matrix;
    int data[12], packed[4], wanted[4] = {0, 3, 1, 4};

    for (int i = 0; i < 12; i++)
        data[i] = i;
    wf_mpi_type_vector(&wf, 2, 1, 3, type_of(MPI_INT), &column);
    wf_mpi_type_create_hvector(&wf, 2, 1, 4, type_of(column), &matrix);
    free_type(column);
    wf_mpi_type_commit(&wf, &matrix);
    wf_type_pack(type_of(matrix), data, 1, 0, packed, sizeof packed);
    assert_memory_equal(packed, wanted, sizeof packed);
    free_type(matrix);
}

static void names_belong_to_the_handle(void **state)
{
    char name[MPI_MAX_OBJECT_NAME], longest[300];
    MPI_Datatype t;
    int n;

    wf_mpi_type_contiguous(&wf, 2, type_of(MPI_INT), &t);
    wf_mpi_type_get_name(&wf, type_of(t), name, &n);
    assert_int_equal(n, 0);
    assert_string_equal(name, "");
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    wf_mpi_type_set_name(&wf, type_of(t), longest);
    wf_mpi_type_get_name(&wf, type_of(t), name, &n);
    assert_int_equal(n, MPI_MAX_OBJECT_NAME - 1);
    wf_mpi_type_set_name(&wf, type_of(t), "row");
    wf_mpi_type_get_name(&wf, type_of(t), name, &n);
    assert_string_equal(name, "row");
    wf_mpi_type_set_name(&wf, type_of(MPI_FLOAT), "single");
    wf_mpi_type_get_name(&wf, type_of(MPI_FLOAT), name, &n);
    assert_string_equal(name, "single");
    wf_types_fini(&wf);
    wf_mpi_type_get_name(&wf, type_of(MPI_FLOAT), name, &n);
    assert_string_equal(name, "MPI_FLOAT");
    free_type(t);
}

static void types_are_found_by_class_size_and_parts(void **state)
{
    MPI_Datatype t;

    wf_mpi_type_match_size(&wf, MPI_TYPECLASS_REAL, 8, &t);
    assert_ptr_equal(t, MPI_REAL8);
    wf_mpi_type_match_size(&wf, MPI_TYPECLASS_COMPLEX, 32, &t);
    assert_ptr_equal(t, MPI_COMPLEX32);
    assert_int_equal(wf_mpi_type_match_size(&wf, MPI_TYPECLASS_INTEGER, 3, &t),
                     MPI_ERR_ARG);
    assert_int_equal(wf_mpi_type_match_size(&wf, 5, 4, &t), MPI_ERR_ARG);
    wf_mpi_type_get_value_index(&wf, type_of(MPI_DOUBLE), type_of(MPI_INT), &t);
    assert_ptr_equal(t, MPI_DOUBLE_INT);
    wf_mpi_type_get_value_index(&wf, type_of(MPI_INT), type_of(MPI_INT), &t);
    assert_ptr_equal(t, MPI_2INT);
    wf_mpi_type_get_value_index(&wf, type_of(MPI_CHAR), type_of(MPI_INT), &t);
    assert_ptr_equal(t, MPI_DATATYPE_NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predefined_types_have_the_sizes_of_their_C_types),
        cmocka_unit_test(an_invalid_handle_is_no_datatype),
        cmocka_unit_test(struct_extent_is_rounded_to_the_strictest_alignment),
        cmocka_unit_test(empty_types_have_no_extent),
        cmocka_unit_test(equal_placements_are_recognised_as_contiguous),
        cmocka_unit_test(absolute_addresses_work_with_MPI_BOTTOM),
        cmocka_unit_test(contents_give_back_the_arguments),
        cmocka_unit_test(large_constructors_show_counts),
        cmocka_unit_test(predefined_types_have_no_contents_and_are_not_freed),
        cmocka_unit_test(impossible_spans_are_refused),
        cmocka_unit_test(a_freed_type_lives_on_in_types_built_from_it),
        cmocka_unit_test(names_belong_to_the_handle),
        cmocka_unit_test(types_are_found_by_class_size_and_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
