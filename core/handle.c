/* Whether references are counted for several engines: see handle.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "handle.h"

wf_atomic_u32 wf_refs_shared;
