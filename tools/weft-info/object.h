/* The transports that an object file or an archive defines.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef INFO_OBJECT_H
#define INFO_OBJECT_H

#include <stddef.h>

/* Called with the name of each transport: NAME of weft_plugin_2_NAME. */
typedef void info_visit_plugin(void *arg, const char *name, const char *file);

/* Visit the transports that a file defines. Returns their number, or -1 with
 * the reason in why. */
int info_object_plugins(const char *file, info_visit_plugin *, void *arg,
                        char *why, size_t n);

#endif
