/* MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX on integers and floating point numbers.
 *
 * Integer sums and products are computed unsigned: overflow wraps, as on every
 * machine, instead of being undefined.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/op_kernels.h"

#define SUM_PROD(S, T)                                                         \
    WF_KERNEL(sum_##S, T, a + b)                                               \
    WF_KERNEL(prod_##S, T, a *b)
#define MIN_MAX(S, T)                                                          \
    WF_KERNEL(min_##S, T, a < b ? a : b)                                       \
    WF_KERNEL(max_##S, T, a > b ? a : b)

/* 8 and 16 bits: keep the promoted product unsigned. */
WF_KERNEL(sum_U8, uint8_t, a + b)
WF_KERNEL(prod_U8, uint8_t, (unsigned)a *b)
WF_KERNEL(sum_U16, uint16_t, a + b)
WF_KERNEL(prod_U16, uint16_t, (unsigned)a *b)
SUM_PROD(U32, uint32_t)
SUM_PROD(U64, uint64_t)
MIN_MAX(I8, int8_t)
MIN_MAX(I16, int16_t)
MIN_MAX(I32, int32_t)
MIN_MAX(I64, int64_t)
MIN_MAX(U8, uint8_t)
MIN_MAX(U16, uint16_t)
MIN_MAX(U32, uint32_t)
MIN_MAX(U64, uint64_t)

#define FLOATING(S, T) SUM_PROD(S, T) MIN_MAX(S, T)
FLOATING(F32, float)
FLOATING(F64, double)
FLOATING(FLD, long double)
#if WF_HAVE_F16
FLOATING(F16, wf_f16)
#endif
#if WF_HAVE_F128
FLOATING(F128, wf_f128)
#endif
#if WF_HAVE_I128
SUM_PROD(U128, wf_u128)
MIN_MAX(I128, wf_i128)
#endif

/* sum, prod of the unsigned twin; min, max of the type itself. */
#define ROW(S, U) [WF_SCALAR_##S] = {sum_##U, min_##S, max_##S, prod_##U}

static wf_op_kernel *const kernels[WF_SCALAR_COUNT][4] = {
    ROW(I8, U8),
    ROW(I16, U16),
    ROW(I32, U32),
    ROW(I64, U64),
    ROW(U8, U8),
    ROW(U16, U16),
    ROW(U32, U32),
    ROW(U64, U64),
    ROW(F32, F32),
    ROW(F64, F64),
    ROW(FLD, FLD),
#if WF_HAVE_F16
    ROW(F16, F16),
#endif
#if WF_HAVE_F128
    ROW(F128, F128),
#endif
#if WF_HAVE_I128
    ROW(I128, U128),
#endif
};

wf_op_kernel *wf_op_arithmetic(uint32_t op, uint8_t scalar)
{
    if (op < WF_OP_SUM || op > WF_OP_PROD)
        return NULL;
    return kernels[scalar][op - WF_OP_SUM];
}
