/* Whether an installation is where it was installed: see place.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "layout.h"
#include "os/place.h"
#include "os/prefix.h"

bool wf_place_moved(char *moved, size_t n)
{
    const char *from = wf_place_library();
    char lib[PATH_MAX], plugins[PATH_MAX];

    /* a copy of this program alone may lie in any directory of this name */
    return *from &&
           wf_prefix_path(WF_PLUGINS_FROM_BIN, plugins, sizeof plugins) &&
           wf_prefix_path(WF_LIB_FROM_BIN, lib, sizeof lib) &&
           strcmp(lib, from) != 0 &&
           (size_t)snprintf(moved, n, "%s:%s", from, lib) < n;
}
