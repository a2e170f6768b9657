/* These reduction kernels are for processors with AVX2: see op_wide.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define WF_WIDE_TARGET "avx2"
#define WF_WIDE_FIND   wf_op_avx2
#include "datatype/op_wide.h"
