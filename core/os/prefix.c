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

#include "layout.h"

/* Cut the last name of a path off, and compare it. */
static bool cut(char *path, const char *name)
{
    char *slash = strrchr(path, '/');

    if (!slash || (name && strcmp(slash + 1, name) != 0))
        return false;
    *slash = '\0';
    return true;
}

bool wf_prefix_follow(const char *directory, const char *way, char *path,
                      size_t n)
{
    char at[PATH_MAX];

    if (way[0] == '/')
        return (size_t)snprintf(path, n, "%s", way) < n;
    if ((size_t)snprintf(at, sizeof at, "%s", directory) >= sizeof at)
        return false;
    for (; strncmp(way, "../", 3) == 0; way += 3)
        if (!cut(at, NULL))
            return false;
    return (size_t)snprintf(path, n, "%s/%s", at, way) < n;
}

bool wf_prefix_path(const char *way, char *path, size_t n)
{
    char self[PATH_MAX], directory[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);

    self[len > 0 ? len : 0] = '\0';
    if (!cut(self, NULL))
        return false;
    strcpy(directory, self);
    return cut(self, WF_BIN_NAME) &&
           wf_prefix_follow(directory, way, path, n) &&
           access(path, R_OK) == 0;
}
