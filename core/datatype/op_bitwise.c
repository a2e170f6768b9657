/* MPI_BAND, MPI_BOR, MPI_BXOR on integers and bytes: the sign plays no part.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/op_kernels.h"

#define BITWISE(S, T)                                                          \
    WF_KERNEL(band_##S, T, a &b)                                               \
    WF_KERNEL(bor_##S, T, a | b)                                               \
    WF_KERNEL(bxor_##S, T, a ^ b)

BITWISE(U8, uint8_t)
BITWISE(U16, uint16_t)
BITWISE(U32, uint32_t)
BITWISE(U64, uint64_t)
#if WF_HAVE_I128
BITWISE(U128, wf_u128)
#endif

#define ROW(S, U) [WF_SCALAR_##S] = {band_##U, bor_##U, bxor_##U}

static wf_op_kernel *const kernels[WF_SCALAR_COUNT][3] = {
    ROW(I8, U8),
    ROW(I16, U16),
    ROW(I32, U32),
    ROW(I64, U64),
    ROW(U8, U8),
    ROW(U16, U16),
    ROW(U32, U32),
    ROW(U64, U64),
#if WF_HAVE_I128
    ROW(I128, U128),
    ROW(U128, U128),
#endif
};

wf_op_kernel *wf_op_bitwise(uint32_t op, uint8_t scalar)
{
    if (op < WF_OP_BAND || op > WF_OP_BXOR)
        return NULL;
    return kernels[scalar][op - WF_OP_BAND];
}
