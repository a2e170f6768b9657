/* Every predefined operation on every predefined type: allowed or refused as
 * MPI-5.0 s6.9.2 and s6.9.4 say, and the same result from every set of kernels.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core_api.h"
#include "datatype/derived.h"
#include "datatype/op.h"
#include "datatype/op_kernels.h"
#include "datatype/op_kernels.h"
#include "datatype/predefined.h"
#include "datatype/type.h"

/* C integer, Fortran integer, floating point, logical, complex, byte, multi-
 * language, pair, none */
static const struct {
    MPI_Datatype type;
    char group;
} types[] = {
#define T(NAME, GROUP) {MPI_##NAME, GROUP},
    T(INT, 'C') T(LONG, 'C') T(SHORT, 'C') T(UNSIGNED_SHORT, 'C')
    T(UNSIGNED, 'C') T(UNSIGNED_LONG, 'C') T(LONG_LONG_INT, 'C')
    T(LONG_LONG, 'C') T(UNSIGNED_LONG_LONG, 'C') T(SIGNED_CHAR, 'C')
    T(UNSIGNED_CHAR, 'C') T(INT8_T, 'C') T(INT16_T, 'C') T(INT32_T, 'C')
    T(INT64_T, 'C') T(UINT8_T, 'C') T(UINT16_T, 'C') T(UINT32_T, 'C')
    T(UINT64_T, 'C')
    T(INTEGER, 'F') T(INTEGER1, 'F') T(INTEGER2, 'F') T(INTEGER4, 'F')
    T(INTEGER8, 'F')
#if WF_HAVE_I128
    T(INTEGER16, 'F') T(LOGICAL16, 'L')
#endif
    T(FLOAT, 'R') T(DOUBLE, 'R') T(REAL, 'R') T(DOUBLE_PRECISION, 'R')
    T(LONG_DOUBLE, 'R') T(REAL4, 'R') T(REAL8, 'R')
#if WF_HAVE_F16
    T(REAL2, 'R') T(COMPLEX4, 'X')
#endif
#if WF_HAVE_F128
    T(REAL16, 'R') T(COMPLEX32, 'X')
#endif
    T(LOGICAL, 'L') T(C_BOOL, 'L') T(CXX_BOOL, 'L') T(LOGICAL1, 'L')
    T(LOGICAL2, 'L') T(LOGICAL4, 'L') T(LOGICAL8, 'L')
    T(COMPLEX, 'X') T(C_COMPLEX, 'X') T(C_FLOAT_COMPLEX, 'X')
    T(C_DOUBLE_COMPLEX, 'X') T(C_LONG_DOUBLE_COMPLEX, 'X')
    T(CXX_FLOAT_COMPLEX, 'X') T(CXX_DOUBLE_COMPLEX, 'X')
    T(CXX_LONG_DOUBLE_COMPLEX, 'X') T(DOUBLE_COMPLEX, 'X') T(COMPLEX8, 'X')
    T(COMPLEX16, 'X')
    T(BYTE, 'B')
    T(CHAR, 'C') /* not of the standard: core.strict */
    T(AINT, 'M') T(OFFSET, 'M') T(COUNT, 'M')
    T(FLOAT_INT, 'P') T(DOUBLE_INT, 'P') T(LONG_INT, 'P') T(2INT, 'P')
    T(SHORT_INT, 'P') T(LONG_DOUBLE_INT, 'P') T(2REAL, 'P')
    T(2DOUBLE_PRECISION, 'P') T(2INTEGER, 'P')
    T(WCHAR, 'N') T(CHARACTER, 'N') T(PACKED, 'N')
};

static const struct {
    MPI_Op op;
    const char *groups;
} ops[] = {
    {MPI_MAX, "CFRM"},   {MPI_MIN, "CFRM"},   {MPI_SUM, "CFRMX"},
    {MPI_PROD, "CFRMX"}, {MPI_LAND, "CML"},   {MPI_LOR, "CML"},
    {MPI_LXOR, "CML"},   {MPI_BAND, "CFMB"},  {MPI_BOR, "CFMB"},
    {MPI_BXOR, "CFMB"},  {MPI_MINLOC, "P"},   {MPI_MAXLOC, "P"},
    {MPI_REPLACE, ""},   {MPI_NO_OP, ""},
};

