/* The deferred unlock of the fast path: see wf_cs_try_relock in critical.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_LOCK_DEFERRED_UNLOCK_H
#define WF_LOCK_DEFERRED_UNLOCK_H

#include "base.h"

void wf_cs_finish_deferred_unlock(void);

#endif
