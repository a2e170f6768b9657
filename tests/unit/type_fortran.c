/* These tests check what a Fortran layer says about its compiler: sizes, types
 * that do not exist, and the values of true and false. Each is set once per
 * process, so the tests build on each other.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "core_api.h"
#include "datatype/op.h"
#include "datatype/predefined.h"
#include "object/env.h"
#include "object/info.h"
#include "process/rank.h"
#include "report/error.h"

static struct wf_rank wf_rank;
static struct wf_instance wf = {.rank = &wf_rank};

/* key, value, key, value, ..., NULL */
static int set_value(const char *key, ...)
{
    struct wf_info *info = wf_info_create();
    va_list more;
    int rc;

    va_start(more, key);
    for (; key; key = va_arg(more, const char *))
        wf_info_put(info, key, va_arg(more, const char *));
    va_end(more);
    rc = wf_mpi_abi_set_fortran_info(&wf, info);
    wf_info_destroy(info);
    return rc;
}

static int64_t size_of(MPI_Datatype type)
{
    MPI_Count size;

    wf_mpi_type_size(&wf, wf_type_of(type), &size);
    return size;
}

static void nothing_is_known_before_a_layer_reports(void **state)
{
    MPI_Info info = (MPI_Info)&wf;
    int is_set = 7;

    assert_int_equal(wf_mpi_abi_get_fortran_info(&wf, &info), MPI_SUCCESS);
    assert_ptr_equal(info, MPI_INFO_NULL);
    wf_mpi_abi_get_fortran_booleans(&wf, 4, NULL, NULL, &is_set);
    assert_int_equal(is_set, 0);
    assert_int_equal(size_of(MPI_INTEGER), 4);
}

static void impossible_sizes_change_nothing(void **state)
{
    assert_int_equal(
        set_value("mpi_integer_size", "8", "mpi_real_size", "3", NULL),
        MPI_ERR_ABI);
    assert_non_null(strstr(wf_error_last()->text, "mpi_real_size is \"3\""));
    assert_int_equal(set_value("mpi_integer_size", "eight", NULL), MPI_ERR_ABI);
    assert_int_equal(set_value("mpi_logical_size", "3", NULL), MPI_ERR_ABI);
    assert_int_equal(set_value("mpi_double_precision_size", "5", NULL),
                     MPI_ERR_ABI);
    assert_int_equal(set_value("mpi_real2_supported", "perhaps", NULL),
                     MPI_ERR_INFO_VALUE);
    assert_int_equal(size_of(MPI_INTEGER), 4);
}

static void sizes_change_with_all_that_follows_from_them(void **state)
{
    MPI_Datatype derived;
    int64_t a[2] = {5, 1}, b[2] = {5, 0};
    double x[4] = {1, 2, 3, 4}, y[4] = {1, 1, 1, 1};

    assert_int_equal(set_value("mpi_logical_size", "8", "mpi_integer_size", "8",
                         "mpi_real_size", "8", "mpi_double_precision_size",
                         "16", "mpi_logical1_supported", "true",
                         "mpi_real2_supported", "false",
                         "mpi_complex4_supported", "false", NULL),
                     MPI_SUCCESS);
    assert_int_equal(size_of(MPI_LOGICAL), 8);
    assert_int_equal(size_of(MPI_INTEGER), 8);
    assert_int_equal(size_of(MPI_2INTEGER), 16);
    assert_int_equal(size_of(MPI_COMPLEX), 16);
    assert_int_equal(size_of(MPI_2REAL), 16);
    assert_int_equal(size_of(MPI_DOUBLE_PRECISION), 16);
    assert_int_equal(size_of(MPI_DOUBLE_COMPLEX), 32);
    assert_int_equal(wf_type_contig_size(MPI_INTEGER), 8);
    assert_int_equal(size_of(MPI_INTEGER4), 4);

    assert_int_equal(wf_op_apply(NULL, wf_op_of(MPI_SUM), a, b, 2,
                                 wf_type_of(MPI_INTEGER)), MPI_SUCCESS);
    assert_int_equal(b[0], 10);
    b[0] = 5;
    wf_op_apply(NULL, wf_op_of(MPI_MINLOC), a, b, 1, wf_type_of(MPI_2INTEGER));
    assert_int_equal(b[1], 1);
    wf_op_apply(NULL, wf_op_of(MPI_PROD), x, y, 2, wf_type_of(MPI_COMPLEX));
    assert_true(y[0] == -1 && y[1] == 3 && y[2] == -1 && y[3] == 7);

    wf_mpi_type_contiguous(&wf, 3, wf_type_of(MPI_2INTEGER), &derived);
    assert_int_equal(size_of(derived), 48);
    wf_mpi_type_free(&wf, &derived);
}

