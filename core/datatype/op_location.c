/* These kernels are MPI_MINLOC and MPI_MAXLOC on pairs of a value and an index,
 * MPI-5.0 s6.9.4: of equal values the one with the smaller index wins.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/op_kernels.h"
#include "datatype/predefined.h"

#define LOCATION(NAME, T, BETTER)                                              \
    static void NAME(const void *restrict in, void *restrict inout, size_t n)  \
    {                                                                          \
        const T *restrict x = in;                                              \
        T *restrict y = inout;                                                 \
                                                                               \
        for (size_t i = 0; i < n; i++) {                                       \
            if (x[i].v BETTER y[i].v) {                                        \
                y[i].v = x[i].v;                                               \
                y[i].i = x[i].i;                                               \
            } else if (x[i].v == y[i].v && x[i].i < y[i].i) {                  \
                y[i].i = x[i].i;                                               \
            }                                                                  \
        }                                                                      \
    }
#define BOTH(S, T)                                                             \
    LOCATION(min_##S, T, <)                                                    \
    LOCATION(max_##S, T, >)

BOTH(float_int, wf_float_int)
BOTH(double_int, wf_double_int)
BOTH(long_int, wf_long_int)
BOTH(2int, wf_2int)
BOTH(short_int, wf_short_int)
BOTH(long_double_int, wf_long_double_int)
BOTH(2real, wf_2real)
BOTH(2double, wf_2double)
BOTH(2i64, wf_2i64)
#if WF_HAVE_F128
BOTH(2f128, wf_2f128)
#endif

wf_op_kernel *wf_op_location(uint32_t op, uint8_t scalar)
{
    static wf_op_kernel *const kernels[WF_SCALAR_COUNT][2] = {
        [WF_SCALAR_PAIR_F32_INT] = {min_float_int, max_float_int},
        [WF_SCALAR_PAIR_F64_INT] = {min_double_int, max_double_int},
        [WF_SCALAR_PAIR_LONG_INT] = {min_long_int, max_long_int},
        [WF_SCALAR_PAIR_INT_INT] = {min_2int, max_2int},
        [WF_SCALAR_PAIR_SHORT_INT] = {min_short_int, max_short_int},
        [WF_SCALAR_PAIR_FLD_INT] = {min_long_double_int, max_long_double_int},
        [WF_SCALAR_PAIR_F32_F32] = {min_2real, max_2real},
        [WF_SCALAR_PAIR_F64_F64] = {min_2double, max_2double},
        [WF_SCALAR_PAIR_INTEGERS] = {min_2int, max_2int},
        [WF_SCALAR_PAIR_I64_I64] = {min_2i64, max_2i64},
#if WF_HAVE_F128
        [WF_SCALAR_PAIR_F128_F128] = {min_2f128, max_2f128},
#endif
    };

    if (op != WF_OP_MINLOC && op != WF_OP_MAXLOC)
        return NULL;
    return kernels[scalar][op == WF_OP_MAXLOC];
}
