/* Fortran's parametrised types: predefined, with a record of what was asked.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core_api.h"
#include "datatype/named.h"
#include "datatype/op.h"
#include "datatype/predefined.h"
#include "datatype/type.h"
#include "process/rank.h"

static struct wf_rank wf_rank;
static struct wf_instance wf = {.rank = &wf_rank};

static struct wf_type *make_real(int p, int r)
{
    MPI_Datatype t = MPI_DATATYPE_NULL;

    return wf_mpi_type_create_f90_real(&wf, p, r, &t) ? NULL : wf_type_of(t);
}

static struct wf_type *make_integer(int r)
{
    MPI_Datatype t = MPI_DATATYPE_NULL;

    return wf_mpi_type_create_f90_integer(&wf, r, &t) ? NULL : wf_type_of(t);
}

static void the_smallest_type_that_will_do_is_chosen(void **state)
{
    MPI_Datatype t;

    assert_int_equal(make_real(6, 37)->size, 4);
    assert_int_equal(make_real(7, MPI_UNDEFINED)->size, 8);
    assert_int_equal(make_real(MPI_UNDEFINED, 38)->size, 8);
    assert_int_equal(make_real(33, 4931)->size, 16);
    assert_int_equal(make_integer(2)->size, 1);
    assert_int_equal(make_integer(4)->size, 2);
    assert_int_equal(make_integer(9)->size, 4);
    assert_int_equal(make_integer(10)->size, 8);
    assert_int_equal(make_integer(38)->size, 16);
    wf_mpi_type_create_f90_complex(&wf, 15, 307, &t);
    assert_int_equal(wf_type_of(t)->size, 16);
}

static void parameters_beyond_all_types_are_refused(void **state)
{
    assert_null(make_real(34, 1));
    assert_null(make_real(1, 5000));
    assert_null(make_real(MPI_UNDEFINED, MPI_UNDEFINED));
    assert_null(make_real(-1, 1));
    assert_null(make_integer(39));
    assert_null(make_integer(MPI_UNDEFINED));
}

static void equal_parameters_give_the_same_handle(void **state)
{
    assert_ptr_equal(make_real(10, 30), make_real(10, 30));
    assert_ptr_not_equal(make_real(10, 30), make_real(11, 30));
    assert_ptr_not_equal(make_real(3, 0), make_integer(3));
}

static void it_is_predefined_and_tells_its_parameters(void **state)
{
    struct wf_type *t = make_real(10, MPI_UNDEFINED);
    MPI_Datatype handle = wf_type_handle(t);
    MPI_Count ints, addresses, types;
    int combiner, values[2], length;
    char name[MPI_MAX_OBJECT_NAME];

    assert_ptr_equal(wf_type_of(handle), t);
    wf_mpi_type_get_envelope(&wf, t, &ints, &addresses, &types, &combiner);
    assert_int_equal(combiner, MPI_COMBINER_F90_REAL);
    assert_true(ints == 2 && addresses == 0 && types == 0);
    wf_mpi_type_get_contents(&wf, t, 2, 0, 0, values, NULL, NULL);
    assert_true(values[0] == 10 && values[1] == MPI_UNDEFINED);
    wf_mpi_type_get_envelope(&wf, make_integer(5), &ints, &addresses, &types,
                             &combiner);
    assert_true(combiner == MPI_COMBINER_F90_INTEGER && ints == 1);
    assert_true(t->flags & WF_TYPE_COMMITTED);
    assert_int_equal(wf_mpi_type_free(&wf, &handle), MPI_ERR_TYPE);
    wf_mpi_type_get_name(&wf, t, name, &length);
    assert_int_equal(length, 0);
}

static void it_can_be_reduced_derived_from_and_packed(void **state)
{
    struct wf_type *t = make_real(15, 307), *pair;
    double a[2] = {1.5, 2}, b[2] = {3, 4};
    unsigned char big[16];
    MPI_Datatype h, inner[1];
    MPI_Count at = 0;

    assert_int_equal(wf_op_check(wf_op_of(MPI_SUM), t, NULL), MPI_SUCCESS);
    wf_op_apply(NULL, wf_op_of(MPI_SUM), a, b, 2, t);
    assert_true(b[0] == 4.5 && b[1] == 6);
    assert_int_not_equal(wf_op_check(wf_op_of(MPI_BAND), t, NULL), MPI_SUCCESS);
    assert_int_equal(wf_op_check(wf_op_of(MPI_BAND), make_integer(9), NULL),
                     MPI_SUCCESS);
    wf_mpi_type_contiguous(&wf, 2, t, &h);
    pair = wf_type_of(h);
    assert_int_equal(pair->size, 16);
    wf_mpi_type_get_contents(&wf, pair, 1, 0, 1, (int[1]){0}, NULL, inner);
    assert_ptr_equal(inner[0], wf_type_handle(t));
    assert_int_equal(wf_mpi_pack_external(&wf, "external32", a, 1, pair, big,
                                          16, &at), MPI_SUCCESS);
    assert_int_equal(at, 16);
    assert_true(big[0] == 0x3f && big[1] == 0xf8);
    wf_mpi_type_free(&wf, &h);
}

static int end_case(void **state)
{
    wf_types_fini(&wf);
    assert_null(wf.rank->types);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_type_that_will_do_is_chosen),
        cmocka_unit_test(parameters_beyond_all_types_are_refused),
        cmocka_unit_test(equal_parameters_give_the_same_handle),
        cmocka_unit_test(it_is_predefined_and_tells_its_parameters),
        cmocka_unit_test(it_can_be_reduced_derived_from_and_packed),
    };
    return cmocka_run_group_tests(tests, NULL, end_case);
}
