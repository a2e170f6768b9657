/* Memory attached to a dynamic window.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_DYNAMIC_H
#define WF_RMA_DYNAMIC_H

#include "base.h"

struct wf_win;

/* Returns whether all of n bytes at an address are attached. */
bool wf_region_has(const struct wf_win *, uint64_t address, uint64_t n);

#endif
