/* How many CPUs' worth of time the control groups of this process allow.
 *
 * A container often sees every CPU of the machine in its affinity mask and may
 * use only a fraction of their time; ranks that spin there eat each other's
 * share and are then all stopped together.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_QUOTA_H
#define WF_QUOTA_H

#include <stdint.h>

/* Whole CPUs, at least 1; UINT32_MAX: no limit was found. */
uint32_t wf_quota_cpus(void);

/* The same of the files below `root`, as group list and mounts see it: for
 * tests. groups: text in the form of /proc/self/cgroup. */
uint32_t wf_quota_cpus_of(const char *root, const char *groups);

#endif
