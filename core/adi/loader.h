/* Finding a plugin by name, and refusing one that does not fit.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ADI_LOADER_H
#define WF_ADI_LOADER_H

#include <stdio.h>

#include "base.h"

struct wf_config;
struct wf_transport_config;

/* Find a plugin by the rules of docs/transport-guide.md: built-in table,
 * path=, WEFT_PLUGIN_PATH, [core] plugin_path, the installed lib/weft. When
 * NULL is returned, err holds a full message, and errno is ENOMEM or EMFILE if
 * the plugin could not be loaded for that reason. A file that is not trusted
 * is not executed (docs/user/security.md). */
const weft_plugin *wf_plugin_find(const struct wf_config *,
                                  const struct wf_transport_config *, char *err,
                                  size_t err_len);

/* Find a plugin for a configuration that is only inspected and need not be
 * trusted: a plugin that is neither built in nor part of the installation is
 * found and not loaded. Then NULL is returned, and *left names its file; free()
 * it. */
const weft_plugin *wf_plugin_find_or_name(const struct wf_config *,
                                  const struct wf_transport_config *, char *err,
                                  size_t err_len, char **left);

/* Check that every plugin that the configuration names can be found and that
 * its options are right. Errors are printed, a line each; returns their
 * number. */
int wf_plugins_check(struct wf_config *, FILE *errors);

/* Check that a plugin fits this library and has this name. 0, or WEFT_EINVAL
 * with the reason in err. `from` is its file or "built in". */
int wf_plugin_check(const weft_plugin *, const char *name, const char *from,
                    char *err, size_t err_len);

/* Check that the core knows every capability that a plugin declares: one that
 * it does not know it could not honour. 0, or WEFT_EINVAL with the reason. */
int wf_plugin_check_caps(const weft_plugin *, uint32_t caps, char *why,
                         size_t n);

#endif
