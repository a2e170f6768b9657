/* The variable that tells how references are counted: see handle.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "object/handle.h"

wf_atomic_u32 wf_refs_atomic;
