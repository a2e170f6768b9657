/* The installation to which a program of Weft belongs: see prefix.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "os/prefix.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Cut the last name of a path off, and compare it. */
static bool cut(char *path, const char *name)
{
    char *slash = strrchr(path, '/');

    if (!slash || (name && strcmp(slash + 1, name) != 0))
        return false;
    *slash = '\0';
    return true;
}

bool wf_prefix_path(const char *rest, char *path, size_t n)
{
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);

    self[len > 0 ? len : 0] = '\0';
    return cut(self, NULL) && cut(self, "bin") &&
           (size_t)snprintf(path, n, "%s/%s", self, rest) < n &&
           access(path, R_OK) == 0;
}
