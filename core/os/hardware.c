/* Reads the parts of the machine from sysfs: see hardware.h.
 *
 * Every part has a file with a list of CPUs, "0-3,8-11". The file is found from
 * one of the CPUs in the part.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "os/hardware.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CACHES_MAX = 16, NUMA_MAX = 1024 };

const char *wf_hardware_name(enum wf_hardware type)
{
    static const char *const names[WF_HARDWARE_TYPES] = {
        "Package", "NUMANode", "L3Cache", "L2Cache", "Core", "PU"};

    return names[type];
}

bool wf_hardware_affinity(pid_t process, struct wf_cpus *s)
{
    memset(s, 0, sizeof *s);
    return sched_getaffinity(process, sizeof *s, (cpu_set_t *)s) == 0;
}

/* ---- files --------------------------------------------------------------- */

static bool read_line(const char *path, char *line, int n)
{
    FILE *f = fopen(path, "re");
    bool good = f && fgets(line, n, f);

    if (f)
        fclose(f);
    return good;
}

bool wf_cpus_read(const char *text, struct wf_cpus *s)
{
    char *at = (char *)(uintptr_t)text;

    memset(s, 0, sizeof *s);
    while (*at >= '0' && *at <= '9') {
        long low = strtol(at, &at, 10), high = low;
        if (*at == '-')
            high = strtol(at + 1, &at, 10);
        if (high < low || high >= WF_CPUS_MAX)
            return false;
        for (long c = low; c <= high; c++)
            wf_cpu_add(s, (int)c);
        at += *at == ',';
    }
    return *at == '\n' || *at == '\0';
}

/* Returns false if the file is absent or is no list. */
static bool read_cpus(const char *path, struct wf_cpus *s)
{
    char line[4096];

    return read_line(path, line, sizeof line) && wf_cpus_read(line, s);
}

static bool read_topology(const char *sysfs, int cpu, const char *name,
                          const char *old_name, struct wf_cpus *s)
{
    char path[512];

    snprintf(path, sizeof path, "%s/cpu/cpu%d/topology/%s", sysfs, cpu, name);
    if (read_cpus(path, s))
        return true;
    snprintf(path, sizeof path, "%s/cpu/cpu%d/topology/%s", sysfs, cpu,
             old_name);
    return read_cpus(path, s);
}

static bool read_cache(const char *sysfs, int cpu, char level,
                       struct wf_cpus *s)
{
    char path[512], line[64];

    for (int i = 0; i < CACHES_MAX; i++) {
        snprintf(path, sizeof path, "%s/cpu/cpu%d/cache/index%d/level", sysfs,
                 cpu, i);
        if (!read_line(path, line, sizeof line))
            return false;
        if (line[0] != level)
            continue;
        snprintf(path, sizeof path,
                 "%s/cpu/cpu%d/cache/index%d/shared_cpu_list", sysfs, cpu, i);
        return read_cpus(path, s);
    }
    return false;
}

static bool read_numa_node(const char *sysfs, int cpu, struct wf_cpus *s)
{
    char path[512];

    for (int i = 0; i < NUMA_MAX; i++) {
        snprintf(path, sizeof path, "%s/node/node%d/cpulist", sysfs, i);
        if (read_cpus(path, s) && wf_cpu_in(s, cpu))
            return true;
    }
    return false;
}

bool wf_hardware_part(const char *sysfs, int cpu, enum wf_hardware type,
                      struct wf_cpus *s)
{
    switch (type) {
    case WF_HARDWARE_PACKAGE:
        return read_topology(sysfs, cpu, "package_cpus_list",
                             "core_siblings_list", s);
    case WF_HARDWARE_NUMA:
        return read_numa_node(sysfs, cpu, s);
    case WF_HARDWARE_L3:
        return read_cache(sysfs, cpu, '3', s);
    case WF_HARDWARE_L2:
        return read_cache(sysfs, cpu, '2', s);
    case WF_HARDWARE_CORE:
        return read_topology(sysfs, cpu, "core_cpus_list",
                             "thread_siblings_list", s);
    case WF_HARDWARE_THREAD:
        memset(s, 0, sizeof *s);
        wf_cpu_add(s, cpu);
        return true;
    case WF_HARDWARE_TYPES:
        break;
    }
    return false;
}

/* ---- instances ----------------------------------------------------------- */

int wf_cpus_lowest(const struct wf_cpus *s)
{
    for (int i = 0; i < WF_CPUS_MAX / 64; i++)
        if (s->word[i])
            return 64 * i + __builtin_ctzll(s->word[i]);
    return -1;
}

bool wf_cpus_inside(const struct wf_cpus *s, const struct wf_cpus *whole)
{
    for (int i = 0; i < WF_CPUS_MAX / 64; i++)
        if (s->word[i] & ~whole->word[i])
            return false;
    return true;
}

int wf_hardware_instance(const char *sysfs, const struct wf_cpus *mine,
                         enum wf_hardware type)
{
    struct wf_cpus part;
    int cpu = wf_cpus_lowest(mine);

    if (cpu < 0 || !wf_hardware_part(sysfs, cpu, type, &part) ||
        !wf_cpus_inside(mine, &part))
        return -1;
    return wf_cpus_lowest(&part);
}
