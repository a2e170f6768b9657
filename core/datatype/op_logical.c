/* These kernels are MPI_LAND, MPI_LOR and MPI_LXOR on integers and logicals:
 * anything but zero is true, and true is written as one.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/op_kernels.h"

#define LOGICAL(S, T)                                                          \
    WF_KERNEL(land_##S, T, (a != 0) & (b != 0))                                \
    WF_KERNEL(lor_##S, T, (a | b) != 0)                                        \
    WF_KERNEL(lxor_##S, T, (a != 0) ^ (b != 0))

LOGICAL(U8, uint8_t)
LOGICAL(U16, uint16_t)
LOGICAL(U32, uint32_t)
LOGICAL(U64, uint64_t)
#if WF_HAVE_I128
LOGICAL(U128, wf_u128)
#endif

#define ROW(S, U) [WF_SCALAR_##S] = {land_##U, lor_##U, lxor_##U}

/* clang-format off */
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
    ROW(U128, U128),
#endif
};
/* clang-format on */

wf_op_kernel *wf_op_logical(uint32_t op, uint8_t scalar)
{
    if (op < WF_OP_LAND || op > WF_OP_LXOR)
        return NULL;
    return kernels[scalar][op - WF_OP_LAND];
}
