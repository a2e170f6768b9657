/* MPI_Pack, MPI_Unpack and the external32 representation.
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

#include "core_api.h"
#include "datatype/predefined.h"
#include "datatype/type.h"
#include "process/rank.h"

static struct wf_rank wf_rank;
static struct wf_instance wf = {.rank = &wf_rank};

static struct wf_type *type_of(MPI_Datatype handle)
{
    return wf_type_of(handle);
}

static void packing_appends_at_the_position(void **state)
{
    int a[3] = {1, 2, 3}, back[3];
    double b = 4.5, bback;
    char buffer[20];
    MPI_Count at = 0, size;

    wf_mpi_pack_size(&wf, 3, type_of(MPI_INT), NULL, &size);
    assert_int_equal(size, 12);
    assert_int_equal(
        wf_mpi_pack(&wf, a, 3, type_of(MPI_INT), buffer, 20, &at, NULL),
        MPI_SUCCESS);
    assert_int_equal(at, 12);
    assert_int_equal(
        wf_mpi_pack(&wf, &b, 1, type_of(MPI_DOUBLE), buffer, 20, &at, NULL),
        MPI_SUCCESS);
    assert_int_equal(at, 20);
    assert_int_equal(
        wf_mpi_pack(&wf, &b, 1, type_of(MPI_DOUBLE), buffer, 20, &at, NULL),
        MPI_ERR_TRUNCATE);
    assert_int_equal(at, 20);
    at = 0;
    wf_mpi_unpack(&wf, buffer, 20, &at, back, 3, type_of(MPI_INT), NULL);
    wf_mpi_unpack(&wf, buffer, 20, &at, &bback, 1, type_of(MPI_DOUBLE), NULL);
    assert_memory_equal(a, back, sizeof a);
    assert_true(bback == b);
    assert_int_equal(
        wf_mpi_unpack(&wf, buffer, 20, &at, back, 1, type_of(MPI_INT), NULL),
        MPI_ERR_TRUNCATE);
    at = 21;
    assert_int_equal(
        wf_mpi_unpack(&wf, buffer, 20, &at, back, 0, type_of(MPI_INT), NULL),
        MPI_ERR_ARG);
    assert_int_equal(
        wf_mpi_pack_size(&wf, INT64_MAX, type_of(MPI_INT), NULL, &size),
        MPI_ERR_COUNT);
}

static void pack_is(MPI_Datatype type, const void *value, const char *bytes,
                    int n)
{
    unsigned char out[64];
    char back[64];
    MPI_Count at = 0, size;

    wf_mpi_pack_external_size(&wf, "external32", 1, type_of(type), &size);
    assert_int_equal(size, n);
    assert_int_equal(wf_mpi_pack_external(&wf, "external32", value, 1,
                                          type_of(type), out, sizeof out, &at),
                     MPI_SUCCESS);
    assert_int_equal(at, n);
    assert_memory_equal(out, bytes, (size_t)n);
    at = 0;
    memset(back, 0, sizeof back);
    assert_int_equal(wf_mpi_unpack_external(&wf, "external32", out, sizeof out,
                                            &at, back, 1, type_of(type)),
                     MPI_SUCCESS);
    assert_int_equal(at, n);
    /* padding bits of long double are not part of the value */
    if (type == MPI_LONG_DOUBLE)
        assert_true(*(const long double *)value == *(long double *)back);
    else if (type_of(type)->size == type_of(type)->extent)
        assert_memory_equal(back, value, (size_t)type_of(type)->size);
}

