/* The installation to which a program of Weft belongs: see prefix.h.
 *
 * OPTIMIZE  size
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

#include "layout.h"

/* Cuts the last name off a path. Returns false if it is not `name`; NULL is
 * any. */
static bool cut_last_name(char *path, const char *name)
{
    char *slash = strrchr(path, '/');

    if (!slash || (name && strcmp(slash + 1, name) != 0))
        return false;
    *slash = '\0';
    return true;
}

bool wf_prefix_resolve(const char *directory, const char *relative, char *path,
                      size_t n)
{
    char at[PATH_MAX];

    if (relative[0] == '/')
        return (size_t)snprintf(path, n, "%s", relative) < n;
    if ((size_t)snprintf(at, sizeof at, "%s", directory) >= sizeof at)
        return false;
    for (; strncmp(relative, "../", 3) == 0; relative += 3)
        if (!cut_last_name(at, NULL))
            return false;
    return (size_t)snprintf(path, n, "%s/%s", at, relative) < n;
}

bool wf_prefix_path(const char *relative, char *path, size_t n)
{
    char self[PATH_MAX], directory[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);

    self[len > 0 ? len : 0] = '\0';
    if (!cut_last_name(self, NULL))
        return false;
    strcpy(directory, self);
    return cut_last_name(self, WF_BIN_NAME) &&
           wf_prefix_resolve(directory, relative, path, n) &&
           access(path, R_OK) == 0;
}
