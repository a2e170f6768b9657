/* Reads the CPU quotas of control groups, versions 2 and 1.
 *
 *   version 2   cpu.max                           "50000 100000" or "max ..."
 *   version 1   cpu.cfs_quota_us, .cfs_period_us  -1: no limit
 *
 * The limit of a group holds for the groups below it, so every level is read
 * from the own group up to the root of the mount, and the smallest limit
 * counts. Inside a container the path of the own group need not exist; then the
 * root is read.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "os/quota.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH = 1024, TEXT = 4096 };

static bool read_text(const char *path, char *text, size_t n)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, n - 1);

    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = 0;
    return got > 0;
}

static bool read_file_in(const char *folder, const char *name, char *text,
                         size_t n)
{
    char path[PATH + 32];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return read_text(path, text, n);
}

/* Returns the whole CPUs of a quota. Less than one CPU counts as one: one rank
 * may spin on it. */
static uint32_t whole_cpus_of(long long quota, long long period)
{
    if (quota <= 0 || period <= 0)
        return UINT32_MAX;
    if (quota / period >= UINT32_MAX - 1)
        return UINT32_MAX;
    return quota < period ? 1 : (uint32_t)(quota / period);
}

static uint32_t read_quota(const char *folder)
{
    long long quota;
    char text[64], *rest;

    /* "max 100000" or two numbers; scanf is large in a static program */
    if (read_file_in(folder, "cpu.max", text, sizeof text)) {
        quota = strtoll(text, &rest, 10);
        return whole_cpus_of(quota, strtoll(rest, NULL, 10));
    }
    if (!read_file_in(folder, "cpu.cfs_quota_us", text, sizeof text))
        return UINT32_MAX;
    quota = atoll(text);
    if (!read_file_in(folder, "cpu.cfs_period_us", text, sizeof text))
        return UINT32_MAX;
    return whole_cpus_of(quota, atoll(text));
}

/* Returns the smallest quota of the group and those above it, up to the
 * mount. */
static uint32_t find_smallest_quota(const char *mount, const char *group)
{
    uint32_t least = UINT32_MAX, here;
    char path[PATH];
    int n = snprintf(path, sizeof path, "%s%s", mount, group);
    size_t top = strlen(mount);

    if (n < 0 || (size_t)n >= sizeof path)
        return read_quota(mount);
    for (;;) {
        here = read_quota(path);
        least = here < least ? here : least;
        char *slash = strrchr(path, '/');
        if (!slash || strlen(path) <= top)
            return least;
        *slash = 0;
        if (strlen(path) < top)
            return least;
    }
}

/* Returns the mount below the root whose controllers limit CPU time, or NULL. A
 * line of the list is "number:controllers:path". */
static const char *find_cpu_mount(const char *controllers)
{
    if (!*controllers)
        return "";
    for (const char *c = controllers; c; c = strchr(c, ',')) {
        c += *c == ',';
        if (strncmp(c, "cpu", 3) == 0 && (c[3] == ',' || !c[3]))
            return "/cpu";
    }
    return NULL;
}

static uint32_t read_quota_of_line(const char *root, char *line)
{
    char *controllers = strchr(line, ':'), *path, mount[PATH];
    const char *below;

    path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return UINT32_MAX;
    *path++ = 0;
    below = find_cpu_mount(controllers + 1);
    if (!below || (size_t)snprintf(mount, sizeof mount, "%s%s", root, below) >=
                      sizeof mount)
        return UINT32_MAX;
    return find_smallest_quota(mount, strcmp(path, "/") == 0 ? "" : path);
}

uint32_t wf_quota_cpus_of(const char *root, const char *groups)
{
    uint32_t least = UINT32_MAX, here;
    char *text = strdup(groups), *rest = text, *line;

    while (text && (line = strsep(&rest, "\n")) != NULL) {
        here = read_quota_of_line(root, line);
        least = here < least ? here : least;
    }
    free(text);
    return least;
}

uint32_t wf_quota_cpus(void)
{
    char groups[TEXT];

    if (!read_text("/proc/self/cgroup", groups, sizeof groups))
        return UINT32_MAX;
    return wf_quota_cpus_of("/sys/fs/cgroup", groups);
}
