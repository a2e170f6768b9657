/* These kernels are MPI_SUM, MPI_PROD, MPI_MIN and MPI_MAX on integers and
 * floating point numbers.
 *
 * Integer sums and products are computed unsigned: overflow wraps, as on every
 * machine, instead of being undefined.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/op_kernels.h"

WF_WORD_KERNELS(WF_KERNEL)
WF_FLOATING(WF_KERNEL, FLD, long double)
#if WF_HAVE_F16
WF_FLOATING(WF_KERNEL, F16, wf_f16)
#endif
#if WF_HAVE_F128
WF_FLOATING(WF_KERNEL, F128, wf_f128)
#endif
#if WF_HAVE_I128
WF_SUM_PROD(WF_KERNEL, U128, wf_u128)
WF_MIN_MAX(WF_KERNEL, I128, wf_i128)
#endif

/* clang-format off */
static wf_op_kernel *const kernels[WF_SCALAR_COUNT][4] = {
    WF_WORD_ROWS,
    WF_OP_ROW(FLD, FLD),
#if WF_HAVE_F16
    WF_OP_ROW(F16, F16),
#endif
#if WF_HAVE_F128
    WF_OP_ROW(F128, F128),
#endif
#if WF_HAVE_I128
    WF_OP_ROW(I128, U128),
#endif
};
/* clang-format on */

wf_op_kernel *wf_op_arithmetic(uint32_t op, uint8_t scalar)
{
    if (op < WF_OP_SUM || op > WF_OP_PROD)
        return NULL;
    return kernels[scalar][op - WF_OP_SUM];
}
