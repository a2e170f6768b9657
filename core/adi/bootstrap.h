/* Finding the plugin of a bootstrap.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ADI_BOOTSTRAP_H
#define WF_ADI_BOOTSTRAP_H

#include "base.h"
#include "weft_bootstrap.h"

struct wf_config;

/* The bootstrap plugins in the program, NULL-terminated; generated at build
 * time. */
extern const weft_bootstrap *const weft_boot_builtin[];

/* Find a bootstrap plugin: in that table, or as a file weft_boot_NAME.so, which
 * is looked for as transports are and must be trusted as they. config may be
 * NULL. When NULL is returned, err says why: in a few words, and behind a
 * semicolon in many. */
const weft_bootstrap *wf_bootstrap_find(const struct wf_config *,
                                        const char *name, char *err,
                                        size_t err_len);

/* Check that a plugin fits this library and has this name. 0, or WEFT_EINVAL
 * with the reason in err. `from` is its file or "built in". */
int wf_bootstrap_check(const weft_bootstrap *, const char *name,
                       const char *from, char *err, size_t err_len);

#endif
