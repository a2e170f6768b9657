/* Parts of the machine, and those to which this process is bound, from sysfs.
 *
 * An *instance* is one package, one NUMA node, one cache, one core or one
 * hardware thread; its number is that of its lowest CPU. A process is
 * restricted to an instance when its affinity mask lies inside.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_HARDWARE_H
#define WF_HARDWARE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* From the largest to the smallest. */
enum wf_hardware {
    WF_HARDWARE_PACKAGE,
    WF_HARDWARE_NUMA,
    WF_HARDWARE_L3,
    WF_HARDWARE_L2,
    WF_HARDWARE_CORE,
    WF_HARDWARE_THREAD,
    WF_HARDWARE_TYPES
};

enum { WF_CPUS_MAX = 8192 };

#define WF_SYSFS "/sys/devices/system"

struct wf_cpus {
    uint64_t word[WF_CPUS_MAX / 64];
};

static inline bool wf_cpu_in(const struct wf_cpus *s, int cpu)
{
    return s->word[cpu / 64] >> cpu % 64 & 1;
}

static inline void wf_cpu_add(struct wf_cpus *s, int cpu)
{
    s->word[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

/* Reads a list of CPUs such as "0-3,8". Returns false if the text is no such
 * list. */
bool wf_cpus_read(const char *text, struct wf_cpus *);
int wf_cpus_lowest(const struct wf_cpus *); /* -1: there is none */
bool wf_cpus_inside(const struct wf_cpus *, const struct wf_cpus *whole);

/* Returns the name of a type, such as "NUMANode". */
const char *wf_hardware_name(enum wf_hardware);
/* Stores the CPUs on which a process may run; process 0 is this one. Returns
 * false if the system does not say. */
bool wf_hardware_affinity(pid_t process, struct wf_cpus *);
/* Stores the CPUs of the instance that contains `cpu`. Returns false if nothing
 * is known about this type. */
bool wf_hardware_part(const char *sysfs, int cpu, enum wf_hardware,
                      struct wf_cpus *);
/* Returns the lowest CPU of the one instance that contains all of these CPUs,
 * or -1 if there is none or nothing is known about this type. sysfs is WF_SYSFS
 * except in tests. */
int wf_hardware_instance(const char *sysfs, const struct wf_cpus *,
                         enum wf_hardware);

#endif
