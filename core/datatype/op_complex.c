/* These kernels are MPI_SUM and MPI_PROD on complex numbers.
 *
 * They are written as pairs of reals: the product is the plain formula, which
 * vectorises, without the search for infinities of C's own multiplication.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/op_kernels.h"

#define COMPLEX(S, T)                                                          \
    WF_VECTORISE static void sum_##S(const void *restrict in,                  \
                                     void *restrict inout, size_t n)           \
    {                                                                          \
        typedef T real __attribute__((may_alias));                             \
        const real *restrict x = in;                                           \
        real *restrict y = inout;                                              \
                                                                               \
        for (size_t i = 0; i < 2 * n; i++)                                     \
            y[i] = x[i] + y[i];                                                \
    }                                                                          \
    WF_VECTORISE static void prod_##S(const void *restrict in,                 \
                                      void *restrict inout, size_t n)          \
    {                                                                          \
        typedef T real __attribute__((may_alias));                             \
        const real *restrict x = in;                                           \
        real *restrict y = inout;                                              \
                                                                               \
        for (size_t i = 0; i < n; i++) {                                       \
            const T a = x[2 * i], b = x[2 * i + 1];                            \
            const T c = y[2 * i], d = y[2 * i + 1];                            \
            y[2 * i] = a * c - b * d;                                          \
            y[2 * i + 1] = a * d + b * c;                                      \
        }                                                                      \
    }

COMPLEX(C32, float)
COMPLEX(C64, double)
COMPLEX(CLD, long double)
#if WF_HAVE_F16
COMPLEX(C16, wf_f16)
#endif
#if WF_HAVE_F128
COMPLEX(C128, wf_f128)
#endif

wf_op_kernel *wf_op_complex(uint32_t op, uint8_t scalar)
{
    static wf_op_kernel *const kernels[WF_SCALAR_COUNT][2] = {
        [WF_SCALAR_C32] = {sum_C32, prod_C32},
        [WF_SCALAR_C64] = {sum_C64, prod_C64},
        [WF_SCALAR_CLD] = {sum_CLD, prod_CLD},
#if WF_HAVE_F16
        [WF_SCALAR_C16] = {sum_C16, prod_C16},
#endif
#if WF_HAVE_F128
        [WF_SCALAR_C128] = {sum_C128, prod_C128},
#endif
    };

    if (op != WF_OP_SUM && op != WF_OP_PROD)
        return NULL;
    return kernels[scalar][op == WF_OP_PROD];
}
