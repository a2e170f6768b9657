/* These kernels are for vector units that not every processor of the
 * architecture has. op_avx2.c and op_avx512.c include this file with their
 * compiler target; the processor is asked at run time which of them it can run,
 * so one library serves all.
 *
 *   WF_WIDE_TARGET   the instruction sets that the compiler may use
 *   WF_WIDE_FIND     the name of the function that finds a kernel here
 *
 * Only loops over machine words gain by it: no long double, no 128-bit
 * integers, no pairs.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/op_kernels.h"

#if WF_HAVE_WIDE
#define WF_WIDE(NAME, T, EXPR)                                                 \
    __attribute__((target(WF_WIDE_TARGET))) WF_KERNEL(NAME, T, EXPR)
WF_WORD_KERNELS(WF_WIDE)
WF_BITWISE_KERNELS(WF_WIDE)

wf_op_kernel *WF_WIDE_FIND(uint32_t op, uint8_t scalar)
{
    static wf_op_kernel *const arithmetic[WF_SCALAR_COUNT][4] = {WF_WORD_ROWS};
    static wf_op_kernel *const bitwise[] = {band, bor, bxor};

    if (op >= WF_OP_SUM && op <= WF_OP_PROD)
        return arithmetic[scalar][op - WF_OP_SUM];
    if (op >= WF_OP_BAND && op <= WF_OP_BXOR)
        return bitwise[op - WF_OP_BAND];
    return NULL;
}
#endif
