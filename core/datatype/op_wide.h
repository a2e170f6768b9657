/* Kernels for a wider vector unit than every processor of the architecture has.
 * op_avx2.c and op_avx512.c include this with their compiler target; which of
 * them runs is asked of the processor, so that one library serves all.
 *
 *   WF_WIDE_TARGET   what the compiler may use
 *   WF_WIDE_FIND     the name of the function that finds a kernel here
 *
 * Only what is a loop over machine words gains by it: no long double, no
 * 128-bit integers, no pairs.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/op_kernels.h"

#if WF_HAVE_WIDE
#define WF_WIDE(NAME, T, EXPR)                                                 \
    __attribute__((target(WF_WIDE_TARGET))) WF_KERNEL(NAME, T, EXPR)
#define SUM_PROD(S, T)                                                         \
    WF_WIDE(sum_##S, T, a + b)                                                 \
    WF_WIDE(prod_##S, T, a *b)
#define MIN_MAX(S, T)                                                          \
    WF_WIDE(min_##S, T, a < b ? a : b)                                         \
    WF_WIDE(max_##S, T, a > b ? a : b)
#define ROW(S, U) [WF_SCALAR_##S] = {sum_##U, min_##S, max_##S, prod_##U}

/* 8 and 16 bits: keep the promoted product unsigned. */
WF_WIDE(sum_U8, uint8_t, a + b)
WF_WIDE(prod_U8, uint8_t, (unsigned)a *b)
WF_WIDE(sum_U16, uint16_t, a + b)
WF_WIDE(prod_U16, uint16_t, (unsigned)a *b)
SUM_PROD(U32, uint32_t)
SUM_PROD(U64, uint64_t)
SUM_PROD(F32, float)
SUM_PROD(F64, double)
MIN_MAX(I8, int8_t)
MIN_MAX(I16, int16_t)
MIN_MAX(I32, int32_t)
MIN_MAX(I64, int64_t)
MIN_MAX(U8, uint8_t)
MIN_MAX(U16, uint16_t)
MIN_MAX(U32, uint32_t)
MIN_MAX(U64, uint64_t)
MIN_MAX(F32, float)
MIN_MAX(F64, double)
WF_WIDE(band, uint8_t, a &b)
WF_WIDE(bor, uint8_t, a | b)
WF_WIDE(bxor, uint8_t, a ^ b)

wf_op_kernel *WF_WIDE_FIND(uint32_t op, uint8_t scalar)
{
    static wf_op_kernel *const arithmetic[WF_SCALAR_COUNT][4] = {
        ROW(I8, U8),   ROW(I16, U16), ROW(I32, U32), ROW(I64, U64),
        ROW(U8, U8),   ROW(U16, U16), ROW(U32, U32), ROW(U64, U64),
        ROW(F32, F32), ROW(F64, F64)};
    static wf_op_kernel *const bitwise[] = {band, bor, bxor};

    if (op >= WF_OP_SUM && op <= WF_OP_PROD)
        return arithmetic[scalar][op - WF_OP_SUM];
    if (op >= WF_OP_BAND && op <= WF_OP_BXOR)
        return bitwise[op - WF_OP_BAND];
    return NULL;
}
#endif
