/* Reduction operations against scalar arithmetic, on every type.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
/* */
#include <cmocka.h>

#include "core_api.h"
#include "datatype/op.h"
#include "datatype/predefined.h"
#include "process/rank.h"
#include "report/error.h"

enum { N = 37 }; /* whole vectors and a rest */

static struct wf_rank wf_rank;
static struct wf_instance wf = {.rank = &wf_rank};
static uint32_t random_state = 12345;

static int small_random(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (int)(random_state >> 24) - 128;
}

static int apply_operation(MPI_Op op, MPI_Datatype type, const void *in,
                           void *inout, MPI_Count n)
{
    return wf_mpi_reduce_local(&wf, in, inout, n, wf_type_of(type),
                               wf_op_of(op));
}

/* One test function per C type: EXPR of a (in) and b (inout). */
#define AGREES(NAME, T, TYPE, OP, EXPR)                                        \
    static void NAME(void)                                                     \
    {                                                                          \
        T x[N + 1], y[N + 1], wanted[N + 1];                                   \
                                                                               \
        for (int i = 0; i < N + 1; i++) {                                      \
            T a = x[i] = (T)small_random(), b = y[i] = (T)small_random();      \
            wanted[i] = i < N ? (T)(EXPR) : b;                                 \
        }                                                                      \
        assert_int_equal(apply_operation(OP, TYPE, x, y, N), MPI_SUCCESS);     \
        for (int i = 0; i < N + 1; i++)                                        \
            assert_true(y[i] == wanted[i]);                                    \
    }

