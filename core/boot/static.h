/* The static bootstrap: ranks and addresses are in mpi.ini; there is no
 * launcher.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_BOOT_STATIC_H
#define WF_BOOT_STATIC_H

#include "base.h"

struct wf_boot;
struct wf_config;

/* Fills *out; or err holds a sentence, and a negative WEFT_E* is returned. */
int wf_boot_static_open(const struct wf_config *, struct wf_boot **out,
                        char *err, size_t err_len);

#endif