static void external32_is_big_endian_of_fixed_size(void **state)
{
    _Alignas(16) long double one = 1.0L;
    double complex_one[2] = {1.0, -2.0};
    wf_double_int pair = {1.0, 5};

    pack_is(MPI_INT, &(int){0x01020304}, "\1\2\3\4", 4);
    pack_is(MPI_SHORT, &(short){-2}, "\377\376", 2);
    pack_is(MPI_LONG, &(long){-5}, "\377\377\377\373", 4);
    pack_is(MPI_UNSIGNED_LONG, &(unsigned long){0x80000000u}, "\200\0\0\0", 4);
    pack_is(MPI_LONG_LONG, &(long long){258}, "\0\0\0\0\0\0\1\2", 8);
    pack_is(MPI_WCHAR, &(wchar_t){0x20ac}, "\x20\xac", 2);
    pack_is(MPI_C_BOOL, &(_Bool){1}, "\1", 1);
    pack_is(MPI_CXX_BOOL, &(_Bool){1}, "\0\0\0\1", 4);
    pack_is(MPI_CHAR, "x", "x", 1);
    pack_is(MPI_FLOAT, &(float){1.0f}, "\x3f\x80\0\0", 4);
    pack_is(MPI_DOUBLE, &(double){-2.0}, "\xc0\0\0\0\0\0\0\0", 8);
    pack_is(MPI_C_DOUBLE_COMPLEX, complex_one,
            "\x3f\xf0\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0", 16);
    pack_is(MPI_DOUBLE_INT, &pair, "\x3f\xf0\0\0\0\0\0\0\0\0\0\5", 12);
    pack_is(MPI_LONG_DOUBLE, &one, "\x3f\xff\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
}

static void values_that_do_not_fit_external32_are_refused(void **state)
{
    long big = 0x80000000l;
    char out[16];
    MPI_Count at = 0;

    if (sizeof big == 4)
        skip();
    assert_int_equal(wf_mpi_pack_external(&wf, "external32", &big, 1,
                                          type_of(MPI_LONG), out, 16, &at),
                     MPI_ERR_CONVERSION);
    assert_int_equal(at, 0);
    assert_int_equal(wf_mpi_pack_external(&wf, "external32", &big, 1,
                                          type_of(MPI_LONG), out, 3, &at),
                     MPI_ERR_TRUNCATE);
    assert_int_equal(wf_mpi_pack_external(&wf, "native", &big, 1,
                                          type_of(MPI_LONG), out, 16, &at),
                     MPI_ERR_UNSUPPORTED_DATAREP);
    assert_int_equal(wf_mpi_pack_external(&wf, "external32", &big, -1,
                                          type_of(MPI_LONG), out, 16, &at),
                     MPI_ERR_COUNT);
}

static void external32_follows_derived_layouts(void **state)
{
    struct {
        char c;
        int i[2];
    } record[2] = {{'a', {1, 2}}, {'b', {3, 4}}}, back[2];
    MPI_Aint at[] = {0, 4};
    MPI_Datatype t;
    char out[32];
    MPI_Count pos = 0, size;

    wf_mpi_type_create_struct(
        &wf, 2, (struct wf_ints){(int[]){1, 2}, 4}, (struct wf_ints){at, 8},
        (MPI_Datatype[]){MPI_CHAR, MPI_INT}, &t);
    wf_mpi_pack_external_size(&wf, "external32", 2, type_of(t), &size);
    assert_int_equal(size, 18);
    wf_mpi_pack_external(&wf, "external32", record, 2, type_of(t), out, 32,
                         &pos);
    assert_int_equal(pos, 18);
    assert_memory_equal(out, "a\0\0\0\1\0\0\0\2b\0\0\0\3\0\0\0\4", 18);
    memset(back, 0, sizeof back);
    pos = 0;
    wf_mpi_unpack_external(&wf, "external32", out, 18, &pos, back, 2,
                           type_of(t));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(back[i].c, record[i].c);
        assert_memory_equal(back[i].i, record[i].i, sizeof back[i].i);
    }
    wf_mpi_type_free(&wf, &t);
}

/* A long is shorter there, so that the values go one by one. */
static void complex_values_go_beside_types_that_change_size(void **state)
{
    struct {
        long n;
        _Complex float f;
        _Complex double d;
        _Complex long double l;
    } record, back;
    MPI_Aint at[] = {offsetof(__typeof__(record), n),
                     offsetof(__typeof__(record), f),
                     offsetof(__typeof__(record), d),
                     offsetof(__typeof__(record), l)};
    MPI_Datatype t;
    char out[60];
    MPI_Count pos = 0;

    memset(&record, 0, sizeof record);
    record.n = 5;
    ((float *)&record.f)[0] = 1, ((float *)&record.f)[1] = -2;
    ((double *)&record.d)[0] = 1, ((double *)&record.d)[1] = -2;
    ((long double *)&record.l)[0] = 1, ((long double *)&record.l)[1] = -2;
    wf_mpi_type_create_struct(
        &wf, 4, (struct wf_ints){(int[]){1, 1, 1, 1}, 4},
        (struct wf_ints){at, 8},
        (MPI_Datatype[]){MPI_LONG, MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX,
                         MPI_C_LONG_DOUBLE_COMPLEX}, &t);
    assert_int_equal(wf_mpi_pack_external(&wf, "external32", &record, 1,
                                          type_of(t), out, sizeof out, &pos),
                     MPI_SUCCESS);
    assert_int_equal(pos, 60);
    assert_memory_equal(out,
                        "\0\0\0\5" "\x3f\x80\0\0" "\xc0\0\0\0"
                        "\x3f\xf0\0\0\0\0\0\0" "\xc0\0\0\0\0\0\0\0"
                        "\x3f\xff\0\0\0\0\0\0" "\0\0\0\0\0\0\0\0"
                        "\xc0\0\0\0\0\0\0\0" "\0\0\0\0\0\0\0\0", 60);
    memset(&back, 0, sizeof back);
    pos = 0;
    wf_mpi_unpack_external(&wf, "external32", out, sizeof out, &pos, &back, 1,
                           type_of(t));
    assert_int_equal(pos, 60);
    assert_int_equal(back.n, 5);
    assert_true(back.f == record.f && back.d == record.d &&
                back.l == record.l);
    wf_mpi_type_free(&wf, &t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packing_appends_at_the_position),
        cmocka_unit_test(external32_is_big_endian_of_fixed_size),
        cmocka_unit_test(values_that_do_not_fit_external32_are_refused),
        cmocka_unit_test(external32_follows_derived_layouts),
        cmocka_unit_test(complex_values_go_beside_types_that_change_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