#define ARITHMETIC(S, T, TYPE)                                                 \
    AGREES(sum_##S, T, TYPE, MPI_SUM, a + b)                                   \
    AGREES(prod_##S, T, TYPE, MPI_PROD, a *b)                                  \
    AGREES(min_##S, T, TYPE, MPI_MIN, a < b ? a : b)                           \
    AGREES(max_##S, T, TYPE, MPI_MAX, a > b ? a : b)                           \
    static void arithmetic_##S(void)                                           \
    {                                                                          \
        sum_##S();                                                             \
        prod_##S();                                                            \
        min_##S();                                                             \
        max_##S();                                                             \
    }
#define BITS(S, T, TYPE)                                                       \
    AGREES(band_##S, T, TYPE, MPI_BAND, a &b)                                  \
    AGREES(bor_##S, T, TYPE, MPI_BOR, a | b)                                   \
    AGREES(bxor_##S, T, TYPE, MPI_BXOR, a ^ b)                                 \
    static void bits_##S(void)                                                 \
    {                                                                          \
        band_##S();                                                            \
        bor_##S();                                                             \
        bxor_##S();                                                            \
    }
#define LOGIC(S, T, TYPE)                                                      \
    AGREES(land_##S, T, TYPE, MPI_LAND, a && b)                                \
    AGREES(lor_##S, T, TYPE, MPI_LOR, a || b)                                  \
    AGREES(lxor_##S, T, TYPE, MPI_LXOR, !a != !b)                              \
    static void logic_##S(void)                                                \
    {                                                                          \
        land_##S();                                                            \
        lor_##S();                                                             \
        lxor_##S();                                                            \
    }

/* X(name, C type, MPI type) */
#define C_INTEGERS(X)                                                          \
    X(i8, int8_t, MPI_INT8_T)                                                  \
    X(u8, uint8_t, MPI_UINT8_T)                                                \
    X(schar, signed char, MPI_SIGNED_CHAR)                                     \
    X(uchar, unsigned char, MPI_UNSIGNED_CHAR)                                 \
    X(i16, int16_t, MPI_INT16_T)                                               \
    X(u16, uint16_t, MPI_UINT16_T)                                             \
    X(short, short, MPI_SHORT)                                                 \
    X(ushort, unsigned short, MPI_UNSIGNED_SHORT)                              \
    X(i32, int32_t, MPI_INT32_T)                                               \
    X(u32, uint32_t, MPI_UINT32_T)                                             \
    X(int, int, MPI_INT)                                                       \
    X(uint, unsigned, MPI_UNSIGNED)                                            \
    X(i64, int64_t, MPI_INT64_T)                                               \
    X(u64, uint64_t, MPI_UINT64_T)                                             \
    X(long, long, MPI_LONG)                                                    \
    X(ulong, unsigned long, MPI_UNSIGNED_LONG)                                 \
    X(llong, long long, MPI_LONG_LONG)                                         \
    X(ullong, unsigned long long, MPI_UNSIGNED_LONG_LONG)                      \
    X(aint, MPI_Aint, MPI_AINT)                                                \
    X(count, MPI_Count, MPI_COUNT)                                             \
    X(offset, MPI_Offset, MPI_OFFSET)
#define F_INTEGERS(X)                                                          \
    X(integer, int32_t, MPI_INTEGER)                                           \
    X(integer1, int8_t, MPI_INTEGER1)                                          \
    X(integer2, int16_t, MPI_INTEGER2)                                         \
    X(integer4, int32_t, MPI_INTEGER4)                                         \
    X(integer8, int64_t, MPI_INTEGER8)                                         \
    X(integer16, wf_i128, MPI_INTEGER16)
#define FLOATS(X)                                                              \
    X(float, float, MPI_FLOAT)                                                 \
    X(double, double, MPI_DOUBLE)                                              \
    X(ldouble, long double, MPI_LONG_DOUBLE)                                   \
    X(real, float, MPI_REAL)                                                   \
    X(dprec, double, MPI_DOUBLE_PRECISION)                                     \
    X(real4, float, MPI_REAL4)                                                 \
    X(real8, double, MPI_REAL8)
#define LOGICALS(X)                                                            \
    X(logical, int32_t, MPI_LOGICAL)                                           \
    X(logical1, int8_t, MPI_LOGICAL1)                                          \
    X(logical2, int16_t, MPI_LOGICAL2)                                         \
    X(logical4, int32_t, MPI_LOGICAL4)                                         \
    X(logical8, int64_t, MPI_LOGICAL8)                                         \
    X(bool, _Bool, MPI_C_BOOL)                                                 \
    X(cxxbool, _Bool, MPI_CXX_BOOL)

C_INTEGERS(ARITHMETIC)
C_INTEGERS(BITS)
C_INTEGERS(LOGIC)
F_INTEGERS(ARITHMETIC)
F_INTEGERS(BITS)
FLOATS(ARITHMETIC)
#if WF_HAVE_F128
ARITHMETIC(real16, wf_f128, MPI_REAL16)
#endif
#if WF_HAVE_F16
ARITHMETIC(real2, wf_f16, MPI_REAL2)
#endif
BITS(byte, unsigned char, MPI_BYTE)
LOGICALS(LOGIC)

#define CALL_ARITHMETIC(S, T, TYPE) arithmetic_##S();
#define CALL_BITS(S, T, TYPE) bits_##S();
#define CALL_LOGIC(S, T, TYPE) logic_##S();

static void every_type_is_reduced_as_its_C_type_computes(void **state)
{
    C_INTEGERS(CALL_ARITHMETIC)
    C_INTEGERS(CALL_BITS)
    C_INTEGERS(CALL_LOGIC)
    F_INTEGERS(CALL_ARITHMETIC)
    F_INTEGERS(CALL_BITS)
    FLOATS(CALL_ARITHMETIC)
#if WF_HAVE_F128
    arithmetic_real16();
#endif
#if WF_HAVE_F16
    arithmetic_real2();
#endif
    bits_byte();
    LOGICALS(CALL_LOGIC)
}

static void overflowing_integers_wrap(void **state)
{
    int32_t a[2] = {INT32_MAX, INT32_MAX}, b[2] = {1, INT32_MAX};
    uint16_t c[1] = {65535}, d[1] = {65535};

    apply_operation(MPI_SUM, MPI_INT32_T, a, b, 2);
    assert_int_equal(b[0], INT32_MIN);
    apply_operation(MPI_PROD, MPI_UINT16_T, c, d, 1);
    assert_int_equal(d[0], 1);
}

static void complex_numbers_add_and_multiply(void **state)
{
    static const MPI_Datatype types[] = {
        MPI_C_DOUBLE_COMPLEX, MPI_CXX_DOUBLE_COMPLEX, MPI_DOUBLE_COMPLEX,
        MPI_COMPLEX16};

    for (int t = 0; t < 4; t++) {
        double x[2 * N], y[2 * N], z[2 * N];

        for (int i = 0; i < 2 * N; i++) {
            x[i] = small_random();
            y[i] = z[i] = small_random();
        }
        assert_int_equal(apply_operation(MPI_PROD, types[t], x, y, N),
                         MPI_SUCCESS);
        assert_int_equal(apply_operation(MPI_SUM, types[t], x, z, N),
                         MPI_SUCCESS);
        for (int i = 0; i < N; i++) {
            double re = x[2 * i], im = x[2 * i + 1];

            /* recover the old y from the sum */
            double c = z[2 * i] - re, d = z[2 * i + 1] - im;
            assert_true(y[2 * i] == re * c - im * d);
            assert_true(y[2 * i + 1] == re * d + im * c);
        }
    }
}

static void of_equal_values_the_smaller_index_wins(void **state)
{
    wf_double_int a[4] = {{1, 5}, {2, 5}, {3, 1}, {3, 9}};
    wf_double_int b[4] = {{2, 1}, {1, 1}, {3, 4}, {3, 4}}, c[4];
    wf_short_int s = {7, 2}, r = {7, 3};
    wf_2real f = {1, 2}, g = {1, 1};

    memcpy(c, b, sizeof b);
    assert_int_equal(apply_operation(MPI_MINLOC, MPI_DOUBLE_INT, a, b, 4),
                     MPI_SUCCESS);
    assert_true(b[0].v == 1 && b[0].i == 5);
    assert_true(b[1].v == 1 && b[1].i == 1);
    assert_true(b[2].v == 3 && b[2].i == 1);
    assert_true(b[3].v == 3 && b[3].i == 4);
    apply_operation(MPI_MAXLOC, MPI_DOUBLE_INT, a, c, 4);
    assert_true(c[0].v == 2 && c[0].i == 1);
    assert_true(c[1].v == 2 && c[1].i == 5);
    assert_true(c[2].v == 3 && c[2].i == 1);
    assert_true(c[3].v == 3 && c[3].i == 4);
    apply_operation(MPI_MAXLOC, MPI_SHORT_INT, &s, &r, 1);
    assert_int_equal(r.i, 2);
    apply_operation(MPI_MINLOC, MPI_2REAL, &f, &g, 1);
    assert_true(g.i == 1);
}

/* Every pair (operation, type) that the standard does not list. */
static void undefined_combinations_are_refused_by_name(void **state)
{
    MPI_Datatype derived;

    assert_int_equal(apply_operation(MPI_SUM, MPI_WCHAR, "", "", 0),
                     MPI_ERR_OP);
    assert_non_null(strstr(wf_error_last()->text, "MPI_SUM"));
    assert_non_null(strstr(wf_error_last()->text, "MPI_WCHAR"));
    assert_int_equal(apply_operation(MPI_MAX, MPI_C_DOUBLE_COMPLEX, "", "", 0),
                     MPI_ERR_OP);
    assert_int_equal(apply_operation(MPI_BAND, MPI_FLOAT, "", "", 0),
                     MPI_ERR_OP);
    assert_int_equal(apply_operation(MPI_LAND, MPI_DOUBLE, "", "", 0),
                     MPI_ERR_OP);
    assert_int_equal(apply_operation(MPI_SUM, MPI_BYTE, "", "", 0), MPI_ERR_OP);
    assert_int_equal(apply_operation(MPI_SUM, MPI_DOUBLE_INT, "", "", 0),
                     MPI_ERR_OP);
    assert_int_equal(apply_operation(MPI_MINLOC, MPI_INT, "", "", 0),
                     MPI_ERR_OP);
    assert_int_equal(apply_operation(MPI_MAX, MPI_LOGICAL, "", "", 0),
                     MPI_ERR_OP);
    assert_int_equal(apply_operation(MPI_SUM, MPI_PACKED, "", "", 0),
                     MPI_ERR_OP);
    assert_int_equal(apply_operation(MPI_REPLACE, MPI_INT, "", "", 0),
                     MPI_ERR_OP);
    wf_mpi_type_contiguous(&wf, 2, wf_type_of(MPI_INT), &derived);
    assert_int_equal(apply_operation(MPI_SUM, derived, "", "", 0), MPI_ERR_OP);
    wf_mpi_type_free(&wf, &derived);
}

static void replace_replaces_and_no_op_does_nothing(void **state)
{
    int a[2] = {1, 2}, b[2] = {3, 4};

    wf_op_apply(NULL, wf_op_of(MPI_NO_OP), a, b, 2, wf_type_of(MPI_INT));
    assert_int_equal(b[0], 3);
    wf_op_apply(NULL, wf_op_of(MPI_REPLACE), a, b, 2, wf_type_of(MPI_INT));
    assert_memory_equal(a, b, sizeof a);
}

static MPI_Datatype seen_type;
static MPI_Count seen_count;

static void subtract_cpus(void *in, void *inout, int *len, MPI_Datatype *type)
{
    seen_type = *type;
    seen_count += *len;
    for (int i = 0; i < *len; i++)
        ((int *)inout)[i] = ((int *)in)[i] - ((int *)inout)[i];
}

static void count_large(void *in, void *inout, MPI_Count *len,
                        MPI_Datatype *type)
{
    seen_count += *len;
}

static int calls;

static void count_small(void *in, void *inout, int *len, MPI_Datatype *type)
{
    assert_true(*len > 0);
    seen_count += *len;
    calls++;
}

static MPI_Op make_op(void (*fn)(void), bool large, int commute)
{
    MPI_Op op = MPI_OP_NULL;

    assert_int_equal(wf_mpi_op_create(&wf, (struct wf_polyfn){fn, large},
                                      commute, &op),
                     MPI_SUCCESS);
    return op;
}

static void user_operations_get_in_inout_length_and_handle(void **state)
{
    int a[3] = {5, 6, 7}, b[3] = {1, 1, 1}, commute = 7;
    MPI_Op op = make_op((void (*)(void))subtract_cpus, false, 0);

    seen_count = 0;
    assert_int_equal(apply_operation(op, MPI_INT, a, b, 3), MPI_SUCCESS);
    assert_int_equal(b[2], 6);
    assert_ptr_equal(seen_type, MPI_INT);
    assert_int_equal(seen_count, 3);
    wf_mpi_op_commutative(&wf, wf_op_of(op), &commute);
    assert_int_equal(commute, 0);
    wf_mpi_op_commutative(&wf, wf_op_of(MPI_SUM), &commute);
    assert_int_equal(commute, 1);
    assert_int_equal(wf_mpi_op_free(&wf, &op), MPI_SUCCESS);
    assert_ptr_equal(op, MPI_OP_NULL);
}

static void int_functions_never_see_more_than_INT_MAX_elements(void **state)
{
    MPI_Op small = make_op((void (*)(void))count_small, false, 1);
    MPI_Op large = make_op((void (*)(void))count_large, true, 1);
    MPI_Count n = 5000000000;
    char byte, other;

    seen_count = calls = 0;
    apply_operation(small, MPI_BYTE, &byte, &other, n);
    assert_int_equal(seen_count, n);
    assert_int_equal(calls, 3);
    seen_count = 0;
    apply_operation(large, MPI_BYTE, &byte, &other, n);
    assert_int_equal(seen_count, n);
    wf_mpi_op_free(&wf, &small);
    wf_mpi_op_free(&wf, &large);
}

static void an_operation_in_use_outlives_its_handle(void **state)
{
    MPI_Op op = make_op((void (*)(void))subtract_cpus, false, 0);
    struct wf_op *o = wf_op_of(op);
    int a = 3, b = 1;

    wf_op_get(o);
    wf_mpi_op_free(&wf, &op);
    assert_int_equal(
        wf_op_apply(NULL, o, &a, &b, 1, wf_type_of(MPI_INT)), MPI_SUCCESS);
    assert_int_equal(b, 2);
    wf_op_put(o);
}

static void an_invalid_handle_is_no_operation(void **state)
{
    MPI_Op sum = MPI_SUM;
    uint64_t other[4] = {WF_KIND_TYPE};

    assert_null(wf_op_of(MPI_OP_NULL));
    assert_null(wf_op_of((MPI_Op)0x25));
    assert_null(wf_op_of((MPI_Op)0x3e));
    assert_null(wf_op_of((MPI_Op)other));
    assert_int_equal(wf_mpi_op_free(&wf, &sum), MPI_ERR_OP);
    assert_ptr_equal(sum, MPI_SUM);
    assert_ptr_equal(wf_op_handle(wf_op_of(MPI_MAXLOC)), MPI_MAXLOC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_reduced_as_its_C_type_computes),
        cmocka_unit_test(overflowing_integers_wrap),
        cmocka_unit_test(complex_numbers_add_and_multiply),
        cmocka_unit_test(of_equal_values_the_smaller_index_wins),
        cmocka_unit_test(undefined_combinations_are_refused_by_name),
        cmocka_unit_test(replace_replaces_and_no_op_does_nothing),
        cmocka_unit_test(user_operations_get_in_inout_length_and_handle),
        cmocka_unit_test(int_functions_never_see_more_than_INT_MAX_elements),
        cmocka_unit_test(an_operation_in_use_outlives_its_handle),
        cmocka_unit_test(an_invalid_handle_is_no_operation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