enum {
    TYPES = sizeof types / sizeof *types,
    OPS = sizeof ops / sizeof *ops,
    ROOM = 4096
};

static void operations_take_the_types_of_the_standard_and_no_others(void **s)
{
    static _Alignas(16) unsigned char a[ROOM], b[ROOM];

    for (int t = 0; t < TYPES; t++)
        for (int o = 0; o < OPS; o++) {
            bool allowed = strchr(ops[o].groups, types[t].group) != NULL;
            struct wf_type *type = wf_type_of(types[t].type);
            int rc = wf_op_check(wf_op_of(ops[o].op), type, NULL);

            if ((rc == MPI_SUCCESS) != allowed)
                fail_msg("%s: %d (type %d, operation %d)", wf_type_name(type),
                         rc, t, o);
            if (!allowed)
                assert_int_equal(rc, MPI_ERR_OP);
            else
                assert_int_equal(wf_op_apply(NULL, wf_op_of(ops[o].op), a, b, 3,
                                             type),
                                 MPI_SUCCESS);
        }
}

#if WF_HAVE_WIDE
/* Bytes that are finite numbers whatever they are taken for. */
static void fill_buffer(unsigned char *p, int n, uint8_t scalar)
{
    for (int i = 0; i < n; i++)
        p[i] = (unsigned char)rand();
    if (scalar == WF_SCALAR_F32)
        for (int i = 0; i < n / 4; i++)
            ((float *)p)[i] = (float)(rand() % 2001 - 1000) / 8;
    if (scalar == WF_SCALAR_F64)
        for (int i = 0; i < n / 8; i++)
            ((double *)p)[i] = (double)(rand() % 2001 - 1000) / 8;
}

/* width: bytes of an element; lengths around those of vectors and their ends,
 * at addresses that are aligned to elements only */
static void is_same(wf_op_kernel *plain, wf_op_kernel *wide, uint8_t scalar,
                 int width)
{
    static _Alignas(64) unsigned char a[ROOM], b[ROOM], c[ROOM];

    for (int n = 0; n < 300; n = n < 140 ? n + 1 : n + 37) {
        int bytes = n * width, from = width * (n % 3), to = width * (n % 5);

        if (bytes > ROOM - 64)
            break;
        fill_buffer(a + from, bytes, scalar);
        fill_buffer(b + to, bytes + 16, scalar);
        memcpy(c, b, sizeof b);
        plain(a + from, b + to, (size_t)n);
        wide(a + from, c + to, (size_t)n);
        assert_memory_equal(b, c, sizeof b);
    }
}

static void compare_items(wf_op_kernel *(*wide)(uint32_t op, uint8_t scalar))
{
    static const struct {
        uint8_t scalar;
        int width;
    } scalars[] = {{WF_SCALAR_I8, 1},  {WF_SCALAR_I16, 2}, {WF_SCALAR_I32, 4},
                   {WF_SCALAR_I64, 8}, {WF_SCALAR_U8, 1},  {WF_SCALAR_U16, 2},
                   {WF_SCALAR_U32, 4}, {WF_SCALAR_U64, 8}, {WF_SCALAR_F32, 4},
                   {WF_SCALAR_F64, 8}};

    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        for (uint32_t op = WF_OP_SUM; op <= WF_OP_PROD; op++)
            is_same(wf_op_arithmetic(op, scalars[i].scalar),
                 wide(op, scalars[i].scalar), scalars[i].scalar,
                 scalars[i].width);
    for (uint32_t op = WF_OP_BAND; op <= WF_OP_BXOR; op++)
        is_same(wf_op_bitwise(op), wide(op, WF_SCALAR_U8), WF_SCALAR_U8, 1);
    assert_null(wide(WF_OP_LAND, WF_SCALAR_I32));
    assert_null(wide(WF_OP_SUM, WF_SCALAR_FLD));
}

static void wider_vectors_compute_the_same(void **state)
{
    if (__builtin_cpu_supports("avx2"))
        compare_items(wf_op_avx2);
    if (__builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        compare_items(wf_op_avx512);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            operations_take_the_types_of_the_standard_and_no_others),
#if WF_HAVE_WIDE
        cmocka_unit_test(wider_vectors_compute_the_same),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
