/* A key-value space in this process: for a singleton, for several instances
 * in one process, and for tests.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_BOOT_MEMORY_H
#define WF_BOOT_MEMORY_H

#include "base.h"

struct wf_boot;

/* Create `size` boots in one process over one key-value space in memory, for
 * tests, simulation and singletons. The fence returns at once, so the caller
 * must let all put before any gets. Each is closed by its own close. 0 or
 * WEFT_ENOMEM. */
int wf_boot_memory_create(uint32_t size, struct wf_boot **ranks);

/* Opens the boot of a process that is alone in its job. Fills *out; or err
 * holds a sentence, and a negative WEFT_E* is returned. */
int wf_boot_singleton_open(struct wf_boot **out, char *err, size_t err_len);

#endif
