/* These reduction kernels are for processors with AVX-512: see op_wide.h. The
 * compiler is told to use the full width, which it does not do by itself: a
 * reduction is nothing but loads, one operation and a store.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifdef __clang__ /* clang cannot set the width for one function */
#define WF_WIDE_TARGET "avx512f,avx512bw,avx512dq,avx512vl"
#else
#define WF_WIDE_TARGET                                                         \
    "avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512"
#endif
#define WF_WIDE_FIND wf_op_avx512
#include "datatype/op_wide.h"