/* MPI-5.0 s15.5.2: an INTEGER has four bytes there, whatever it has here. */
static void external32_has_its_own_sizes(void **state)
{
    int64_t five = 5, back = 0, large = INT64_C(1) << 40;
    double half = 0.5, again = 0;
    unsigned char ext[8];
    MPI_Count at = 0;

    assert_int_equal(wf_mpi_pack_external(&wf, "external32", &five, 1,
                                          wf_type_of(MPI_INTEGER), ext, 8, &at),
                     MPI_SUCCESS);
    assert_int_equal(at, 4);
    assert_memory_equal(ext, "\0\0\0\5", 4);
    at = 0;
    wf_mpi_unpack_external(&wf, "external32", ext, 8, &at, &back, 1,
                           wf_type_of(MPI_INTEGER));
    assert_int_equal(back, 5);
    at = 0;
    assert_int_equal(wf_mpi_pack_external(&wf, "external32", &large, 1,
                                          wf_type_of(MPI_INTEGER), ext, 8, &at),
                     MPI_ERR_CONVERSION);
    wf_mpi_pack_external(&wf, "external32", &half, 1, wf_type_of(MPI_REAL), ext,
                         8, &at);
    assert_int_equal(at, 8);
    at = 0;
    wf_mpi_unpack_external(&wf, "external32", ext, 8, &at, &again, 1,
                           wf_type_of(MPI_REAL));
    assert_true(again == 0.5);
}

static void a_type_that_the_compiler_lacks_is_no_type(void **state)
{
    MPI_Datatype t;

    assert_null(wf_type_of(MPI_REAL2));
    assert_true(wf_type_is_removed(MPI_REAL2));
    assert_false(wf_type_is_removed(MPI_REAL4));
    assert_false(wf_type_is_removed(MPI_DATATYPE_NULL));
    assert_int_equal(size_of(MPI_REAL2), MPI_UNDEFINED);
    assert_int_equal(wf_type_contig_size(MPI_REAL2), 0);
    assert_int_equal(wf_mpi_type_match_size(&wf, MPI_TYPECLASS_REAL, 2, &t),
                     MPI_ERR_ARG);
    assert_int_equal(wf_mpi_type_match_size(&wf, MPI_TYPECLASS_REAL, 4, &t),
                     MPI_SUCCESS);
}

static void only_the_first_call_counts_and_can_be_asked_for(void **state)
{
    MPI_Info info;

    assert_int_equal(set_value("mpi_integer_size", "4", NULL), MPI_ERR_ABI);
    assert_int_equal(size_of(MPI_INTEGER), 8);
    wf_mpi_abi_get_fortran_info(&wf, &info);
    assert_string_equal(wf_info_find(wf_info_of(&wf, info), "mpi_integer_size"),
                        "8");
    wf_mpi_info_free(&wf, &info);
}

