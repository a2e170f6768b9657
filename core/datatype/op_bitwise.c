/* These kernels are MPI_BAND, MPI_BOR and MPI_BXOR on integers and bytes:
 * neither sign nor width matters, so n is a number of bytes here.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/op_kernels.h"

WF_BITWISE_KERNELS(WF_KERNEL)

wf_op_kernel *wf_op_bitwise(uint32_t op)
{
    static wf_op_kernel *const kernels[] = {band, bor, bxor};

    return op >= WF_OP_BAND && op <= WF_OP_BXOR ? kernels[op - WF_OP_BAND]
                                                : NULL;
}
