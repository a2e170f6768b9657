/* The bootstrap whose launcher a plugin speaks with (weft_bootstrap.h).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_BOOT_BY_PLUGIN_H
#define WF_BOOT_BY_PLUGIN_H

#include "base.h"
#include "weft_bootstrap.h"

struct wf_boot;

/* Open the connection of a plugin. Fills *out; or err holds a sentence, and a
 * negative WEFT_E* is returned. */
int wf_boot_by_plugin_open(const weft_bootstrap *, struct wf_boot **out,
                           char *err, size_t err_len);

#endif
