/* The CPU time that the control groups of this process allow, in CPUs.
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

/* Returns the limit in whole CPUs, at least 1, or UINT32_MAX if there is
 * none. */
uint32_t wf_quota_cpus(void);

/* Returns the limit that the files below `root` give to the groups in a text of
 * the form of /proc/self/cgroup; for tests. */
uint32_t wf_quota_cpus_of(const char *root, const char *groups);

#endif