static void logical_operations_use_the_values_of_the_compiler(void **state)
{
    int64_t yes = -1, no = 0, other = 7, t = 0, f = 0;
    int64_t x[4] = {-1, -1, 0, 0}, y[4] = {-1, 0, -1, 0}, z[4];
    _Bool c = 1, d = 1;
    int is_set;

    assert_int_equal(wf_mpi_abi_set_fortran_booleans(&wf, 3, &yes, &no),
                     MPI_ERR_ARG);
    assert_int_equal(wf_mpi_abi_set_fortran_booleans(&wf, 8, &yes, &no),
                     MPI_SUCCESS);
    assert_int_equal(wf_mpi_abi_set_fortran_booleans(&wf, 8, &other, &no),
                     MPI_ERR_ABI);
    wf_mpi_abi_get_fortran_booleans(&wf, 8, &t, &f, &is_set);
    assert_true(is_set && t == -1 && f == 0);

    memcpy(z, y, sizeof y);
    wf_op_apply(NULL, wf_op_of(MPI_LAND), x, z, 4, wf_type_of(MPI_LOGICAL));
    assert_true(z[0] == -1 && z[1] == 0 && z[2] == 0 && z[3] == 0);
    memcpy(z, y, sizeof y);
    wf_op_apply(NULL, wf_op_of(MPI_LOR), x, z, 4, wf_type_of(MPI_LOGICAL8));
    assert_true(z[0] == -1 && z[1] == -1 && z[2] == -1 && z[3] == 0);
    memcpy(z, y, sizeof y);
    wf_op_apply(NULL, wf_op_of(MPI_LXOR), x, z, 4, wf_type_of(MPI_LOGICAL));
    assert_true(z[0] == 0 && z[1] == -1 && z[2] == -1 && z[3] == 0);
    /* C's have no other values than 0 and 1, whatever Fortran does */
    yes = 255;
    wf_mpi_abi_set_fortran_booleans(&wf, 1, &yes, &no);
    wf_op_apply(NULL, wf_op_of(MPI_LAND), &c, &d, 1, wf_type_of(MPI_C_BOOL));
    assert_memory_equal(&d, "\1", 1);
}

/* Each kind may have another value for true. */
static void each_size_has_its_own_values(void **state)
{
    static const MPI_Datatype types[] = {MPI_LOGICAL1, MPI_LOGICAL2,
                                         MPI_LOGICAL4};

    for (int i = 0; i < 3; i++) {
        int size = 1 << i;
        uint8_t yes[4], no[4], x[4], y[4];
        memset(yes, 0x11 * (i + 1), 4);
        memset(no, 0x77, 4);
        if (i > 0) /* the test before has set those of size 1 */
            assert_int_equal(
                wf_mpi_abi_set_fortran_booleans(&wf, size, yes, no),
                MPI_SUCCESS);
        else
            memset(yes, 255, 4), memset(no, 0, 4);
        memcpy(x, yes, 4);
        memcpy(y, no, 4);
        wf_op_apply(NULL, wf_op_of(MPI_LAND), x, y, 1, wf_type_of(types[i]));
        assert_memory_equal(y, no, size);
        wf_op_apply(NULL, wf_op_of(MPI_LOR), x, y, 1, wf_type_of(types[i]));
        assert_memory_equal(y, yes, size);
        wf_op_apply(NULL, wf_op_of(MPI_LAND), x, y, 1, wf_type_of(types[i]));
        assert_memory_equal(y, yes, size);
        wf_op_apply(NULL, wf_op_of(MPI_LXOR), x, y, 1, wf_type_of(types[i]));
        assert_memory_equal(y, no, size);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_before_a_layer_reports),
        cmocka_unit_test(impossible_sizes_change_nothing),
        cmocka_unit_test(sizes_change_with_all_that_follows_from_them),
        cmocka_unit_test(external32_has_its_own_sizes),
        cmocka_unit_test(a_type_that_the_compiler_lacks_is_no_type),
        cmocka_unit_test(only_the_first_call_counts_and_can_be_asked_for),
        cmocka_unit_test(logical_operations_use_the_values_of_the_compiler),
        cmocka_unit_test(each_size_has_its_own_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
